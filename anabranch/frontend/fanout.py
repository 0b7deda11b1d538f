"""Which loops are fan-outs: each iteration sends one message and none depends on what another one read.

A loop is split into what stays with it, what runs at the iteration's key, and what runs after all iterations have
been collected. Where a loop cannot be split so, its entry is winding: always right, only slower.
"""

from __future__ import annotations

from anabranch.frontend.cells import FanOut, escapes
from anabranch.frontend.numbers import Numbering
from anabranch.graph.code import (
    Access,
    Apply,
    Body,
    Break,
    Continue,
    For,
    Gather,
    If,
    Return,
    Stmt,
    While,
    bodies,
    free_names,
    target_names,
    walk,
)
from anabranch.graph.effects import changed_names
from anabranch.graph.liveness import Live, assigned, live_before, reads_of, union, without
from anabranch.graph.nodes import Variable, Where
from anabranch.lang.types import BOOL, Iter


def accesses(body: Body) -> list[Access]:
    return [s for s in walk(body) if isinstance(s, Access)]


def gathers(body: Body) -> bool:
    return any(isinstance(s, Gather) for s in walk(body))


def plan(loop: For, numbering: Numbering, after: Live, aliased: set[str], rows: str) -> FanOut | None:
    """How to split the loop; None if it cannot be. `aliased` are variables that share a mutable value."""
    found = accesses(loop.body)
    places = {numbering.places[id(a)] for a in found}
    if loop.orelse or gathers(loop.body) or len(places) != 1 or next(iter(places)).where is not Where.KEY:
        return None
    changed = changed_names(loop.body)
    if changed & (aliased | free_names(loop.source)) or depends_on_body(loop):
        return None
    body = _guarded(loop.body)
    first = next(i for i, s in enumerate(body) if accesses((s,)))
    local, rest = body[:first], body[first:]
    if not _visits_once(rest, numbering):
        return None
    targets = set(target_names(loop.target))
    head = _live_at_head(loop, after)
    carried = set(head) | set(after)
    split = next((i for i, s in enumerate(rest) if (assigned((s,)) | changed_names((s,))) & carried), len(rest))
    remote, tail = rest[:split], rest[split:]
    if accesses(tail) or any(escapes(remote)) or _leaves(remote) or _leaves(tail):
        return None
    written = assigned(tail) | changed_names(tail)
    if written & _reads(remote) or changed_names(local) & _reads(tail):
        return None
    if changed_names(remote) & _outside(local, targets, head):
        return None
    needs = live_before(tail, {})
    if tail and not set(needs) & assigned(remote) and not any(escapes(tail)):
        return FanOut(local + tail, remote, (), None)
    if not tail:
        return FanOut(local, remote, (), None)
    if any(isinstance(s, Break) for s in escapes(tail)) or written & _reads(local) or _leaves(local):
        return None
    inside = assigned(local) | assigned(remote) | targets
    contributes = tuple(sorted((v for n, v in needs.items() if n in inside), key=lambda v: v.name))
    if {v.name for v in contributes} & set(after) or assigned(tail) & inside:
        return None
    return FanOut(local, remote, tail, rows, contributes)


def depends_on_body(loop: For) -> bool:
    """Does a source that is evaluated step by step read what the loop assigns?"""
    return isinstance(loop.source.type, Iter) and bool(assigned(loop.body) & free_names(loop.source))


def _guarded(body: Body) -> Body:
    """`if c: ...` at the end of an iteration is `if not c: continue`, so that what follows can be split."""
    last = body[-1]
    if not (isinstance(last, If) and not last.orelse and accesses(last.then)):
        return body
    test = Apply("not", (last.test,), BOOL, last.span)
    return (*body[:-1], If(test, (Continue(last.span),), (), last.span), *_guarded(last.then))


def transparent(loop: For | While, numbering: Numbering, after: Live, aliased: set[str]) -> bool:
    """A loop without state of its own around fan-outs that bring nothing back."""
    if not isinstance(loop, For) or loop.orelse:
        return False
    head = union(_live_at_head(loop, after), after)
    return all(_opaque(s, numbering, head, aliased) for s in loop.body)


def _opaque(stmt: Stmt, numbering: Numbering, after: Live, aliased: set[str]) -> bool:
    if not accesses((stmt,)) and not gathers((stmt,)):
        return True
    if isinstance(stmt, If):
        return all(_opaque(s, numbering, after, aliased) for body in bodies(stmt) for s in body)
    if isinstance(stmt, For):
        # What is live after the inner loop is at most what the outer body and its surroundings read.
        start, _ = numbering.heads[id(stmt)]
        if any(numbering.places[id(a)].number <= start for a in accesses((stmt,))):
            return False  # its key is chosen outside: the message would be one of the outer loop's
        found = plan(stmt, numbering, after, aliased, "")
        if found is not None:
            return found.rows is None
        return transparent(stmt, numbering, after, aliased)
    return False


def _live_at_head(loop: For, after: Live) -> dict[str, Variable]:
    targets = set(target_names(loop.target))
    live = dict(after)
    while True:
        again = union(after, without(live_before(loop.body, live, after, live), targets))
        if again == live:
            return live
        live = again


def _visits_once(rest: Body, numbering: Numbering) -> bool:
    """The key must be known where the message is sent: accesses inside inner loops must not choose it anew."""
    for stmt in walk(rest):
        if isinstance(stmt, For | While):
            start, _ = numbering.heads[id(stmt)]
            if any(numbering.places[id(a)].number > start for a in accesses((stmt,))):
                return False
    return True


def _leaves(body: Body) -> bool:
    return any(isinstance(s, Return) for s in walk(body))


def _reads(body: Body) -> set[str]:
    return {name for stmt in walk(body) for name in reads_of(stmt)}


def _outside(local: Body, targets: set[str], head: Live) -> set[str]:
    """Variables whose values other iterations see too."""
    return set(head) - assigned(local) - targets
