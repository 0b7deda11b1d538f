"""Keys in kernels: their hashes, and which of them are known before their row runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from anabranch.graph.code import Access, Apply, Body, Const, Expr, Local, free_names, walk
from anabranch.graph.liveness import assigned
from anabranch.kernels.native.memory import RING, RING_KEYS, RING_ROWS
from anabranch.kernels.native.registers import Value, items_of
from anabranch.kernels.native.shapes import Shape
from anabranch.lang import Matrix
from anabranch.lang.types import BOOL, INT, NONE, STR, Record, Tuple


def hash_of(key: Value) -> str:
    """The hash of a key, as `anabranch.lang.keys.hash_key` gives it."""
    match key.type:
        case Tuple(items):
            found = f"hash_tuple_start({len(items)})"
            for item in items_of(key):
                found = f"hash_tuple_step({found}, {hash_of(item)})"
            return found
    if key.type == INT:
        return f"hash_int({key.word})"
    if key.type == BOOL:
        return f"hash_bool({key.word})"
    return f"{'hash_text' if key.type == STR else 'hash_bytes'}({', '.join(key.words)})"


@dataclass(frozen=True, slots=True)
class Ahead:
    """A key of a state that is an input of the row: known before the row runs."""

    shape: Shape
    key: Expr


def hash_ahead(number: int) -> str:
    """Where the hash of a key that is known ahead is, for row j."""
    return f"c + {RING + 16 * RING_ROWS * number} + 8 * (j & {RING_ROWS - 1})"


def entry_ahead(number: int) -> str:
    """Where the entry is that it may have; any number below zero if there is none."""
    return f"c + {RING + 16 * RING_ROWS * number + 8 * RING_ROWS} + 8 * (j & {RING_ROWS - 1})"


def keys_ahead(shapes: Mapping[str, Shape], body: Body, given: Iterable[str]) -> list[Ahead]:
    """The states that a body reaches by keys which are inputs, or items and fields of inputs, and these keys."""
    inputs = set(given) - assigned(body)
    found: list[Ahead] = []
    for stmt in walk(body):
        if not isinstance(stmt, Access) or stmt.everywhere or not stmt.args:
            continue
        shape = shapes[stmt.state]
        key: Expr = stmt.args[0]
        if shape.cls is Matrix and isinstance(key, Apply) and key.op == "tuple" and len(key.args) == 2:
            key = key.args[0 if shape.axis == "row" else 1]
        if not shape.fits or shape.key == NONE or not _is_input(key):
            continue
        if free_names(key) and free_names(key) <= inputs and Ahead(shape, key) not in found:
            found.append(Ahead(shape, key))
    return found[:RING_KEYS]


def _is_input(key: Expr) -> bool:
    match key:
        case Local() | Const():
            return True
        case Apply("tuple", args):
            return all(map(_is_input, args))
        case Apply("[]", (of, Const())) if isinstance(of.type, Tuple | Record):
            return _is_input(of)
        case Apply(op, (of,)) if op.startswith("attr:"):
            return _is_input(of)
    return False
