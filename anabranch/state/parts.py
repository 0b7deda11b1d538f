"""One state as numbered parts: what each instance holds of it.

A partial state has its instances, a replicated one a copy per instance, a partitioned one the entries whose keys an
instance owns.

Laws: what is spread and put together again is the same, for partial state if the template adds nothing to a merge; an
entry of partitioned state is with its owner and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from anabranch.graph.nodes import Graph, State
from anabranch.lang import DenseMatrix, DenseVector, Matrix, Program, Table, Vector
from anabranch.lang.distribution import Distribution
from anabranch.lang.errors import ProgramError
from anabranch.lang.marks import copy_state, is_builtin, same_state
from anabranch.lang.merges import Merge, mean

Owner = Callable[[Any], int]


def start(graph: Graph, program: Program, instances: int, owner: Owner) -> dict[str, list[Any]]:
    """All states of a program, spread."""
    return {
        state.name: spread(
            state,
            program.__anabranch_states__[state.name],
            program.__anabranch_templates__[state.name],
            program.__anabranch_merges__[state.name],
            instances,
            owner,
        )
        for state in graph.states
    }


def spread(state: State, held: Any, template: Any, merge: Merge | None, instances: int, owner: Owner) -> list[Any]:
    """The parts of a state that holds what `held` holds.

    Of a partial state the first instance has it; the others start from the template, or where the merge is a mean, as
    copies.
    """
    if state.distribution is Distribution.PARTITIONED and instances > 1:
        _refuse_what_cannot_be_spread(state, held)
    others = template if state.distribution is Distribution.PARTIAL and merge is not mean else held
    parts = [copy_state(others if i else held) for i in range(instances)]
    if state.distribution is Distribution.PARTITIONED and instances > 1:
        for i, part in enumerate(parts):
            for key in entry_keys(part):
                if owner(place_of(state, key)) != i:
                    _remove(part, key)
    return parts


def together(state: State, parts: list[Any], owner: Owner, merge: Merge | None) -> Any:
    """A copy of a state as a user sees it: the union of its parts, the merge of its instances, or one copy."""
    if len(parts) == 1 or state.distribution is Distribution.REPLICATED:
        return copy_state(parts[0])
    if state.distribution is Distribution.PARTITIONED:
        return _union(state, parts, owner)
    if merge is None:
        raise TypeError(
            f"{state.name} names no merge: look at instances(), or give it one with ab.partial(..., merge=...)"
        )
    return merge([copy_state(p) for p in parts])


def entry_keys(part: Any) -> Iterable[Any]:
    """The keys under which a part holds something, as its `[]` takes them."""
    if isinstance(part, Table | Vector | Matrix):
        return [k for k, _ in part.items()]
    if isinstance(part, DenseVector):
        return range(len(part))
    if isinstance(part, DenseMatrix):
        rows, columns = part.shape
        return [(i, j) for i in range(rows) for j in range(columns)]
    return ()


def place_of(state: State, key: Any) -> Any:
    """The part of an entry's key that says where it lives."""
    if state.axis == "row" and isinstance(key, tuple):
        return key[0]
    if state.axis == "column":
        return key[1]
    return key


def _union(state: State, parts: list[Any], owner: Owner) -> Any:
    if state.cls not in (Table, Vector, Matrix, DenseVector, DenseMatrix):
        raise TypeError(
            f"the parts of {state.name}, a {state.cls.__name__}, cannot be put together: look at instances()"
        )
    whole = copy_state(parts[0])
    for i, part in enumerate(parts):
        for key in entry_keys(part):
            if owner(place_of(state, key)) == i:
                whole[key] = part[key]
    return whole


def _refuse_what_cannot_be_spread(state: State, held: Any) -> None:
    """Nobody but an own type knows its entries, so it starts empty on every instance or not at all."""
    if is_builtin(held):
        return
    try:
        empty = type(held)()
    except TypeError:  # it needs arguments: what they make is taken for its empty state
        return
    if not same_state(held, empty):
        raise ProgramError(
            f"{state.name} is partitioned and starts as {held!r}: only {state.cls.__name__} knows its entries, so they "
            f"cannot be spread over instances; start it as {state.cls.__name__}() and fill it by an entry, or run with "
            "workers=1"
        )


def _remove(part: Any, key: Any) -> None:
    if isinstance(part, Table):
        del part[key]
    elif not isinstance(part, DenseVector | DenseMatrix):
        part[key] = 0.0
