"""The sequential engine: runs the tasks of a graph one row after the other. It is the oracle for all other engines.

Laws: with one instance it gives exactly what calling the class gives: results, final state and exceptions. With n
instances and a recorded assignment it is the meaning of partial state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from anabranch.compiler import compile
from anabranch.engines.sequential.machine import ANYWHERE, Done, Each, Env, Machine
from anabranch.engines.sequential.messages import copied, fits
from anabranch.engines.sequential.store import Store
from anabranch.graph.code import Send
from anabranch.graph.nodes import Dispatch, Entry, Flow, Graph, Task, Where
from anabranch.graph.verify import BrokenGraph
from anabranch.lang import Program
from anabranch.lang.binding import Refused, bind_call
from anabranch.lang.columns import is_stream, read_batch
from anabranch.lang.entry import (
    add_note,
    checked_result,
    each_batch,
    not_yet_on_entries,
    refuse_on_error,
    request_note,
    user_line,
)
from anabranch.lang.keys import BUCKETS, bucket
from anabranch.lang.similar import with_question
from anabranch.lang.spec import EntrySpec, describe
from anabranch.lang.streams import rows_at_once
from anabranch.lang.types import NONE

BLOCK = 64  # rows without a key go by blocks of sequence numbers to one instance


class SequentialApp:
    """A program run by its graph. `app.NAME(...)` calls an entry, `app.state("name")` is a copy of a state.

    `assignment` maps a bucket to an instance; what it gave is kept in `assigned`. With `whole`, entries run uncut.
    """

    def __init__(
        self,
        program: Program,
        instances: int = 1,
        assignment: Callable[[int], int] | None = None,
        whole: bool = False,
        graph: Graph | None = None,
    ) -> None:
        if not isinstance(program, Program):
            shown = f"{program.__name__}()" if isinstance(program, type) else repr(program)
            raise TypeError(f"an app runs an object of a program class, got {program!r}: write SequentialApp({shown})")
        if instances < 1:
            raise ValueError(f"a program has at least one instance of its state, got instances={instances}")
        self.graph = graph or compile(type(program))
        self.program, self.whole = program, whole
        self.assigned: dict[int, int] = {}  # since the last change of it
        self.replaced: list[str] = []  # entries whose pieces failed otherwise than the whole; only fan-outs may
        self._assignment = assignment or (lambda b: b * instances // BUCKETS)
        self.store = Store(self.graph, program, instances, self._assign)
        self.sequence = 0  # of the next row
        specs = describe(type(program)).entries
        self._flows = {f.number: f for f in self.graph.flows}
        self._tasks = {t.name: t for t in self.graph.tasks}
        self.entries: Mapping[str, SequentialEntry] = MappingProxyType(
            {e.name: SequentialEntry(self, e, specs[e.name]) for e in self.graph.entries}
        )

    def __getattr__(self, name: str) -> SequentialEntry:
        entries = self.__dict__.get("entries", {})
        if name in entries:
            return entries[name]  # type: ignore[no-any-return]
        message = f"{type(self).__name__} has no attribute or entry {name!r}: entries are {', '.join(entries)}"
        raise AttributeError(with_question(message, name, entries))

    def state(self, name: str) -> Any:
        """A copy of a state: the union of a partitioned one, the merged value of a partial one."""
        self._known(name)
        return self.store.merged(name)

    def instances(self, name: str) -> list[Any]:
        """The instances of a state, by number."""
        self._known(name)
        return self.store.parts[name]

    def _known(self, name: str) -> None:
        if name not in self.store.parts:
            message = f"{self.graph.name} has no state {name!r}: it has {', '.join(self.store.parts)}"
            raise KeyError(with_question(message, name, self.store.parts))

    def _assign(self, number: int) -> int:
        return self.assigned.setdefault(number, self._assignment(number))

    def assign(self, assignment: Sequence[int], instances: int) -> None:
        """Let buckets be with these instances from now on; there may be more of them."""
        if instances == self.store.instances and [*assignment] == [self._assignment(b) for b in range(BUCKETS)]:
            return

        def change() -> None:
            self.assigned, self._assignment = {}, assignment.__getitem__

        self.store.spread_anew(change, instances)

    def request(self, entry: Entry, spec: EntrySpec, rows: list[tuple[Any, ...]]) -> list[Any]:
        """Rows that take effect together or not at all."""
        journal = self.store.journal
        results: list[Any] = []
        journal.active = True
        try:
            for row in rows:
                mark = journal.mark()
                run = Run(self, entry)
                try:
                    results.append(run.result(spec, row))
                except BaseException as error:
                    self._fail(entry, spec, row, mark, run, error, len(results))
                self.sequence += 1
        except BaseException:
            journal.rollback()
            raise
        finally:
            journal.active = False
            journal.clear()
        return results

    def _fail(
        self,
        entry: Entry,
        spec: EntrySpec,
        row: tuple[Any, ...],
        mark: int,
        run: Run,
        error: BaseException,
        number: int,
    ) -> None:
        """Raise what the plain run raises: pieces of a loop may have failed in another order."""
        if isinstance(error, BrokenGraph):
            raise error
        if not run.whole:
            self.store.journal.rollback(mark)
            run = Run(self, entry, whole=True)
            try:
                run.result(spec, row)
            except BaseException as exact:
                if type(exact) is not type(error) or repr(exact.args) != repr(error.args):
                    self.replaced.append(entry.name)
                error = exact
            else:
                raise BrokenGraph(f"{entry.name} failed in pieces but not as a whole") from error
        at = run.machine.at.file, run.machine.at.line  # unless it is in code that no graph has, as of a pure function
        add_note(error, request_note(entry.name, number, *user_line(self.program, spec, error, at)))
        raise error

    def run(self, entry: str, rows: Iterable[tuple[Any, ...]]) -> list[Any]:
        """A request of rows that have been checked before."""
        return self.request(self.graph.entry(entry), describe(type(self.program)).entries[entry], list(rows))

    def flow(self, number: int) -> Flow:
        return self._flows[number]

    def task(self, name: str) -> Task:
        return self._tasks[name]


class SequentialEntry:
    """An entry of a running program."""

    def __init__(self, app: SequentialApp, entry: Entry, spec: EntrySpec) -> None:
        self._app, self._entry, self._spec = app, entry, spec

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            row = bind_call(self._spec, args, kwargs)
        except Refused as error:
            raise error.as_input(self._spec.name, 0) from None
        return self._app.request(self._entry, self._spec, [row])[0]

    def __getattr__(self, name: str) -> Any:
        raise not_yet_on_entries(self._spec.name, name)

    def many(self, data: Any, *, on_error: str = "raise") -> Any:
        refuse_on_error(on_error)
        data = rows_at_once(self._spec, data)
        if is_stream(data):
            results = each_batch(self.many, data)
            return None if self._spec.result == NONE else results
        batch = read_batch(self._spec, data)
        return batch.results(self._app.request(self._entry, self._spec, list(batch.rows)))


class Run:
    """One row on its way through the tasks."""

    def __init__(self, app: SequentialApp, entry: Entry, whole: bool = False) -> None:
        self.app, self.entry, self.whole = app, entry, whole or app.whole
        self.machine = Machine(app.store, app.program, self._deliver)
        self._rows: dict[str, list[tuple[Any, ...]]] = {}

    def result(self, spec: EntrySpec, values: tuple[Any, ...]) -> Any:
        value = self.row(values)
        self.machine.at = self.entry.span  # a result that is refused belongs to the entry as a whole
        return checked_result(spec, value)

    def row(self, values: tuple[Any, ...]) -> Any:
        env: Env = {p.name: copied(v) for p, v in zip(self.entry.parameters, values, strict=True)}
        machine = self.machine
        machine.at = self.entry.span
        machine.pinned = self.entry.winding is not None
        machine.instance = self.app.store.assignment(bucket(self.app.sequence // BLOCK))
        if self.entry.dispatch is Dispatch.BY_KEY:
            assert self.entry.key is not None
            machine.key = machine.value(self.entry.key, env)
            machine.instance = self.app.store.owner(machine.key)
        if self.whole:
            machine.key = ANYWHERE
            signal = machine.run(self.entry.body, env)
            return signal.value if isinstance(signal, Done) else None
        return self._run(self.app.task(self.entry.start), env)

    def _run(self, task: Task, env: Env) -> Any:
        """A task and all that follows from it; the result of the entry, if it ends there."""
        while True:
            signal, env = self._everywhere(task, env) if task.where is Where.EVERYWHERE else self._here(task, env)
            if isinstance(signal, Done):
                return signal.value
            if not isinstance(signal, Send):
                return None
            flow = self.app.flow(signal.flow)
            env = self._message(flow, env)
            task = self.app.task(flow.target)

    def _here(self, task: Task, env: Env) -> tuple[Any, Env]:
        env = {v.name: env[v.name] for v in task.inputs if v.name in env}
        return self.machine.run(task.body, env), env

    def _everywhere(self, task: Task, env: Env) -> tuple[Any, Env]:
        """The task on every instance; all take the same way, because conditions are single-valued."""
        signals, envs = [], []
        for i in range(self.app.store.instances):
            own = {v.name: copied(env[v.name]) for v in task.inputs if v.name in env}
            self.machine.single = i
            signals.append(self.machine.run(task.body, own))
            envs.append(own)
        self.machine.single = None
        ways = {(type(s), s.flow if isinstance(s, Send) else None) for s in signals}
        if len(ways) > 1:
            raise BrokenGraph(f"the instances of {task.name} went different ways")
        if isinstance(signals[0], Send):
            flow = self.app.flow(signals[0].flow)
            gathered = {v.name: Each(tuple(e[v.name] for e in envs)) for v in flow.carries if v.multi}
            return signals[0], {**envs[0], **gathered}
        return signals[0], envs[0]

    def _message(self, flow: Flow, env: Env) -> Env:
        """What arrives at the target of a flow: copies of exactly what it carries."""
        message: Env = {}
        for variable in flow.carries:
            if variable.name not in env:
                continue  # of a helper that has returned before: see helper_prefixes
            value = env[variable.name]
            if variable.multi and flow.over == "instances":
                assert flow.collects is not None and isinstance(value, Each)
                message[flow.collects] = [copied(v) for v in value.values]
                continue
            if not fits(variable.type, value):
                raise BrokenGraph(f"flow {flow.number} carries {variable}, got {value!r}")
            message[variable.name] = copied(value)
        if flow.over == "iterations":
            assert flow.collects is not None
            message[flow.collects] = self._rows.pop(flow.collects, [])
        if flow.key is not None:
            self.machine.key = self.machine.value(flow.key, env)
            if not self.machine.pinned:
                self.machine.instance = self.app.store.owner(self.machine.key)
        return message

    def _deliver(self, send: Send, env: Env) -> None:
        """A message of one iteration of a fan-out."""
        flow = self.app.flow(send.flow)
        if flow.over == "iterations":
            self._contribute(flow, env)
            return
        kept = self.machine.instance, self.machine.key
        message = self._message(flow, env)
        task = self.app.task(flow.target)
        signal, after = self._here(task, message)
        if isinstance(signal, Send):
            self._contribute(self.app.flow(signal.flow), after)
        self.machine.instance, self.machine.key = kept

    def _contribute(self, flow: Flow, env: Env) -> None:
        assert flow.over == "iterations" and flow.collects is not None and flow.each
        for variable in flow.carries:
            if not fits(variable.type, env[variable.name]):
                raise BrokenGraph(f"flow {flow.number} carries {variable}, got {env[variable.name]!r}")
        row = tuple(copied(env[v.name]) for v in flow.carries)
        self._rows.setdefault(flow.collects, []).append(row)
