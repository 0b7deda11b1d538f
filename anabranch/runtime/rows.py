"""Run one row on its task, and make the rows that follow from it. Stages and fused runs both are made of this.

Laws: rows are run in the order of (sequence, iteration); what a row makes depends on its values and on the state of its
instance alone.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, Protocol

from anabranch.graph.nodes import Dispatch, Entry, Flow, Graph, Task, Where
from anabranch.kernels.allowance import Allowance
from anabranch.kernels.values import DONE, UNSET, copier
from anabranch.lang.entry import checked_result
from anabranch.lang.spec import EntrySpec
from anabranch.runtime.messages import IllegalTransition, Placed, Row
from anabranch.runtime.plan import Plan, make_plan, readers
from anabranch.runtime.routing import BLOCK, Routing

TRIES = 20  # blocks of rows without a key


class Code(Protocol):
    """The functions of a graph, of whatever tier: see `anabranch.kernels.PythonCode`."""

    def task(self, name: str) -> Callable[..., tuple[int, Any, Any]]: ...
    def whole(self, name: str) -> Callable[..., Any]: ...
    def start_key(self, entry: str) -> Callable[..., Any]: ...
    def place(self, entry: str, error: BaseException) -> tuple[str, int]: ...
    def limited(self, allowance: Allowance) -> Code: ...


class Held(Protocol):
    """The states of all instances, or copies of them, as far as they are here; see `anabranch.runtime.memory`."""

    routing: Routing
    parts: dict[str, list[Any]]
    of_instance: list[dict[str, Any]]

    @property
    def owner(self) -> Callable[[Any], int]: ...
    def mark(self) -> Any: ...
    def rollback(self, marks: Any) -> None: ...


class Batch(Protocol):
    """The rows of a request on their way through a kernel; `done` of them have run.

    `run` does at most so many more. What it raises is what row number `done` raises.
    """

    done: int

    def run(self, rows: int) -> None: ...
    def results(self) -> Sequence[Any]: ...


class StageBatch(Protocol):
    """The rows of a stage on one instance on their way through a kernel; as `Batch`. `sequence` is of the next row."""

    done: int
    total: int

    @property
    def sequence(self) -> int: ...

    def run(self, rows: int) -> None: ...
    def boxes(self) -> Sequence[Any]: ...


class Kernels(Protocol):
    """Machine code for whole entries and for stages, where there is some: see `anabranch.kernels.native`."""

    def batch(
        self, entry: str, rows: Sequence[tuple[Any, ...]], sequence: int, python: Callable[[int], Any]
    ) -> Batch | None: ...

    def stage(
        self, placed: Placed, stage: int, instance: int, boxes: Sequence[Any], python: Callable[..., Any]
    ) -> StageBatch: ...


@dataclass(slots=True)
class Made:
    """What running rows has made: rows with the stage they are for, and results by sequence number."""

    rows: list[tuple[int, Row]] = field(default_factory=list)
    results: list[tuple[int, Any]] = field(default_factory=list)


class Start:
    """How the rows of an entry find their first task."""

    def __init__(self, graph: Graph, entry: Entry, code: Code, routing: Routing) -> None:
        self.entry, self.routing = entry, routing
        self._code = code
        task = graph.task(entry.start)
        names = [p.name for p in entry.parameters]
        self._picks = tuple(names.index(v.name) for v in task.inputs)
        self._copy = copier_of(task)
        self._all = entry.dispatch is Dispatch.ALL

    def instance(self, sequence: int, values: tuple[Any, ...]) -> int:
        if self.entry.dispatch is not Dispatch.BY_KEY:
            return self.routing.home(sequence)
        try:
            return self.routing.owner(self._code.start_key(self.entry.name)(*values))
        except Exception:  # no key (configuration that was never set): the task that needs it says so
            return self.routing.home(sequence)

    def at_one_of(self, workers: Container[int], first: int, values: tuple[Any, ...]) -> int | None:
        """The first number, or one not far behind, with which a row starts at one of these workers, if there is one."""
        tries = 1 if self.entry.dispatch is Dispatch.BY_KEY else TRIES
        block = first // BLOCK
        for sequence in (first, *[BLOCK * (block + i) for i in range(1, tries)]):
            if self.routing.worker_of(self.instance(sequence, values)) in workers:
                return sequence
        return None

    def rows(self, sequence: int, values: tuple[Any, ...]) -> list[Row]:
        home = self.instance(sequence, values)
        picked = tuple([values[i] for i in self._picks])
        where = range(self.routing.instances) if self._all else (home,)
        return [Row(sequence, 0, self.entry.start, None, i, home, self._copy(picked)) for i in where]


class Runner:
    """Runs rows on the instances that are at hand."""

    def __init__(
        self,
        graph: Graph,
        code: Code,
        memory: Held,
        specs: dict[str, EntrySpec],
        kernels: Kernels | None = None,
    ) -> None:
        self.graph, self.code, self.memory, self.routing = graph, code, memory, memory.routing
        self._kernels = kernels
        self.specs = specs
        self.states = {s.name: s for s in graph.states}
        self.entries = {e.name: e for e in graph.entries}
        self.starts = {e.name: Start(graph, e, code, self.routing) for e in graph.entries}
        self._tasks = {t.name: t for t in graph.tasks}
        self._flows = [_Way(graph, f) for f in graph.flows]
        self._fans = {self._tasks[f.source].entry for f in graph.flows if f.each}
        self.readers = readers(graph)
        self._plans: dict[str, Plan] = {}

    def elsewhere(self, memory: Held, allowance: Allowance | None = None) -> Runner:
        """The same on other memory, without kernels. With an allowance rows end when it is spent."""
        code = self.code if allowance is None else self.code.limited(allowance)
        return Runner(self.graph, code, memory, self.specs)

    # -- one row in a stage -------------------------------------------------------------------------------------

    def run(self, row: Row, plan: Plan, made: Made) -> None:
        """Run a row, and on as far as it stays in this stage."""
        going: Row | None = row
        while going is not None:
            row = going
            out: list[tuple[int, Any, tuple[Any, ...]]] = []
            parts = self.memory.of_instance[row.instance]
            number, key, values = self.code.task(row.task)(parts, out, *row.values)
            for order, (to, where, sent) in enumerate(out):
                self._follow(row, self._flows[to], where, sent, order, plan, made)
            if number == DONE:
                self._result(row, values, made)
                return
            going = self._follow(row, self._flows[number], key, values, row.order, plan, made)

    def _result(self, row: Row, value: Any, made: Made) -> None:
        if row.flow is not None and self._flows[row.flow].flow.each:
            return  # the end of an iteration, not of the entry
        task = self._tasks[row.task]
        if task.where is not Where.EVERYWHERE or row.instance == row.home:
            made.results.append((row.sequence, checked_result(self.specs[task.entry], value)))

    def _follow(
        self, row: Row, way: _Way, key: Any, values: tuple[Any, ...], order: int, plan: Plan, made: Made
    ) -> Row | None:
        """Send what leaves a task; the row itself where it goes on here and now."""
        flow = way.flow
        stage = plan.stage_of[flow.target]
        if flow.dispatch is Dispatch.GATHER:
            made.rows.append((stage, self._to_gather(row, flow, key, values, order)))
            return None
        if way.leaves_everywhere and row.instance != row.home:
            return None  # all instances go the same way: one tells
        if flow.dispatch is Dispatch.ALL:
            for i in range(self.routing.instances):
                own = way.copy(values) if i else values
                made.rows.append((stage, Row(row.sequence, 0, flow.target, flow.number, i, row.home, own)))
        elif flow.dispatch is Dispatch.BY_KEY:
            owner = self.routing.owner(key)
            home = row.home if flow.each else owner
            made.rows.append((stage, Row(row.sequence, order, flow.target, flow.number, owner, home, values)))
        else:
            on = Row(row.sequence, order, flow.target, flow.number, row.instance, row.home, values)
            if stage == plan.stage_of[row.task]:
                return on
            made.rows.append((stage, on))
        return None

    def _to_gather(self, row: Row, flow: Flow, key: Any, values: tuple[Any, ...], order: int) -> Row:
        home = row.home if flow.key is None else self.routing.owner(key)
        if flow.over == "instances":
            order = row.instance
        return Row(row.sequence, order, flow.target, flow.number, home, home, values)

    # -- the rows of a stage ------------------------------------------------------------------------------------

    def arrange(self, rows: Iterable[Row]) -> list[Row]:
        """The rows of a stage in the order in which they run; what a gather waits for has become one row."""
        found = sorted(rows, key=_ORDER)
        if not any(r.flow is not None and self._flows[r.flow].gathers for r in found):
            return found
        ready: list[Row] = []
        waiting: dict[tuple[int, str], list[Row]] = {}
        for row in found:
            if row.flow is not None and self._flows[row.flow].gathers:
                waiting.setdefault((row.sequence, row.task), []).append(row)
            else:
                ready.append(row)
        for group in waiting.values():
            ready += self._join(group)
        return sorted(ready, key=_ORDER)

    def _join(self, group: list[Row]) -> list[Row]:
        way = self._flows[group[0].flow or 0]
        if way.flow.over == "instances":
            if [r.order for r in group] != list(range(self.routing.instances)):
                raise IllegalTransition(f"a gather of {self.routing.instances} instances got {group}")
            return [_with(group[0], way.position, [r.values[way.position] for r in group if way.position is not None])]
        main = [r for r in group if not self._flows[r.flow or 0].flow.each]
        if len(main) > 1:
            raise IllegalTransition(f"a loop ended twice: {group}")
        collected = [r.values for r in group if self._flows[r.flow or 0].flow.each]
        return [_with(r, self._flows[r.flow or 0].position, collected) for r in main]

    def batch(self, entry: str, rows: Sequence[tuple[Any, ...]], sequence: int) -> Batch | None:
        """A request on its way through the kernel of its entry, None if there is none."""
        if self._kernels is None:
            return None
        return self._kernels.batch(entry, rows, sequence, lambda i: self.alone(entry, sequence + i, rows[i]))

    def stage(self, placed: Placed, plan: Plan, stage: int, instance: int, boxes: Sequence[Any]) -> StageBatch:
        """A stage of a request on its way through the kernel of its entry."""
        entry = placed.request.entry

        def python(flow: int | None, sequence: int, order: int, home: int, values: tuple[Any, ...]) -> Any:
            """A row that the kernel leaves: what it sends, as rows, and its results."""
            if flow is None:
                row = next(r for r in self.starts[entry].rows(sequence, values) if r.instance == instance)
            else:
                row = Row(sequence, order, self._flows[flow].flow.target, flow, instance, home, values)
            made = Made()
            self.run(row, plan, made)
            return [row for _, row in made.rows], made.results

        assert self._kernels is not None
        return self._kernels.stage(placed, stage, instance, boxes, python)

    # -- one row alone ------------------------------------------------------------------------------------------

    def alone(self, entry: str, sequence: int, values: tuple[Any, ...]) -> Any:
        """A whole row on all instances of this address space: what a plain call does."""
        if self.entries[entry].winding is not None:
            return self._whole(entry, sequence, values)
        if entry not in self._fans:
            return self._chain(entry, sequence, values)
        marks = self.memory.mark()
        try:
            return self._chain(entry, sequence, values)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            failed = error
        # The pieces of a loop may fail in another order than the loop: the whole says which failure is first.
        self.memory.rollback(marks)
        self._whole(entry, sequence, values)
        if isinstance(failed, MemoryError | RecursionError) or not isinstance(failed, Exception):
            raise failed  # of the place and not of the program
        raise IllegalTransition(f"{entry} failed in pieces but not as a whole") from failed

    def _whole(self, entry: str, sequence: int, values: tuple[Any, ...]) -> Any:
        home = self.starts[entry].instance(sequence, values)
        return checked_result(self.specs[entry], self.code.whole(entry)(self.memory, home, *values))

    def _chain(self, entry: str, sequence: int, values: tuple[Any, ...]) -> Any:
        """Its tasks one after the other, stage by stage, without an exchange."""
        plan = self.plan(entry)
        made = Made()
        stages: list[list[Row]] = [[] for _ in range(plan.stages)]
        stages[0] = self.starts[entry].rows(
            sequence, values
        )  # of one entry alone, the first task is in the first stage
        for rows in stages:
            for row in self.arrange(rows):
                self.run(row, plan, made)
            if made.rows:
                for stage, row in made.rows:
                    stages[stage].append(row)
                made.rows.clear()
        if len(made.results) != 1:
            raise IllegalTransition(f"a row of {entry} gave {len(made.results)} results")
        return made.results[0][1]

    def plan(self, entry: str) -> Plan:
        """The stages of a straight entry alone."""
        plan = self._plans.get(entry)
        if plan is None:
            made = make_plan(self.graph, [entry])
            assert made is not None, f"{entry} is straight and has no stages"
            assert made.stage_of[self.entries[entry].start] == 0, f"{entry} does not begin at its start"
            plan = self._plans[entry] = made
        return plan


class _Way:
    """A flow, with what is asked of it for every row."""

    def __init__(self, graph: Graph, flow: Flow) -> None:
        source, target = graph.task(flow.source), graph.task(flow.target)
        self.flow = flow
        self.gathers = flow.dispatch is Dispatch.GATHER
        self.leaves_everywhere = source.where is Where.EVERYWHERE
        self.copy = copier_of(target)
        self.position = _position(flow, target)


def copier_of(task: Task) -> Callable[[tuple[Any, ...]], tuple[Any, ...]]:
    """How to copy the inputs of a task, so that two of them share nothing that can be changed."""
    copiers = [copier(v.type) for v in task.inputs]
    if not any(copiers):
        return lambda values: values
    return lambda values: tuple([v if c is None or v is UNSET else c(v) for c, v in zip(copiers, values, strict=True)])


def _position(flow: Flow, target: Task) -> int | None:
    """Where the target expects what a gather collects."""
    names = [v.name for v in target.inputs]
    return names.index(flow.collects) if flow.collects in names else None


def _with(row: Row, position: int | None, value: list[Any]) -> Row:
    if position is None:
        return row
    return row._replace(values=(*row.values[:position], value, *row.values[position + 1 :]))


_ORDER = itemgetter(0, 1)
