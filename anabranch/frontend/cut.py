"""Cut an entry into tasks: a new one starts where another place is reached.

The rest of the entry from a point on is the body of the task that starts there, up to the next change of place. Code
without state runs where it is reached, so it may stand in several tasks; a point at which a task starts is one task,
whatever ways lead there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from anabranch.frontend.aliases import aliased_names
from anabranch.frontend.cells import Cell, Cells, FanOut, Jumps, escapes
from anabranch.frontend.fanout import accesses, gathers, plan, transparent
from anabranch.frontend.numbers import EVERYWHERE, NOWHERE, Numbering, Place
from anabranch.frontend.operators import iterate
from anabranch.graph.code import (
    Access,
    Apply,
    Assign,
    Body,
    Break,
    Const,
    Continue,
    Expr,
    For,
    Gather,
    If,
    Local,
    Raise,
    Return,
    Send,
    Stmt,
    Try,
    While,
    walk,
)
from anabranch.graph.liveness import Live, without
from anabranch.graph.nodes import Dispatch, Variable, Where
from anabranch.graph.span import Span
from anabranch.lang.types import BOOL, INT, NONE, UNKNOWN, List, Optional, Tuple, Type

_DISPATCH = {
    Where.KEY: Dispatch.BY_KEY,
    Where.HERE: Dispatch.ANY,
    Where.EVERYWHERE: Dispatch.ALL,
    Where.NOWHERE: Dispatch.ANY,
}


@dataclass(eq=False)
class Draft:
    """A task being cut."""

    number: int
    cell: Cell | None
    place: Place
    key: Expr | None
    inputs: dict[str, Variable]
    span: Span
    body: Body = ()


@dataclass(eq=False)
class Edge:
    """A flow being cut."""

    source: Draft
    target: Draft
    dispatch: Dispatch
    key: Expr | None
    carries: tuple[Variable, ...]
    span: Span
    each: bool = False
    over: str | None = None
    collects: str | None = None

    def same(self, other: Edge) -> bool:
        mine = (self.source, self.target, self.dispatch, self.key, self.each, self.over, self.collects)
        return mine == (other.source, other.target, other.dispatch, other.key, other.each, other.over, other.collects)


@dataclass
class Cut:
    """An entry in pieces."""

    start: Draft
    dispatch: Dispatch
    key: Expr | None
    tasks: list[Draft]
    edges: list[Edge]
    jumps_in_try: list[Span]  # break and continue that cannot be followed to another task


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
        return Cut(trial, Dispatch.ANY, None, scout.tasks, scout.edges, scout.jumps_in_try)
    cutter = Cutter(numbering, cells, scout.aliased, span)
    start = cutter.start(first, place, key, parameters)
    return Cut(start, _DISPATCH[place.where], key, cutter.tasks, cutter.edges, cutter.jumps_in_try)


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
            known = self._loops[id(loop)] = _as_while(loop, self._number(loop))
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


def _as_while(loop: For, number: int) -> Body:
    span = loop.span
    at = Local(f"for.{number}.at", INT, span)
    start, count, item = _positions(loop, f"for.{number}", at)
    body = (
        Assign(loop.target, item, span),
        Assign(at.name, Apply("+", (at, Const(1, INT, span)), INT, span), span),
        *loop.body,
    )
    test = Apply("<", (at, count), BOOL, span)
    return (*start, Assign(at.name, Const(0, INT, span), span), While(test, body, loop.orelse, span))


def _positions(loop: For, prefix: str, at: Local) -> tuple[Body, Expr, Expr]:
    """What to keep of the source, how many items it has, and the item at a position."""
    source, span = loop.source, loop.span
    if isinstance(source, Apply) and source.op == "call" and _is_range(source.args[0]):
        zero, one = Const(0, INT, span), Const(1, INT, span)
        given = source.args[1:]
        first, stop, step = (zero, *given, one) if len(given) == 1 else (*given, one)[:3]
        kept = [Local(f"{prefix}.{name}", INT, span) for name in ("start", "stop", "step")]
        assigns = tuple(Assign(k.name, v, span) for k, v in zip(kept, (first, stop, step), strict=True))
        whole = Apply("call", (source.args[0], *kept), source.type, span)
        item = Apply("[]", (whole, at), INT, span)
        return assigns, Apply("call", (Const(len, NONE, span), whole), INT, span), item
    element: Type = iterate(source.type) or UNKNOWN
    kind: Type = source.type
    if not isinstance(kind, List):
        kind = List(element)
        source = Apply("call", (Const(list, NONE, span), source), kind, span)
    items = Local(f"{prefix}.items", kind, span)
    count = Apply("call", (Const(len, NONE, span), items), INT, span)
    return (Assign(items.name, source, span),), count, Apply("[]", (items, at), element, span)


def _is_range(expr: Expr) -> bool:
    return isinstance(expr, Const) and expr.value is range


@dataclass
class Writer:
    """Writes the body of one task."""

    cutter: Cutter
    task: Draft
    fan: bool = False
    around: tuple[int, ...] = ()  # the last value numbers before each loop that is being written around

    @property
    def place(self) -> Place:
        return self.task.place

    def region(self, cell: Cell | None) -> list[Stmt]:
        """All that runs in this task from a point on."""
        found: list[Stmt] = []
        while cell is not None:
            if cell.end is not None:
                found += self._contribute(cell)
                break
            written, falls = self.stmt(cell, None)
            found += written
            if not falls:
                break
            cell = self.cutter.cells.after(cell)
        return found

    def block(
        self, body: Body, following: Cell | None, jumps: Jumps | None, inside: Jumps | None
    ) -> tuple[list[Stmt], bool]:
        """The statements of a nested body; `inside` is the loop that is being written around it."""
        found: list[Stmt] = []
        for i in range(len(body)):
            cell = self.cutter.cells.at(body, i, following, jumps)
            assert cell is not None
            written, falls = self.stmt(cell, inside)
            found += written
            if not falls:
                return found, False
        return found, True

    def stmt(self, cell: Cell, inside: Jumps | None) -> tuple[list[Stmt], bool]:
        stmt = cell.stmt
        match stmt:
            case Access():
                if self._is_here(stmt, self.around):
                    return [stmt], True
                place = self.cutter.numbering.places[id(stmt)]
                return [self._send(cell, place, stmt.key, stmt.span)], False
            case Gather():
                return [self._gather(cell, stmt)], False
            case Return():
                if self.place == EVERYWHERE and not _is_none(stmt.value):
                    return [self._send(cell, NOWHERE, None, stmt.span)], False
                return [stmt], False
            case Raise():
                return [stmt], False
            case Break() | Continue():
                return self._jump(cell, stmt, inside)
            case If():
                return self._if(cell, stmt, inside)
            case For() | While():
                return self._loop(cell, stmt, inside)
            case Try() if inside is None and any(escapes((stmt,))):
                self.cutter.jumps_in_try.append(stmt.span)
        return [stmt], _falls((stmt,))

    def _is_here(self, access: Access, around: tuple[int, ...]) -> bool:
        """Does it happen at this task's place? A key that a loop chooses anew in each iteration is never the same."""
        place = self.cutter.numbering.places[id(access)]
        return place == self.place and not (around and place.number > around[0])

    def _entering(self, loop: For | While) -> tuple[int, ...]:
        head = self.cutter.numbering.heads.get(id(loop))  # a loop over collected iterations has none, and no accesses
        return self.around if head is None else (*self.around, head[0])

    def _uncut(self, stmt: Stmt, inside: Jumps | None) -> bool:
        """Does all of a statement happen in this task?"""
        around = self._entering(stmt) if isinstance(stmt, For | While) else self.around
        if gathers((stmt,)) or not all(self._is_here(a, around) for a in accesses((stmt,))):
            return False
        if inside is None and any(escapes((stmt,))):
            return False
        returns = [s for s in walk((stmt,)) if isinstance(s, Return)]
        return self.place != EVERYWHERE or all(_is_none(r.value) for r in returns)

    def _if(self, cell: Cell, stmt: If, inside: Jumps | None) -> tuple[list[Stmt], bool]:
        if self._uncut(stmt, inside):
            return [stmt], _falls((stmt,))
        after = self.cutter.cells.after(cell)
        then, then_falls = self.block(stmt.then, after, cell.loop, inside)
        orelse, else_falls = self.block(stmt.orelse, after, cell.loop, inside)
        return [If(stmt.test, tuple(then), tuple(orelse), stmt.span)], then_falls or else_falls

    def _loop(self, cell: Cell, stmt: For | While, inside: Jumps | None) -> tuple[list[Stmt], bool]:
        if self._uncut(stmt, inside):
            return [stmt], _falls((stmt,))
        hoisted = self._hoist(cell, stmt)
        if hoisted is not None:
            return [hoisted], False
        after = self.cutter.cells.after(cell)
        live = self.cutter.cells.live(after)
        numbering, aliased = self.cutter.numbering, self.cutter.aliased
        if isinstance(stmt, For) and self.place != EVERYWHERE:
            fan = self.cutter.plan(stmt, live)
            if fan is not None and not (self.fan and fan.rows):
                return self._fan_out(cell, stmt, fan)
            if transparent(stmt, numbering, live, aliased):
                jumps = self.cutter.jumps.setdefault(id(cell), Jumps(after, cell))
                kept, self.fan, self.around = (self.fan, self.around), True, self._entering(stmt)
                body, _ = self.block(stmt.body, cell, jumps, jumps)
                self.fan, self.around = kept
                return [For(stmt.target, stmt.source, tuple(body), (), stmt.span)], True
        if isinstance(stmt, For):
            # The loop is left in the middle: from here on its position is a variable like others.
            return self.block(self.cutter.desugared(stmt), after, cell.loop, inside)
        jumps = self.cutter.jumps.setdefault(id(cell), Jumps(after, cell))
        outer, self.around = self.around, self._entering(stmt)
        written, _ = self.block(stmt.body, cell, jumps, jumps)
        self.around = outer
        orelse, else_falls = self.block(stmt.orelse, after, cell.loop, inside)
        falls = else_falls or any(isinstance(s, Break) for s in escapes(tuple(written)))
        if isinstance(stmt.test, Const) and stmt.test.value:
            falls = any(isinstance(s, Break) for s in escapes(tuple(written)))
        return [While(stmt.test, tuple(written), tuple(orelse), stmt.span)], falls

    def _hoist(self, cell: Cell, stmt: For | While) -> Stmt | None:
        """A loop whose accesses are all at one place that is known before it belongs there as a whole."""
        numbering = self.cutter.numbering
        found = accesses((stmt,))
        places = {numbering.places[id(a)] for a in found}
        if gathers((stmt,)) or len(places) != 1 or all(self._is_here(a, self.around) for a in found):
            return None
        place = next(iter(places))
        if place.where is not Where.KEY:
            return self._send(cell, place, None, stmt.span)
        if id(stmt) not in numbering.heads:
            return None
        last, env = numbering.heads[id(stmt)]
        live = self.cutter.cells.live(cell)
        known = {n: number for n, number in env.items() if n in live and not isinstance(live[n].type, Optional)}
        key = numbering.rebuild(place.number, known) if place.number <= last else None
        return None if key is None else self._send(cell, place, key, stmt.span)

    def _fan_out(self, cell: Cell, stmt: For, fan: FanOut) -> tuple[list[Stmt], bool]:
        cutter = self.cutter
        after = cutter.cells.after(cell)
        end = cutter.end_of(stmt, fan)
        if fan.rows is not None:
            body = cutter.rows_body(stmt, fan)
            first = cutter.cells.at(body, 0, after, cell.loop)
            live = dict(cutter.cells.live(first))
            cutter.collectors[id(end)] = cutter.task(first, NOWHERE, None, live, stmt.span)
        kept, self.fan, self.around = (self.fan, self.around), True, self._entering(stmt)
        remote, falls = self.block(fan.remote, end, None, None)
        self.fan, self.around = kept
        if falls:
            remote += self._contribute(end)
        loop = For(stmt.target, stmt.source, (*fan.local, *remote), (), stmt.span, fan=True)
        if fan.rows is None:
            return [loop], True
        target = cutter.collectors[id(end)]
        carries = _sorted(without(target.inputs, [fan.rows]))
        edge = Edge(self.task, target, Dispatch.GATHER, None, carries, stmt.span, over="iterations", collects=fan.rows)
        return [loop, Send(cutter.edge(edge), stmt.span)], False

    def _contribute(self, end: Cell) -> list[Stmt]:
        """At the end of an iteration: hand over what the collected loop needs."""
        fan = end.end
        if fan is None or fan.rows is None:
            return []
        target = self.cutter.collectors[id(end)]
        edge = Edge(
            self.task,
            target,
            Dispatch.GATHER,
            None,
            fan.contributes,
            target.span,
            each=True,
            over="iterations",
            collects=fan.rows,
        )
        return [Send(self.cutter.edge(edge), target.span)]

    def _send(self, cell: Cell, place: Place, key: Expr | None, span: Span) -> Send:
        cutter = self.cutter
        live = cutter.cells.live(cell)
        target = cutter.task(cell, place, key, dict(live), span)
        dispatch, over = _DISPATCH[place.where], None
        if self.place == EVERYWHERE:
            dispatch, over = Dispatch.GATHER, "instances"
        each = self.fan and over is None
        edge = Edge(self.task, target, dispatch, key, _sorted(live), span, each=each, over=over)
        return Send(cutter.edge(edge), span)

    def _gather(self, cell: Cell, stmt: Gather) -> Send:
        cutter = self.cutter
        after = cutter.cells.after(cell)
        live = dict(cutter.cells.live(after))
        assert isinstance(stmt.source, Local)
        source = Variable(stmt.source.name, stmt.source.type, True)
        carries = _sorted({**without(live, [stmt.target]), source.name: source})
        target = cutter.task(after, NOWHERE, None, live, stmt.span)
        edge = Edge(
            self.task, target, Dispatch.GATHER, None, carries, stmt.span, over="instances", collects=stmt.target
        )
        return Send(cutter.edge(edge), stmt.span)

    def _jump(self, cell: Cell, stmt: Break | Continue, inside: Jumps | None) -> tuple[list[Stmt], bool]:
        if inside is not None:
            return [stmt], False
        assert cell.loop is not None
        target = cell.loop.leave if isinstance(stmt, Break) else cell.loop.again
        if target is None:
            return [Return(Const(None, NONE, stmt.span), stmt.span)], False
        return [self._send(target, NOWHERE, None, stmt.span)], False


def _is_none(value: Expr) -> bool:
    return isinstance(value, Const) and value.value is None


def _sorted(live: Mapping[str, Variable]) -> tuple[Variable, ...]:
    return tuple(live[name] for name in sorted(live))


def _falls(body: Body) -> bool:
    """Can the end of a body be reached?"""
    for stmt in body:
        match stmt:
            case Return() | Raise() | Break() | Continue() | Send():
                return False
            case If(_, then, orelse) if not _falls(then) and not _falls(orelse):
                return False
            case While(Const(value), inner) if value and not any(isinstance(s, Break) for s in escapes(inner)):
                return False
            case Try(inner, handlers, orelse) if not _falls(inner + orelse) and not any(
                _falls(h.body) for h in handlers
            ):
                return False
    return True
