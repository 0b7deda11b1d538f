"""Runs a program on its emitted functions, uncut or task by task: what an engine does, in its simplest form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anabranch as ab
from anabranch.engines.sequential.app import BLOCK, SequentialEntry
from anabranch.engines.sequential.store import Store
from anabranch.graph.nodes import Dispatch, Entry, Flow, Task, Where
from anabranch.graph.verify import BrokenGraph
from anabranch.kernels import DONE, UNSET, PythonCode
from anabranch.kernels.allowance import Allowance
from anabranch.kernels.values import copier
from anabranch.lang.entry import checked_result, request_note
from anabranch.lang.keys import BUCKETS, bucket
from anabranch.lang.spec import EntrySpec, describe

Message = tuple[int, Any, tuple[Any, ...]]


class PythonApp:
    """A program whose entries run as emitted Python: uncut with `whole`, else from task to task."""

    def __init__(
        self,
        program: ab.Program,
        instances: int = 1,
        whole: bool = False,
        graph: ab.Graph | None = None,
        assignment: Callable[[int], int] | None = None,
        allowance: Allowance | None = None,
    ) -> None:
        self.graph = graph or ab.compile(type(program))
        self.code = PythonCode(self.graph, program, allowance)
        self.is_whole = whole
        self.store = Store(self.graph, program, instances, assignment or (lambda b: b * instances // BUCKETS))
        self.sequence = 0
        self.replaced: list[str] = []
        specs = describe(type(program)).entries
        self.entries = {e.name: SequentialEntry(self, e, specs[e.name]) for e in self.graph.entries}  # type: ignore[arg-type]

    def __getattr__(self, name: str) -> SequentialEntry:
        return self.__dict__["entries"][name]

    def request(self, entry: Entry, spec: EntrySpec, rows: list[tuple[Any, ...]]) -> list[Any]:
        journal = self.store.journal
        results: list[Any] = []
        journal.active = True
        try:
            for row in rows:
                results.append(self._row(entry, spec, row, len(results)))
                self.sequence += 1
        except BaseException:
            journal.rollback()
            raise
        finally:
            journal.active = False
            journal.clear()
        return results

    def _row(self, entry: Entry, spec: EntrySpec, row: tuple[Any, ...], number: int) -> Any:
        if not self.is_whole:
            mark = self.store.journal.mark()
            try:
                return checked_result(spec, Chain(self, entry).result(row))
            except BaseException as error:
                if isinstance(error, BrokenGraph):
                    raise
                pieces = error
            self.store.journal.rollback(mark)
        try:
            result = checked_result(spec, self.code.whole(entry.name)(self.store, self.home(entry, row), *row))
        except BaseException as error:
            if not self.is_whole and (type(error), repr(error.args)) != (type(pieces), repr(pieces.args)):
                self.replaced.append(entry.name)
            error.add_note(request_note(entry.name, number, *self.code.place(entry.name, error)))
            raise
        if not self.is_whole:
            raise BrokenGraph(f"{entry.name} failed in pieces but not as a whole") from pieces
        return result

    def home(self, entry: Entry, row: tuple[Any, ...]) -> int:
        if entry.dispatch is Dispatch.BY_KEY:
            return self.store.owner(self.code.start_key(entry.name)(*row))
        return self.store.assignment(bucket(self.sequence // BLOCK))


class Chain:
    """One row on its way through the tasks."""

    def __init__(self, app: PythonApp, entry: Entry) -> None:
        self.app, self.entry = app, entry
        self.rows: dict[str, list[tuple[Any, ...]]] = {}  # what iterations contributed

    def result(self, row: tuple[Any, ...]) -> Any:
        entry, graph = self.entry, self.app.graph
        start = graph.task(entry.start)
        given = {p.name: copied(p.type, x) for p, x in zip(entry.parameters, row, strict=True)}
        self.here = at = self.app.home(entry, row)
        task, values = start, tuple(given.get(v.name, UNSET) for v in start.inputs)
        while True:
            number, key, values = self.run(task, at, values)
            if number == DONE:
                return values
            flow = graph.flow(number)
            task = graph.task(flow.target)
            values = self.received(flow, task, values)
            at = self.place(key, flow)

    def place(self, key: Any, flow: Flow) -> int:
        if flow.key is None:
            return self.here
        at = self.app.store.owner(key)
        if self.entry.straight:
            self.here = at
        return at

    def received(self, flow: Flow, task: Task, values: tuple[Any, ...]) -> tuple[Any, ...]:
        if flow.over != "iterations":
            return values
        rows = self.rows.pop(str(flow.collects), [])
        return tuple(rows if v.name == flow.collects else x for v, x in zip(task.inputs, values, strict=True))

    def run(self, task: Task, at: int, values: tuple[Any, ...]) -> tuple[int, Any, Any]:
        if task.where is Where.EVERYWHERE:
            return self.everywhere(task, values)
        if self.entry.straight:
            out: list[Message] = []
            end = self.call(task, at, out, values)
            for message in out:
                self.deliver(message)
            return end
        return self.call(task, at, Deliver(self.deliver), values)

    def call(self, task: Task, at: int, out: Any, values: tuple[Any, ...]) -> tuple[int, Any, Any]:
        parts = {s: self.app.store.parts[s][at] for s in task.states}
        return self.app.code.task(task.name)(parts, out, *values)

    def everywhere(self, task: Task, values: tuple[Any, ...]) -> tuple[int, Any, Any]:
        """The task on every instance; what they gather comes by instance number."""
        kinds = [v.type for v in task.inputs]
        ends = []
        for i in range(self.app.store.instances):
            own = tuple(x if x is UNSET else copied(t, x) for t, x in zip(kinds, values, strict=True))
            ends.append(self.call(task, i, None, own))
        number, key, first = ends[0]
        assert {e[0] for e in ends} == {number}
        if number == DONE:
            return ends[0]
        flow = self.app.graph.flow(number)
        inputs = self.app.graph.task(flow.target).inputs
        gathered = tuple([e[2][i] for e in ends] if v.name == flow.collects else first[i] for i, v in enumerate(inputs))
        return number, key, gathered

    def deliver(self, message: Message) -> None:
        """A message of one iteration of a fan-out."""
        number, key, values = message
        flow = self.app.graph.flow(number)
        if flow.over == "iterations":
            self.rows.setdefault(str(flow.collects), []).append(values)
            return
        kept = self.here
        end = self.run(self.app.graph.task(flow.target), self.place(key, flow), values)
        if end[0] != DONE:
            self.deliver(end)
        self.here = kept


class Deliver:
    """Takes messages at once: a winding entry may come back to what they change."""

    def __init__(self, deliver: Callable[[Message], None]) -> None:
        self.append = deliver


def copied(kind: Any, value: Any) -> Any:
    copy = copier(kind)
    return value if copy is None else copy(value)
