"""Cut an entry into tasks: a new one starts where another place is reached.

The rest of the entry from a point on is the body of the task that starts there, up to the next change of place. Code
without state runs where it is reached, so it may stand in several tasks; a point at which a task starts is one task,
whatever ways lead there.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from anabranch.frontend.aliases import aliased_names
from anabranch.frontend.cells import Cell, Cells, FanOut, Jumps
from anabranch.frontend.fanout import depends_on_body, plan
from anabranch.frontend.numbers import NOWHERE, Numbering, Place
from anabranch.frontend.pieces import Cut, Draft, Edge
from anabranch.frontend.positions import as_while, is_range
from anabranch.frontend.writer import DISPATCH, Writer
from anabranch.graph.code import (
    Access,
    Apply,
    Body,
    Comprehension,
    Const,
    Expr,
    For,
    Local,
    free_names,
    operands,
)
from anabranch.graph.effects import changed_names
from anabranch.graph.liveness import Live
from anabranch.graph.nodes import Dispatch, Variable, Where
from anabranch.graph.span import Span
from anabranch.lang.types import BYTES, STR, Iter, List, Optional, Tuple


def cut(body: Body, parameters: tuple[Variable, ...], span: Span) -> Cut:
    numbering = Numbering(tuple(p.name for p in parameters))
    env = numbering.start()
    numbering.run(body, dict(env))
    cells = Cells()
    first = cells.at(body, 0, None, None)
    scout = Cutter(numbering, cells, aliased_names(body), span)
    trial = scout.start(first, NOWHERE, None, parameters)
    # A parameter that may be None is no key before it was tested.
    known = {p.name: env[p.name] for p in parameters if not isinstance(p.type, Optional)}
    place, key = _first_place(scout, trial, numbering, known, body)
    if place == NOWHERE:
        return Cut(trial, Dispatch.ANY, None, scout.tasks, scout.edges, scout.jumps_in_try, scout.lazy)
    cutter = Cutter(numbering, cells, scout.aliased, span)
    start = cutter.start(first, place, key, parameters)
    return Cut(start, DISPATCH[place.where], key, cutter.tasks, cutter.edges, cutter.jumps_in_try, cutter.lazy)


def _first_place(
    scout: Cutter, trial: Draft, numbering: Numbering, env: dict[str, int], body: Body
) -> tuple[Place, Expr | None]:
    """Where the entry starts: at its first place, if all ways lead there and its key is known from the parameters."""
    edges = [e for e in scout.edges if e.source is trial]
    places = {e.target.place for e in edges}
    if len(places) != 1 or any(e.each or e.over for e in edges):
        return NOWHERE, None
    place = next(iter(places))
    if place.where is Where.KEY:
        key = numbering.rebuild(place.number, env)
        return (place, key) if key is not None else (NOWHERE, None)
    if place.where is Where.EVERYWHERE and not isinstance(body[0], Access):
        return NOWHERE, None
    return place, None


@dataclass
class Cutter:
    numbering: Numbering
    cells: Cells
    aliased: set[str]
    span: Span
    tasks: list[Draft] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    _known: dict[tuple[int, Where], Draft] = field(default_factory=dict)
    _loops: dict[int, Body] = field(default_factory=dict)
    _collected: dict[int, Body] = field(default_factory=dict)
    _plans: dict[int, FanOut | None] = field(default_factory=dict)
    _ends: dict[int, Cell] = field(default_factory=dict)
    _numbers: dict[int, int] = field(default_factory=dict)
    _todo: list[Draft] = field(default_factory=list)
    jumps: dict[int, Jumps] = field(default_factory=dict)
    jumps_in_try: list[Span] = field(default_factory=list)
    lazy: list[Span] = field(default_factory=list)
    collectors: dict[int, Draft] = field(default_factory=dict)

    def start(self, first: Cell | None, place: Place, key: Expr | None, parameters: tuple[Variable, ...]) -> Draft:
        draft = self.task(first, place, key, {p.name: p for p in parameters}, self.span)
        while self._todo:
            task = self._todo.pop(0)
            task.body = tuple(Writer(self, task).region(task.cell))
        return draft

    def task(self, cell: Cell | None, place: Place, key: Expr | None, inputs: dict[str, Variable], span: Span) -> Draft:
        known = self._known.get((id(cell), place.where))
        if known is None:
            known = Draft(len(self.tasks) + 1, cell, place, key, inputs, span)
            self._known[id(cell), place.where] = known
            self.tasks.append(known)
            self._todo.append(known)
        return known

    def edge(self, edge: Edge) -> int:
        for i, known in enumerate(self.edges):
            if known.same(edge):
                return i
        self.edges.append(edge)
        return len(self.edges) - 1

    def desugared(self, loop: For) -> Body:
        """A loop that is left in the middle keeps its position in a variable."""
        known = self._loops.get(id(loop))
        if known is None:
            if _is_lazy(loop, self.aliased):
                self.lazy.append(loop.span)
            known = self._loops[id(loop)] = as_while(loop, self._number(loop))
            self.numbering.heads[id(known[-1])] = self.numbering.heads[id(loop)]
        return known

    def plan(self, loop: For, after: Live) -> FanOut | None:
        if id(loop) not in self._plans:
            self._plans[id(loop)] = plan(loop, self.numbering, after, self.aliased, f"for.{self._number(loop)}.rows")
        return self._plans[id(loop)]

    def _number(self, loop: For) -> int:
        return self._numbers.setdefault(id(loop), len(self._numbers) + 1)

    def end_of(self, loop: For, fan: FanOut) -> Cell:
        known = self._ends.get(id(loop))
        if known is None:
            known = self._ends[id(loop)] = Cell((), 0, None, None, fan)
        return known

    def rows_body(self, loop: For, fan: FanOut) -> Body:
        """What runs over the collected iterations."""
        known = self._collected.get(id(loop))
        if known is None:
            assert fan.rows is not None
            kind = Tuple(tuple(v.type for v in fan.contributes))
            source = Local(fan.rows, List(kind), loop.span)
            target = tuple(v.name for v in fan.contributes)
            known = self._collected[id(loop)] = (For(target, source, fan.after, (), loop.span),)
        return known


def _is_lazy(loop: For, aliased: set[str]) -> bool:
    """Would a list of the source, made before the loop, differ from what the loop sees step by step?"""
    source = loop.source
    if isinstance(source.type, List | Tuple) or source.type in (STR, BYTES):
        return False
    if is_range(source):
        return False
    if _steps(source):
        return True
    names = free_names(source)
    changed = changed_names(loop.body)
    return bool(changed & names) or bool(changed & aliased and names & aliased) or depends_on_body(loop)


def _calls(expr: Apply, *functions: object) -> bool:
    return isinstance(expr.args[0], Const) and expr.args[0].value in functions


def _steps(source: Expr) -> bool:
    """Is something evaluated, and may fail, with each item? `list(...)` and the like have taken all steps at once."""
    if not isinstance(source.type, Iter):
        return False
    if isinstance(source, Comprehension | Local) or (isinstance(source, Apply) and _calls(source, map, filter)):
        return True
    return any(map(_steps, operands(source)))
