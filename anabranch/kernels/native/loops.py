"""Loops and comprehensions of a kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from anabranch.graph.code import Clause, Comprehension, Expr
from anabranch.graph.effects import changes
from anabranch.kernels.native import containers, mappings
from anabranch.kernels.native.layout import NotInKernels
from anabranch.kernels.native.registers import Value
from anabranch.kernels.native.scope import Scope
from anabranch.kernels.native.walks import Coming, walk
from anabranch.lang.types import Dict, List, Set, Tuple, strip_optional, thaw

Look = Callable[[Coming], Callable[[], None]]


@contextmanager
def each(scope: Scope, source: Expr, any_order: bool = False, look: Look | None = None) -> Iterator[Value]:
    """A loop over the source: what is written inside is its body, for the item that it gives.

    `look` writes, before the loop, how to look ahead at what is coming, and gives what writes it in the loop.

    The loop is a Python `while`: `continue` goes on with the next item, an `else` may follow it.
    """
    if isinstance(source, Comprehension) and source.kind == "generator":
        if len(source.clauses) > 1 or changes(source):
            raise NotInKernels("a loop over a generator that is a loop itself")
        (clause,) = source.clauses
        with each(scope, clause.source) as item:
            with scope.binding():
                _bind(scope, clause, item)
                element = scope.write.named(source.element)
            yield element
        return
    found = walk(scope, source, any_order)
    ahead = look(found.coming) if look is not None and found.coming is not None else None
    with scope.out.block(f"while {found.test}:"):
        if ahead is not None:
            ahead()
        yield found.take()


def over(scope: Scope, source: Expr, body: Callable[[Value], None], stop: str = "", any_order: bool = False) -> None:
    """Write the body for each item of a source, until the variable `stop` is true."""
    outer = scope.bound
    if isinstance(source, Comprehension) and source.kind in ("generator", "list"):
        if changes(source):
            raise NotInKernels("a comprehension that changes something")

        def inner() -> None:
            element = scope.write.named(source.element)
            with scope.binding(outer):
                body(element)

        clauses(scope, source.clauses, inner, stop, any_order)
        return
    with each(scope, source, any_order) as item:
        body(item)
        if stop:
            with scope.out.block(f"if {stop}:"):
                scope.out.line("break")


def clauses(
    scope: Scope, given: Sequence[Clause], inner: Callable[[], None], stop: str = "", any_order: bool = False
) -> None:
    """The loops of a comprehension around what is written by `inner`."""
    if not given:
        inner()
        return
    with each(scope, given[0].source, any_order) as item, scope.binding():
        _bind(scope, given[0], item)
        clauses(scope, given[1:], inner, stop, any_order)
        if stop:
            with scope.out.block(f"if {stop}:"):
                scope.out.line("break")


def _bind(scope: Scope, clause: Clause, item: Value) -> None:
    scope.bind(clause.target, item)
    for test in clause.tests:
        with scope.out.block(f"if not {scope.write.condition(test)}:"):
            scope.out.line("continue")


def write_comprehension(scope: Scope, expr: Comprehension) -> Value:
    t = thaw(strip_optional(expr.type))
    match t:
        case List():
            made = containers.list_of(scope, [], t)
            clauses(scope, expr.clauses, lambda: containers.append(scope, made, scope.write.named(expr.element)))
            return made
        case Set():
            made = mappings.new(scope, t)
            clauses(scope, expr.clauses, lambda: mappings.add(scope, made, scope.write.named(expr.element)))
            return made
        case Dict():
            made = mappings.new(scope, t)
            clauses(scope, expr.clauses, lambda: _put_pair(scope, made, scope.write.named(expr.element)))
            return made
    raise NotInKernels(f"a {expr.kind} comprehension")


def _put_pair(scope: Scope, made: Value, pair: Value) -> None:
    assert isinstance(pair.type, Tuple)
    mappings.put(scope, made, *mappings.pair_of(pair))
