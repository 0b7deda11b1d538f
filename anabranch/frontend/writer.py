"""Writes the body of one task: the rest of the entry from a point on, up to the next change of place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from anabranch.frontend.cells import Cell, FanOut, Jumps, escapes
from anabranch.frontend.fanout import accesses, gathers, transparent
from anabranch.frontend.numbers import EVERYWHERE, NOWHERE, Place
from anabranch.frontend.pieces import Draft, Edge
from anabranch.graph.code import (
    Access,
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
from anabranch.graph.liveness import without
from anabranch.graph.nodes import Dispatch, Variable, Where
from anabranch.graph.span import Span
from anabranch.lang.types import NONE, Optional

if TYPE_CHECKING:
    from anabranch.frontend.cut import Cutter


DISPATCH = {
    Where.KEY: Dispatch.BY_KEY,
    Where.HERE: Dispatch.ANY,
    Where.EVERYWHERE: Dispatch.ALL,
    Where.NOWHERE: Dispatch.ANY,
}


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
        dispatch, over = DISPATCH[place.where], None
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
