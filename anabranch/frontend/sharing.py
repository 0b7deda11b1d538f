"""Which variables may share one mutable value when a message is sent.

Unlike the groups of `aliases`, this follows the code: a variable that gets a new value shares nothing any more. What
two tasks hold after a message are copies, so a shared value that is changed there would be changed once too little.
"""

from __future__ import annotations

import itertools

from anabranch.frontend.aliases import elements_of, repeats, shares, stored
from anabranch.frontend.pieces import Cut
from anabranch.graph.code import (
    Access,
    Assign,
    Body,
    Break,
    Continue,
    Expr,
    For,
    Gather,
    If,
    Raise,
    Return,
    Send,
    Stmt,
    Try,
    While,
    expressions,
    target_names,
)

Pair = frozenset[str]
Pairs = frozenset[Pair]


def pairs_on(cut: Cut) -> list[Pairs]:
    """For each edge, the pairs of variables it carries that may share a value."""
    found: list[Pairs] = [frozenset()] * len(cut.edges)
    while True:
        before = list(found)
        for task in cut.tasks:
            start = frozenset().union(*(found[i] for i, e in enumerate(cut.edges) if e.target is task))
            follow = _Follow()
            follow.body(task.body, start)
            for flow, pairs in follow.sent.items():
                carried = {v.name for v in cut.edges[flow].carries}
                found[flow] |= {p for p in pairs if p <= carried}
        if found == before:
            return found


class _Follow:
    """Follows one body; None stands for a point that is not reached."""

    def __init__(self) -> None:
        self.sent: dict[int, Pairs] = {}
        self._jumps: list[Pairs] = []

    def body(self, body: Body, pairs: Pairs | None) -> Pairs | None:
        for stmt in body:
            if pairs is None:
                return None
            pairs = self._stmt(stmt, pairs)
        return pairs

    def _stmt(self, stmt: Stmt, pairs: Pairs) -> Pairs | None:
        for expr in expressions(stmt):
            pairs = _store(pairs, expr)
        match stmt:
            case Assign(target, value):
                return _assign(pairs, list(target_names(target)), list(shares(value)), repeats(value))
            case Access(target=target) | Gather(target=target):
                return _assign(pairs, [target] if target else [], [])
            case If(_, then, orelse):
                return _either(self.body(then, pairs), self.body(orelse, pairs))
            case For(target, source, body, orelse):
                return self._loop(body, orelse, pairs, list(target_names(target)), list(elements_of(source)))
            case While(_, body, orelse):
                return self._loop(body, orelse, pairs, [], [])
            case Try(body, handlers, orelse, final):
                seen: Pairs = pairs
                end: Pairs | None = pairs
                for inner in body:  # a handler may start after any statement
                    end = None if end is None else self._stmt(inner, end)
                    seen |= end or frozenset()
                ends = [seen, self.body(orelse, end), *(self.body(h.body, seen) for h in handlers)]
                return self.body(final, _either(*ends))
            case Break() | Continue() | Send():
                if isinstance(stmt, Send):
                    self.sent[stmt.flow] = self.sent.get(stmt.flow, frozenset()) | pairs
                if self._jumps:
                    self._jumps[-1] |= pairs
                return None
            case Return() | Raise():
                return None
        return pairs

    def _loop(self, body: Body, orelse: Body, pairs: Pairs, targets: list[str], sources: list[str]) -> Pairs | None:
        head = pairs
        while True:
            self._jumps.append(frozenset())
            end = self.body(body, _assign(head, targets, sources))
            jumped = self._jumps.pop()
            again = head | jumped | (end or frozenset())
            if again == head:
                return _either(self.body(orelse, head), head)
            head = again


def _either(*ends: Pairs | None) -> Pairs | None:
    reached = [e for e in ends if e is not None]
    return frozenset().union(*reached) if reached else None


def _store(pairs: Pairs, expr: Expr) -> Pairs:
    for holder, source in stored(expr):
        pairs = _link(pairs, holder, source)
    return pairs


def _assign(pairs: Pairs, targets: list[str], sources: list[str], repeated: bool = False) -> Pairs:
    partners = {name for source in sources for name in _partners(pairs, source)} | set(sources)
    fresh = frozenset(p for p in pairs if not p & set(targets))
    found = fresh | {frozenset((t, s)) for t in targets for s in partners if s != t and s not in targets}
    if len(targets) > 1 and (repeated or sources):
        found |= {frozenset(two) for two in itertools.combinations(sorted(set(targets)), 2)}
    return found


def _link(pairs: Pairs, a: str, b: str) -> Pairs:
    """Both, and all that share with either, may share from now on."""
    left, right = {a, *_partners(pairs, a)}, {b, *_partners(pairs, b)}
    return pairs | {frozenset((x, y)) for x in left for y in right if x != y}


def _partners(pairs: Pairs, name: str) -> set[str]:
    return {other for pair in pairs if name in pair for other in pair if other != name}
