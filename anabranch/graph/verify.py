"""The laws of a graph. A graph that breaks one was made by a mistake of ours, never by a user's."""

from __future__ import annotations

from anabranch.graph.code import Access, Apply, Body, Const, Gather, Send, expressions, walk
from anabranch.graph.liveness import Live, helper_prefixes, live_before
from anabranch.graph.nodes import Dispatch, Flow, Graph, Task, Where
from anabranch.lang.distribution import Distribution
from anabranch.lang.types import is_value


class BrokenGraph(AssertionError):
    """A law of graphs does not hold."""


def verify(graph: Graph) -> None:
    """Raise `BrokenGraph` if a law does not hold."""
    tasks = {t.name: t for t in graph.tasks}
    states = {s.name: s for s in graph.states}
    functions = {f.name for f in graph.functions}
    _law(len(tasks) == len(graph.tasks), "task names are unique")
    _law([f.number for f in graph.flows] == list(range(len(graph.flows))), "flows are numbered in order")
    for entry in graph.entries:
        start = tasks.get(entry.start)
        _law(start is not None and start.entry == entry.name, f"{entry.name} starts at a task of its own")
        _law(
            (entry.key is not None) == (entry.dispatch is Dispatch.BY_KEY),
            f"{entry.name} has a key if dispatched by it",
        )
    for flow in graph.flows:
        _verify_flow(flow, tasks)
    for task in graph.tasks:
        sent = [s.flow for s in walk(task.body) if isinstance(s, Send)]
        leaving = [f.number for f in graph.flows if f.source == task.name]
        _law(set(sent) == set(leaving), f"{task.name} sends on exactly the flows that leave it")
        _law(not any(isinstance(s, Gather) for s in walk(task.body)), f"{task.name} gathers by flows only")
        for stmt in walk(task.body):
            if isinstance(stmt, Access):
                _law(stmt.state in states, f"{task.name} touches a declared state")
                _verify_access(task, stmt, states[stmt.state].distribution)
        _verify_functions(task.body, functions, task.name)
        _verify_inputs(graph, task)


def _law(holds: bool, law: str) -> None:
    if not holds:
        raise BrokenGraph(f"broken graph: {law}")


def _verify_flow(flow: Flow, tasks: dict[str, Task]) -> None:
    source, target = tasks.get(flow.source), tasks.get(flow.target)
    _law(source is not None and target is not None, f"flow {flow.number} connects two tasks")
    assert source is not None and target is not None
    _law(source.entry == target.entry, f"flow {flow.number} stays within one entry")
    by_key = target.where is Where.KEY
    _law((flow.key is not None) == by_key, f"flow {flow.number} has a key exactly if its target is at one")
    if flow.dispatch is not Dispatch.GATHER:
        wanted = {Where.KEY: Dispatch.BY_KEY, Where.EVERYWHERE: Dispatch.ALL}.get(target.where, Dispatch.ANY)
        _law(flow.dispatch is wanted, f"flow {flow.number} is dispatched as its target's place says")
        _law(flow.over is None, f"only a gather waits (flow {flow.number})")
    for variable in flow.carries:
        _law(is_value(variable.type), f"flow {flow.number} carries {variable}, a value type")


def _verify_access(task: Task, stmt: Access, distribution: Distribution) -> None:
    wanted = Where.EVERYWHERE if stmt.everywhere else Where.HERE
    if distribution is Distribution.PARTITIONED and not stmt.everywhere:
        wanted = Where.KEY
        _law(stmt.key is not None, f"{task.name} names the key of {stmt.state}")
    _law(task.where is wanted, f"{task.name} touches {stmt.state} at its own place")


def _verify_functions(body: Body, functions: set[str], name: str) -> None:
    for stmt in walk(body):
        for expr in expressions(stmt):
            if isinstance(expr, Apply) and expr.op in ("function", "procedure"):
                first = expr.args[0]
                _law(isinstance(first, Const) and first.value in functions, f"{name} calls functions of the graph")


def _verify_inputs(graph: Graph, task: Task) -> None:
    """What a task reads before it assigns comes with its message."""

    def sends(send: Send) -> Live:
        flow = graph.flow(send.flow)
        return {v.name: v for v in flow.carries}

    unset = helper_prefixes(graph.entry(task.entry).body)
    needed = {n for n in live_before(task.body, {}, sends=sends) if not n.startswith(unset)}
    given = {v.name for v in task.inputs}
    _law(needed <= given, f"{task.name} gets what it reads: {sorted(needed - given)} missing")
    for flow in graph.flows:
        if flow.target == task.name and not flow.each:
            carried = {v.name for v in flow.carries} | ({flow.collects} if flow.collects else set())
            _law(
                needed <= carried,
                f"flow {flow.number} carries what {task.name} reads: {sorted(needed - carried)} missing",
            )
