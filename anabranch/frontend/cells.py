"""Points of an entry's code, so that the rest of it can be taken up in another task.

A cell is a statement together with all that runs after it. Cells are unique per point: the same point reached on two
ways is one cell, and so one task.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from anabranch.graph.code import Body, Break, Continue, For, Stmt, While, bodies
from anabranch.graph.liveness import NOTHING, Live, live_before
from anabranch.graph.nodes import Variable


@dataclass(eq=False, slots=True)
class Cell:
    """`end` marks the end of an iteration of a fan-out; it has no statement."""

    body: Body
    index: int
    next: Cell | None
    loop: Jumps | None
    end: FanOut | None = None
    live: dict[str, Variable] | None = None

    @property
    def stmt(self) -> Stmt:
        return self.body[self.index]


@dataclass(eq=False, slots=True)
class Jumps:
    """Where `break` and `continue` lead."""

    leave: Cell | None
    again: Cell | None


@dataclass(frozen=True, slots=True)
class FanOut:
    """A fan-out loop: `local` stays with the loop, `remote` runs at each key, `after` runs when all is collected."""

    local: Body
    remote: Body
    after: Body
    rows: str | None
    contributes: tuple[Variable, ...] = ()


@dataclass
class Cells:
    """The cells of one entry."""

    _known: dict[tuple[int, int, int, int], Cell] = field(default_factory=dict)

    def at(self, body: Body, index: int, following: Cell | None, loop: Jumps | None) -> Cell | None:
        """The point before `body[index]`, or what follows if the body ends there."""
        if index == len(body):
            return following
        key = (id(body), index, id(following), id(loop))
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = Cell(body, index, following, loop)
        return found

    def after(self, cell: Cell) -> Cell | None:
        return cell.next if cell.end is not None else self.at(cell.body, cell.index + 1, cell.next, cell.loop)

    def live(self, cell: Cell | None) -> Live:
        """Variables that are needed from this point on."""
        # A long entry is a long chain of cells: it is followed in a loop, from its known end back.
        chain: list[Cell] = []
        while cell is not None and cell.live is None:
            if cell.end is not None:
                cell.live = {v.name: v for v in cell.end.contributes}
                break
            chain.append(cell)
            cell = self.after(cell)
        live: Live = NOTHING if cell is None or cell.live is None else cell.live
        for each in reversed(chain):
            leave = self.live(each.loop.leave) if each.loop else NOTHING
            again = self.live(each.loop.again) if each.loop else NOTHING
            each.live = live_before((each.stmt,), live, leave, again)
            live = each.live
        return live


def escapes(body: Body) -> Iterator[Stmt]:
    """The `break` and `continue` statements that leave a body."""
    for stmt in body:
        if isinstance(stmt, Break | Continue):
            yield stmt
        elif isinstance(stmt, For | While):
            yield from escapes(stmt.orelse)
        else:
            for inner in bodies(stmt):
                yield from escapes(inner)
