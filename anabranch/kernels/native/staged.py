"""A stage of a straight entry as a kernel: rows come in, rows for later stages and results go out, by target instance.

A row that arrives is [sequence, order, home, values...]; one that starts the entry is read from columns. A row that
leaves is written to the box of its flow and of the instance it goes to, a result to box 0. What stays at its place and
in its stage is written on, task after task, as one row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from textwrap import indent

from anabranch.graph.code import Access, Body, For, Send, Target, While, free_names, walk
from anabranch.graph.liveness import assigned, helper_prefixes
from anabranch.graph.nodes import Dispatch, Entry, Flow, Graph, Task, Variable
from anabranch.kernels.native.accesses import Accesses, written_in
from anabranch.kernels.native.ahead import write_ahead
from anabranch.kernels.native.dense_log import forgetting
from anabranch.kernels.native.keys import Ahead, hash_ahead, hash_of, keys_ahead
from anabranch.kernels.native.layout import NotInKernels, kinds
from anabranch.kernels.native.loops import Look
from anabranch.kernels.native.module import Module, settled
from anabranch.kernels.native.once import ARGS, AT_HOME, INSTANCE
from anabranch.kernels.native.registers import Value, convert, has_lists, nothing
from anabranch.kernels.native.rowio import parameters, write_loop
from anabranch.kernels.native.scope import Scope
from anabranch.kernels.native.source import Source
from anabranch.kernels.native.statements import Statements, variable_types
from anabranch.lang.keys import BLOCK
from anabranch.lang.types import INT, NONE, Type, thaw

SYSTEM = 3  # words of a row before its values
MOST = 4  # how often a task may be written out

BEGIN = """\
store(c, i)
store(c + 80, scratch)
store(marks, load(n0 + 8))
mark_boxes(c, boxes)
"""


class InTask:
    """The place of a task, and of those that follow it at once."""

    def __init__(
        self,
        scope: Scope,
        graph: Graph,
        entry: Entry,
        task: Task,
        stages: Mapping[str, int],
        each: bool,
        ahead: Sequence[Ahead],
    ) -> None:
        self.scope, self.out, self._graph, self._entry, self._stages = scope, scope.out, graph, entry, stages
        self._accesses = Accesses(scope, scope.module.shapes, ahead)
        self._unset = helper_prefixes(entry.body)
        self._each = each  # it ends an iteration, not the entry
        self._task = task
        self._written: dict[str, int] = {}
        self._loops: list[bool] = []
        self.bodies: list[Body] = []

    def access(self, stmt: Access) -> None:
        if stmt.everywhere:
            raise NotInKernels(f"{stmt.state} is reached everywhere")
        self._accesses.write(stmt, self._graph.state(stmt.state), INSTANCE, self._borrow(stmt))

    def _borrow(self, stmt: Access) -> bool:
        """May what is read stay where it is? Only if no other access of the entry to the state may come later."""
        found = [s for s in walk(self._task.body) if isinstance(s, Access) and s.state == stmt.state]
        at = next(i for i, s in enumerate(found) if s is stmt)
        others = {t.name for t in self._graph.tasks if t.entry == self._entry.name and stmt.state in t.writes}
        return not any(s.writes for s in found[at + 1 :]) and others <= {self._task.name} and not self.bodies

    def returns(self, value: Value) -> None:
        if not self._each and self._entry.result != NONE:
            value = convert(value, self._entry.result)
            value = self.scope.write.name_words(self.scope.kept(self.scope.write.name_words(value), "c"))
            at = self.out.fresh("new_row(c, load(c + 168), 0)", "b")
            self.out.line(f"store({at}, sequence)")
            self.scope.store(value, at, 8)
        elif self._entry.result == NONE and value.type != NONE and not self._each:
            raise NotInKernels("a result where none is declared")
        self.out.line("return 0")

    def send(self, stmt: Send) -> None:
        flow = self._graph.flow(stmt.flow)
        target = self._graph.task(flow.target)
        if flow.dispatch in (Dispatch.ALL, Dispatch.GATHER):
            raise NotInKernels("it goes to all instances" if flow.dispatch is Dispatch.ALL else "results are gathered")
        here = self._stages[flow.target] == self._stages[self._task.name]
        if flow.dispatch is Dispatch.ANY and here and not flow.each:
            self._go_on(target)
            return
        self._write_row(flow, target)
        if flow.each:
            if not self._loops or not self._loops[-1]:
                raise NotInKernels("an iteration of a fan-out ends inside another loop")
            self.out.line("continue")
        else:
            self.out.line("return 0")

    def _go_on(self, target: Task) -> None:
        self._written[target.name] = self._written.get(target.name, 0) + 1
        if self._written[target.name] > MOST:
            raise NotInKernels("too many ways lead to one task")
        before, self._task = self._task, target
        if StagedStatements(self.scope, self).body(target.body):
            self.returns(Value(NONE, ()))
        self._task = before

    def _write_row(self, flow: Flow, target: Task) -> None:
        out, scope = self.out, self.scope
        if flow.dispatch is Dispatch.BY_KEY:
            assert flow.key is not None
            owner = out.let(f"load(load(c + 64) + 8 * ({hash_of(scope.write.named(flow.key))} & 1023))", "o")
            home = "home" if flow.each else owner
        else:
            owner, home = "load(c + 120)", "home"
        carried = {v.name: v for v in flow.carries}
        values: list[tuple[str | None, Value]] = []
        for variable in target.inputs:
            values.append(self._carried(variable, variable.name in carried))
        at = out.fresh(f"new_row(c, load(c + 168), {flow.number + 1} * load(c + 56) + {owner})", "b")
        out.line(f"store({at}, sequence)")
        out.line(f"store({at} + 8, {'count' if flow.each else 'order'})")
        out.line(f"store({at} + 16, {home})")
        if flow.each:
            out.line("count += 1")
        offset = 8 * SYSTEM
        for flag, value in values:
            if flag is not None:
                out.line(f"store({at} + {offset}, int({flag}))")
                offset += 8
            offset = scope.store(value, at, offset)

    def _carried(self, variable: Variable, carried: bool) -> tuple[str | None, Value]:
        """A variable for the target, and whether it has a value where that is not sure."""
        scope, t = self.scope, thaw(variable.type)
        may_be_unset = variable.name.startswith(self._unset)
        if not carried or not scope.knows(variable.name):
            if not may_be_unset:
                raise NotInKernels(f"{variable.name} is not there")
            return "False", nothing(t)
        if may_be_unset and variable.name not in scope.set:
            scope.doubtful.add(variable.name)
            value = convert(scope.variable(variable.name), t)
            return scope.flag(variable.name), scope.write.name_words(scope.kept(value, "c"))
        value = convert(scope.read(variable.name), t)
        kept = scope.write.name_words(scope.kept(scope.write.name_words(value), "c"))
        return ("True" if may_be_unset else None), kept

    def enter(self, loop: For | While) -> None:
        pass

    def looking_ahead(self, target: Target, body: Body) -> AbstractContextManager[Look | None]:
        return self._accesses.looking_ahead(target, body)

    def branch(self) -> object:
        return self._accesses.branch()

    def join(self, before: object) -> None:
        assert isinstance(before, dict)
        self._accesses.join(before)

    def forget(self, body: Body, names: Iterable[str] = ()) -> None:
        self._accesses.forget(written_in(body), assigned(body) | set(names))


class StagedStatements(Statements):
    """Statements that know which loops fan out."""

    def __init__(self, scope: Scope, place: InTask) -> None:
        super().__init__(scope, place)
        self._in_task = place

    def _stmt(self, stmt: object) -> bool:
        is_loop = isinstance(stmt, For | While)
        if is_loop:
            self._in_task._loops.append(isinstance(stmt, For) and stmt.fan)
        try:
            return super()._stmt(stmt)  # type: ignore[arg-type]
        finally:
            if is_loop:
                self._in_task._loops.pop()


def row_width(graph: Graph, flow: Flow) -> int:
    """Words of a row on a flow."""
    return SYSTEM + sum(w for _, w in inputs_of(graph, graph.task(flow.target)))


def inputs_of(graph: Graph, task: Task) -> list[tuple[bool, int]]:
    """For each input of a task whether it may be unset, and its words on a flow, the flag included."""
    unset = helper_prefixes(graph.entry(task.entry).body)
    found = []
    for v in task.inputs:
        flagged = v.name.startswith(unset)
        found.append((flagged, flagged + len(kinds(thaw(v.type)))))
    return found


def _write_row_function(
    module: Module,
    graph: Graph,
    entry: Entry,
    task: Task,
    stages: Mapping[str, int],
    flow: Flow | None,
    ahead: Sequence[Ahead],
) -> str:
    chained = _chain(graph, task, stages)
    given: dict[str, Type] = {v.name: v.type for v in task.inputs}
    start = {p.name: p.type for p in entry.parameters}
    body = tuple(s for t in chained for s in t.body)
    unset = helper_prefixes(entry.body)
    name = "row" if flow is None else f"row{flow.number}"

    def write(flagged: set[str]) -> tuple[Source, Scope]:
        out = Source()
        names = dict(start) if flow is None else given
        scope = Scope(module, out, variable_types(body, names), flagged)
        scope.set = {n for n in names if flow is None or not n.startswith(unset)}
        place = InTask(scope, graph, entry, task, stages, flow is not None and flow.each, ahead)
        out.line("@compiled")
        with out.block(f"def {name}(c, i, j{ARGS}):"):
            out.line("k = load(c + 72)")
            first = len(out.lines)
            read: set[str] = set()
            if flow is None:
                parameters(scope, start, "i")
                out.line(f"sequence = {_sequence(module)}")
                out.line("order = 0")
                out.line("home = load(c + 120)")
                read = {w for n in start for w in scope.variable(n).words}
            else:
                out.line("sequence, order, home = load(i), load(i + 8), load(i + 16)")
                offset = 8 * SYSTEM
                for v, (may, width) in zip(task.inputs, inputs_of(graph, task), strict=True):
                    if may and v.name in flagged:
                        out.line(f"{scope.flag(v.name)} = load(i + {offset}) != 0")
                        read.add(scope.flag(v.name))
                    value = scope.load(thaw(v.type), "i", offset + 8 * may, False)
                    read.update(scope.receive(v.name, value))
                    offset += 8 * width
            out.line("count = 0")
            if StagedStatements(scope, place).body(task.body):
                place.returns(Value(NONE, ()))
            out.lines[first:first] = [f"    {line}" for line in scope.initial() if line.split(" = ")[0] not in read]
        return out, scope

    return str(settled(write))


def _chain(graph: Graph, task: Task, stages: Mapping[str, int]) -> list[Task]:
    """The task and those that follow it at once."""
    found = [task]
    for at in found:
        for flow in graph.flows:
            if flow.source == at.name and flow.dispatch is Dispatch.ANY and stages[flow.target] == stages[task.name]:
                target = graph.task(flow.target)
                if target not in found:
                    found.append(target)
    return found


def write_stage(module: Module, graph: Graph, entry: Entry, stages: Mapping[str, int], stage: int) -> str:
    """`kernel(context)` for the rows of one stage."""
    module.once.let(INSTANCE, AT_HOME)
    prologue = "boxes, marks, number = load(c + 168), load(c + 48), load(c + 120)\n"
    if stage == 0:
        start = graph.task(entry.start)
        given = {p.name: p.type for p in entry.parameters}
        keys = keys_ahead(module.shapes, _body(graph, start, stages), given)

        def read(scope: Scope, names: set[str]) -> None:
            parameters(scope, {n: given[n] for n in given if n in names}, "i", list(given.items()), False)

        ahead = write_ahead(module, keys, given, read, True)
        keys = keys if ahead else []
        row = _write_row_function(module, graph, entry, start, stages, None, keys)
        first, behind = forgetting(module, _body(graph, start, stages))
        body = f"if starts_at(c, i, i{ARGS}) == number:\n" + indent(f"{BEGIN}row(c, i, i{ARGS})\n{behind}", "    ")
        loop = write_loop(prologue, body, "{}" if ahead else "", first)
        return "\n\n".join([row, _write_start(module, entry, keys), ahead, loop])
    flows = flows_into(graph, entry, stages, stage)
    keys, ahead = _ahead_of(module, graph, flows[0], stages) if len(flows) == 1 else ([], "")
    parts = [_write_row_function(module, graph, entry, graph.task(f.target), stages, f, keys) for f in flows]
    first, behind = forgetting(module, *[_body(graph, graph.task(f.target), stages) for f in flows])
    prologue += "rows, ways = load(c + 112), load(c + 128)\n"
    if len(flows) == 1:
        body = f"{BEGIN}row{flows[0].number}(c, load(rows + 8 * i), i{ARGS})\n"
    else:
        body = f"{BEGIN}way = load(ways + 8 * i)\n" + "".join(
            f"if way == {flow.number}:\n    row{flow.number}(c, load(rows + 8 * i), i{ARGS})\n" for flow in flows
        )
    loop = write_loop(prologue, body + behind, "load(rows + 8 * {})" if ahead else "", first)
    return "\n\n".join([*parts, ahead, loop])


def _body(graph: Graph, task: Task, stages: Mapping[str, int]) -> Body:
    return tuple(s for t in _chain(graph, task, stages) for s in t.body)


def _ahead_of(module: Module, graph: Graph, flow: Flow, stages: Mapping[str, int]) -> tuple[list[Ahead], str]:
    """The keys that are known ahead of the rows of a flow, and what is done about them."""
    task = graph.task(flow.target)
    given = {v.name: v.type for v in task.inputs}
    keys = [
        ahead
        for ahead in keys_ahead(module.shapes, _body(graph, task, stages), given)
        if not any(has_lists(thaw(given[n])) for n in free_names(ahead.key))  # to look at a list may leave the kernel
    ]

    def read(scope: Scope, names: set[str]) -> None:
        offset = 8 * SYSTEM
        for v, (may, width) in zip(task.inputs, inputs_of(graph, task), strict=True):
            if v.name in names:
                value = scope.load(thaw(v.type), "i", offset + 8 * may, False)
                scope.receive(v.name, value)
            offset += 8 * width

    text = write_ahead(module, keys, given, read)
    return (keys if text else []), text


def _write_start(module: Module, entry: Entry, ahead: Sequence[Ahead]) -> str:
    """`starts_at(context, row)`: the instance at which a row starts."""
    given = {p.name: p.type for p in entry.parameters}
    out = Source()
    scope = Scope(module, out, given)
    scope.set = set(given)
    out.line("@compiled")
    with out.block(f"def starts_at(c, i, j{ARGS}):"):
        out.line("k = load(c + 72)")
        if entry.dispatch is Dispatch.BY_KEY and entry.key is not None:
            known = [n for n, a in enumerate(ahead) if a.key == entry.key and a.shape.key == thaw(entry.key.type)]
            if known:
                hashed = f"load({hash_ahead(known[0])})"
            else:
                used = {n: t for n, t in given.items() if n in free_names(entry.key)}
                parameters(scope, used, "i", list(given.items()), False)
                hashed = hash_of(scope.write.named(entry.key))
        else:
            hashed = hash_of(Value(INT, (f"(({_sequence(module)}) // {BLOCK})",)))
        out.line(f"return load(load(c + 64) + 8 * ({hashed} & 1023))")
    return str(out)


def _sequence(module: Module) -> str:
    """The sequence number of row i of a block, or of a share of one."""
    found = module.once.let("sequences", "load(c + 176)")
    return f"load({found} + 8 * i) if {found} != 0 else load(c + 104) + i"


def flows_into(graph: Graph, entry: Entry, stages: Mapping[str, int], stage: int) -> list[Flow]:
    """The flows whose rows a stage of the entry gets."""
    return [
        f
        for f in graph.flows
        if graph.task(f.source).entry == entry.name
        and stages[f.target] == stage
        and not (f.dispatch is Dispatch.ANY and stages[f.source] == stage)
    ]
