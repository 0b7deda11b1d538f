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


def stable_hash_of(value: Value) -> str:
    """The result of `anabranch.lang.hashing.stable_hash`, for which a bool is an int."""
    return f"shift_right({hash_of(_without_bools(value))}, 1)"


def _without_bools(value: Value) -> Value:
    if value.type == BOOL:
        return Value(INT, (f"int({value.word})",))
    if not isinstance(value.type, Tuple | Record):
        return value
    items = [_without_bools(item) for item in items_of(value)]
    return Value(Tuple(tuple(item.type for item in items)), tuple(w for item in items for w in item.words))


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
        key, _ = _key_and_cell(shape, stmt)
        if not shape.fits or shape.key == NONE or not _is_input(key):
            continue
        if free_names(key) and free_names(key) <= inputs and Ahead(shape, key) not in found:
            found.append(Ahead(shape, key))
    return found[:RING_KEYS]


def keys_that_stay(shapes: Mapping[str, Shape], body: Body, changing: set[str]) -> list[tuple[str, str]]:
    """The states that the body of a loop reaches by variables that are the same in all its steps, and these."""
    found: dict[tuple[str, str], None] = {}
    for stmt in walk(body):
        if not isinstance(stmt, Access) or stmt.everywhere or not stmt.args:
            continue
        shape = shapes[stmt.state]
        key, _ = _key_and_cell(shape, stmt)
        if shape.fits and shape.key != NONE and isinstance(key, Local) and key.name not in changing:
            found[stmt.state, key.name] = None
    return list(found)


@dataclass(frozen=True, slots=True)
class OfStep:
    """A variable, the integer of a step of a loop, that is the key of a state; and the index of the cell, if known."""

    shape: Shape
    name: str
    cell: Expr | None


@dataclass(frozen=True, slots=True)
class OnLine:
    """A line of a matrix, the same in all steps of a loop, whose cell is that of the integer of a step."""

    shape: Shape
    key: Expr


def keys_of_steps(
    shapes: Mapping[str, Shape], body: Body, name: str, changing: set[str]
) -> tuple[list[OfStep], list[OnLine]]:
    """What the body of a loop reaches by its variable of this name; `changing` are all that change in it."""
    found: dict[str, OfStep] = {}
    lines: dict[str, OnLine] = {}

    def is_known(expr: Expr | None) -> bool:
        return isinstance(expr, Local) and expr.type == INT and not expr.multi and expr.name not in changing

    for stmt in walk(body):
        if not isinstance(stmt, Access) or stmt.everywhere or not stmt.args:
            continue
        shape = shapes[stmt.state]
        key, cell = _key_and_cell(shape, stmt)
        if not shape.fits or shape.key != INT:
            continue
        if isinstance(key, Local) and key.type == INT and key.name == name:
            found.setdefault(stmt.state, OfStep(shape, name, cell if is_known(cell) else None))
        elif is_known(key) and isinstance(cell, Local) and cell.name == name:
            lines.setdefault(stmt.state, OnLine(shape, key))
    return list(found.values()), list(lines.values())


def _key_and_cell(shape: Shape, stmt: Access) -> tuple[Expr, Expr | None]:
    """By what an access finds its entry, and of a matrix the index of the cell, where there is one."""
    key = stmt.args[0]
    if shape.cls is Matrix and isinstance(key, Apply) and key.op == "tuple" and len(key.args) == 2:
        i, j = key.args
        return (i, j) if shape.axis == "row" else (j, i)
    return key, None


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
