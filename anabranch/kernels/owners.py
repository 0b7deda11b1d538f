"""Which accesses of an entry have the key of an earlier one, so that its owner need not be looked up again.

Law: where an access reuses an owner, every way to it has looked that owner up, and no variable of the key was assigned
since. Keys are immutable values.
"""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.graph.code import Access, Body, Expr, If, bodies, free_names
from anabranch.graph.liveness import assigned


@dataclass(frozen=True, slots=True)
class Owner:
    """The number of the variable that holds it; `fresh` if it must be looked up here."""

    number: int
    fresh: bool


def owners(body: Body) -> dict[int, Owner]:
    """For each access with a key, by its `id`."""
    found: dict[int, Owner] = {}
    _walk(body, [], found)
    return found


def _walk(body: Body, known: list[tuple[Expr, int]], found: dict[int, Owner]) -> None:
    for stmt in body:
        if isinstance(stmt, Access) and stmt.key is not None and not stmt.everywhere:
            if id(stmt) in found:  # it stands twice, and may be reached in two ways
                owner = Owner(found[id(stmt)].number, True)
            else:
                number = next((n for key, n in known if key == stmt.key), None)
                owner = Owner(len(found), True) if number is None else Owner(number, False)
            if owner.fresh:
                known.append((stmt.key, owner.number))
            found[id(stmt)] = owner
        gone = assigned((stmt,))
        left = [(key, n) for key, n in known if not free_names(key) & gone]
        for inner in bodies(stmt):
            # A loop may come back to its start with other keys; a branch starts with what is known before it.
            _walk(inner, list(known if isinstance(stmt, If) else left), found)
        known[:] = left
