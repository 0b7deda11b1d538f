"""Bad shapes: batches and calls whose columns, rows or arguments do not fit the entry, whatever their values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from tests.conformance.typed import GOOD, Booking, Box


@dataclass(frozen=True)
class Shape:
    """A request to make of an entry, and what the error has to name."""

    kind: str
    give: Callable[[Any], Any]
    row: int | None
    column: str | None
    value: Any
    shown: str
    overflow: bool = False


class Swapped(NamedTuple):
    y: Any
    key: Any


def many(
    kind: str, data: Any, row: int | None, column: str | None, value: Any, shown: str, overflow: bool = False
) -> Shape:
    return Shape(kind, lambda entry: entry.many(data), row, column, value, shown, overflow)


NO_COLUMNS: dict[str, Any] = {
    "int": 1, "str": "1", "bytes": b"1", "None": None, "set": {1}, "dict": {1: 2}, "array of no dimension": np.array(1),
    "numpy scalar": np.int64(1), "Arrow scalar": pa.scalar(1),
}  # fmt: skip
NO_BATCHES: dict[str, tuple[Any, str]] = {
    "int": (7, "batch"), "str": ("ab", "batch"), "None": (None, "batch"), "tuple": (((1, 2),), "batch"),
    "set": ({1}, "batch"), "array": (np.array([[1, 2]]), "batch"), "Arrow array": (pa.array([1]), "table"),
}  # fmt: skip


def shapes(entry: str) -> list[Shape]:
    """For an entry with the parameters `key` and `x`."""
    x = GOOD[entry][0]
    missing, takes = "missing; expected ", f"no such column; {entry} takes key, x"
    return [
        Shape("call without x", lambda e: e(1), 0, "x", None, missing),
        Shape("call without key", lambda e: e(x=x), 0, "key", None, missing),
        Shape("call with more", lambda e: e(1, x, 2), 0, None, (1, x, 2), "expected 2 (key, x), got 3 arguments"),
        Shape("call with another name", lambda e: e(1, x, y=7), 0, "y", 7, "not a parameter; expected 2 (key, x)"),
        Shape("call with one twice", lambda e: e(1, x, key=1), 0, "key", 1, "given twice, by place and by name"),
        many("no x", {"key": [1, 2]}, None, "x", None, f"{missing}"),
        many("no key", {"x": [x, x]}, None, "key", None, missing),
        many("no column", {}, None, "key", None, "got only no column"),
        many("another column", {"key": [1], "x": [x], "y": [7]}, None, "y", [7], takes),
        many("a misspelt column", {"keys": [1], "x": [x]}, None, "keys", [1], "did you mean `key`?"),
        many("a number as name", {"key": [1], 7: [x]}, None, "7", [x], takes),
        many("no x in Arrow", pa.table({"key": [1]}), None, "x", None, f"{missing}"),
        many("another in Arrow", pa.table({"key": [1], "y": [7]}), None, "y", pa.chunked_array([[7]]), takes),
        many("lengths", {"key": [1, 2], "x": [x]}, None, None, None, "differ in length: {'key': 2, 'x': 1}"),
        many("no rows of x", {"key": [1, 2], "x": []}, None, None, None, "differ in length: {'key': 2, 'x': 0}"),
        many("one name twice", pa.Table.from_arrays([pa.array([1])] * 2, ["key", "key"]), None, None, None, "one name"),
        *[
            many(
                f"{kind} as column", {"key": column, "x": [x]}, None, "key", column, "expected a column of values, got "
            )
            for kind, column in NO_COLUMNS.items()
        ],
        *[
            many(f"{kind} as batch", batch, None, None, batch, f"expected a {what}, got ")
            for kind, (batch, what) in NO_BATCHES.items()
        ],
        *[shape for position in (0, 1, 2) for shape in _rows(x, position, takes)],
    ]


def _rows(x: Any, position: int, takes: str) -> list[Shape]:
    def with_row(kind: str, row: Any, column: str | None, value: Any, shown: str) -> Shape:
        rows = [(0, x), {"key": 1, "x": x}, (2, x)]
        rows[position] = row
        return many(f"{kind} in row {position}", rows, position, column, value, shown)

    long, no_row = (1, x, 2), "expected a dict or a tuple, got "
    return [
        with_row("short tuple", (1,), "x", None, "missing; expected "),
        with_row("empty tuple", (), "key", None, "missing; expected "),
        with_row("long tuple", long, None, long, "expected 2 values (key, x), got 3; leave out the last"),
        with_row("dict without x", {"key": 1}, "x", None, "got only key"),
        with_row("dict with more", {"key": 1, "x": x, "y": 7}, "y", 7, takes),
        with_row("record of other fields", Swapped(7, 1), "y", 7, takes),
        with_row("list", [1, x], None, [1, x], no_row),
        with_row("int", 7, None, 7, no_row),
        with_row("None", None, None, None, no_row),
    ]


class Stay(NamedTuple):
    """Has the fields of `Booking` in another order, and one more."""

    nights: int
    room: str
    key: int
    guest: str


FINE = {"key": [0, 1, 2], "room": ["a", "b", "c"]}
REFUSED = "expected Booking, got "
# For `book`, whose only parameter is a record: its fields are the columns.
BOOKINGS = [
    many("no room", {"key": [1]}, None, "room", None, "missing; expected str, got only key"),
    many("another column", FINE | {"guest": ["x"] * 3}, None, "guest", ["x"] * 3, "takes key, room, nights"),
    many("record and fields", FINE | {"booking": [7] * 3}, None, "booking", [7] * 3, "no such column"),
    many("null", FINE | {"room": ["a", None, None]}, 1, "room", None, "got None; declare room: str | None"),
    many("null in Arrow", pa.table(FINE | {"room": ["a", "b", None]}), 2, "room", None, "expected str, got None"),
    many("overflow", FINE | {"nights": [1, 1, 2**63]}, 2, "nights", 2**63, "it does not fit 64 bits", True),
    many("overflow in Arrow", pa.table(FINE | {"nights": pa.array([1, 2**63, 1], pa.uint64())}), 1, "nights", 2**63,
         "it does not fit 64 bits", True),
    many("surrogate", FINE | {"room": ["\ud800", "b", "c"]}, 0, "room", "\ud800", "it has a lone surrogate"),
    many("column of records", {"booking": [Booking(1, "a"), Box(1)]}, 1, "booking", Box(1), f"{REFUSED}Box(n=1"),
    many("field of a record", {"booking": [Booking(1, 7)]}, 0, "booking", Booking(1, 7), ".room: expected str, got 7"),
    many("record row", [Booking(1, "a"), Booking(1, 7)], 1, "booking", Booking(1, 7), ".room: expected str, got 7"),
    many("other record row", [Booking(1, "a"), Stay(1, "a", 1, "x")], 1, "guest", "x", "no such column; book takes"),
    many("dataclass row", [Box(1)], 0, None, Box(1), "expected a dict or a tuple, got Box(n=1"),
    many("field of a row", [(1, "a"), (1, "a", True)], 1, "nights", True, "expected int, got True (bool)"),
    many("long row", [(1, "a", 1, 1)], 0, None, (1, "a", 1, 1), "expected 3 values (key, room, nights), got 4"),
    many("row without room", [{"key": 1}], 0, "room", None, "missing; expected str"),
    Shape("call with fields", lambda e: e(1, "a"), 0, None, (1, "a"), "expected 1 (booking), got 2 arguments"),
    Shape("call with a tuple", lambda e: e((1, "a", 1)), 0, "booking", (1, "a", 1), f"{REFUSED}(1, 'a', 1) (tuple)"),
    Shape("call with None", lambda e: e(None), 0, "booking", None, f"{REFUSED}None; declare booking: Booking | None"),
    Shape("call with a bad field", lambda e: e(Booking(1, "a", 2**63)), 0, "booking", Booking(1, "a", 2**63),
          ".nights: expected int, got 9223372036854775808 (int)", True),
]  # fmt: skip
