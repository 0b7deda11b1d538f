"""Merges: how one state is made of the instances of a partial state.

A merge is a function of a non-empty list of states that gives a new one and changes none. Those here work entry by
entry, in the order of the list. A missing entry of a `Vector` or `Matrix` counts as 0.0; a key that a `Table` does
not hold does not count, so `mean` of a table is over the instances that hold the key.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar, cast

from anabranch.lang.dense import DenseVector
from anabranch.lang.dense_matrix import DenseMatrix
from anabranch.lang.marks import copy_state
from anabranch.lang.matrix import Matrix
from anabranch.lang.similar import asks_back
from anabranch.lang.table import Table
from anabranch.lang.value import Value
from anabranch.lang.vector import Vector

S = TypeVar("S")
Merge = Callable[[list[Any]], Any]


def add(states: Sequence[S]) -> S:
    """The sum, entry by entry: a merge of partial state, as in `ab.partial(..., merge=ab.add)`.

    >>> add([Vector({1: 1.0}), Vector({1: 2.0})])
    Vector({1: 3.0})
    """
    first = _first(states, add)
    if isinstance(first, (Table, Value)):
        return _by_entry(states, lambda values: functools.reduce(lambda a, b: a + b, values))
    return cast(S, functools.reduce(lambda a, b: a + b, states[1:], copy_state(cast(Any, first))))


def mean(states: Sequence[S]) -> S:
    """The mean, entry by entry: a merge of partial state. It is a float, so a `Table` or `Value` of int cannot hold it.

    >>> mean([Value(1.0), Value(2.0)])
    Value(1.5)
    """
    first = _first(states, mean)
    if isinstance(first, (Table, Value)):
        return _by_entry(states, lambda values: functools.reduce(lambda a, b: a + b, values) / len(values))
    return cast(S, cast(Any, add(states)) / len(states))


def largest(states: Sequence[S]) -> S:
    """The greatest of each entry: a merge of partial state.

    >>> largest([Table({"a": 1}), Table({"a": 3, "b": 2})])
    Table({'a': 3, 'b': 2})
    """
    _first(states, largest)
    return _by_entry(states, lambda values: functools.reduce(lambda a, b: b if b > a else a, values))


def smallest(states: Sequence[S]) -> S:
    """The least of each entry: a merge of partial state."""
    _first(states, smallest)
    return _by_entry(states, lambda values: functools.reduce(lambda a, b: b if b < a else a, values))


def default_merge(cls: type) -> Merge | None:
    """The merge of a partial state that names none: sums for vectors and matrices."""
    return add if cls in (Vector, Matrix, DenseVector, DenseMatrix) else None


class PartialTemplate(Generic[S]):
    """What `partial` gives: a template and how to merge instances that grew from it."""

    __slots__ = ("merge", "template")

    def __init__(self, template: S, merge: Merge | None) -> None:
        self.template, self.merge = template, merge


@asks_back
def partial(template: S, merge: Callable[[list[S]], S] | None = None) -> S:
    """The template of a partial state, with its merge: `self.w = ab.partial(ab.DenseVector.zeros(3), merge=ab.mean)`.

    Every instance starts as a copy of the template. `merge` says what all of them mean together: `ab.add`, `ab.mean`,
    `ab.largest`, `ab.smallest`, or a function from a list of states to a new one.

    Type checkers read the template's type; the program unwraps it when it is assigned.
    """
    if merge is not None and not callable(merge):
        raise TypeError(f"merge= expects a function of a list of states such as ab.mean, got {merge!r}")
    return cast(S, PartialTemplate(template, merge))


def _first(states: Sequence[S], merge: Any) -> S:
    if not states:
        raise ValueError(f"{merge.__name__} of no states: a merge needs at least one")
    first = states[0]
    if not isinstance(first, (Vector, Matrix, DenseVector, DenseMatrix, Table, Value)):
        raise TypeError(
            f"ab.{merge.__name__} does not know {type(first).__name__}: give a function of a list of states"
        )
    return first


def _by_entry(states: Sequence[S], combine: Callable[[list[Any]], Any]) -> S:
    first: Any = states[0]
    cells = [dict(cast(Any, state)._cells()) for state in states]
    keys = dict.fromkeys(k for part in cells for k in part)
    if isinstance(first, (Vector, Matrix)):
        merged = {k: combine([part.get(k, 0.0) for part in cells]) for k in keys}
    else:
        merged = {k: combine([part[k] for part in cells if k in part]) for k in keys}
    new: Any = copy_state(first)
    if isinstance(new, Value):
        new.assign(merged[None])
    elif isinstance(new, (DenseVector, DenseMatrix)):
        for k, x in merged.items():
            cast(Any, new)[k] = x
    else:
        new.assign(type(new)(merged))
    return cast(S, new)
