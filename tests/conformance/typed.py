"""A program with an entry for every kind of value type, each of which leaves traces in three states."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Any, NamedTuple

import anabranch as ab


class Pair(NamedTuple):
    n: int
    name: str


@dataclass(frozen=True)
class Box:
    n: int
    weight: float = 1.0

    def __post_init__(self) -> None:
        if isinstance(self.n, int) and self.n < 0:
            raise LookupError("a box has no negative number")


class Booking(NamedTuple):
    key: int
    room: str
    nights: int = 1


class Typed(ab.Program):
    seen: ab.Partitioned[ab.Table[int, int]] = ab.Table(default=0)
    calls: ab.Partial[ab.Value[int]] = ab.partial(ab.Value(0), merge=ab.add)
    ints: ab.Partitioned[ab.Table[int, int]]
    floats: ab.Partitioned[ab.Table[int, float]]
    bools: ab.Partitioned[ab.Table[int, bool]]
    strs: ab.Partitioned[ab.Table[int, str]]
    byteses: ab.Partitioned[ab.Table[int, bytes]]
    datetimes: ab.Partitioned[ab.Table[int, dt.datetime]]
    utcs: ab.Partitioned[ab.Table[int, ab.UTCDateTime]]
    dates: ab.Partitioned[ab.Table[int, dt.date]]
    timedeltas: ab.Partitioned[ab.Table[int, dt.timedelta]]
    optionals: ab.Partitioned[ab.Table[int, int | None]]
    tuples: ab.Partitioned[ab.Table[int, tuple[int, str]]]
    pairs: ab.Partitioned[ab.Table[int, Pair]]
    boxes: ab.Partitioned[ab.Table[int, Box]]
    lists: ab.Partitioned[ab.Table[int, list[int]]]
    dicts: ab.Partitioned[ab.Table[int, dict[int, float]]]
    sets: ab.Partitioned[ab.Table[int, set[int]]]
    vectors: ab.Partitioned[ab.Table[int, ab.Vector]]
    denses: ab.Partitioned[ab.Table[int, ab.DenseVector]]
    nesteds: ab.Partitioned[ab.Table[int, list[tuple[str, Pair | None]]]]
    rooms: ab.Partitioned[ab.Table[int, str]]

    def put_int(self, key: int, x: int) -> int:
        self.ints[key] = x
        return self._see(key)

    def put_float(self, key: int, x: float) -> int:
        self.floats[key] = x
        return self._see(key)

    def put_bool(self, key: int, x: bool) -> int:
        self.bools[key] = x
        return self._see(key)

    def put_str(self, key: int, x: str) -> int:
        self.strs[key] = x
        return self._see(key)

    def put_bytes(self, key: int, x: bytes) -> int:
        self.byteses[key] = x
        return self._see(key)

    def put_datetime(self, key: int, x: dt.datetime) -> int:
        self.datetimes[key] = x
        return self._see(key)

    def put_utc(self, key: int, x: ab.UTCDateTime) -> int:
        self.utcs[key] = x
        return self._see(key)

    def put_date(self, key: int, x: dt.date) -> int:
        self.dates[key] = x
        return self._see(key)

    def put_timedelta(self, key: int, x: dt.timedelta) -> int:
        self.timedeltas[key] = x
        return self._see(key)

    def put_optional(self, key: int, x: int | None) -> int:
        self.optionals[key] = x
        return self._see(key)

    def put_tuple(self, key: int, x: tuple[int, str]) -> int:
        self.tuples[key] = x
        return self._see(key)

    def put_pair(self, key: int, x: Pair) -> int:
        self.pairs[key] = x
        return self._see(key)

    def put_box(self, key: int, x: Box) -> int:
        self.boxes[key] = x
        return self._see(key)

    def put_list(self, key: int, x: list[int]) -> int:
        self.lists[key] = x
        return self._see(key)

    def put_dict(self, key: int, x: dict[int, float]) -> int:
        self.dicts[key] = x
        return self._see(key)

    def put_set(self, key: int, x: set[int]) -> int:
        self.sets[key] = x
        return self._see(key)

    def put_vector(self, key: int, x: ab.Vector) -> int:
        self.vectors[key] = x
        return self._see(key)

    def put_dense(self, key: int, x: ab.DenseVector) -> int:
        self.denses[key] = x
        return self._see(key)

    def put_nested(self, key: int, x: list[tuple[str, Pair | None]]) -> int:
        self.nesteds[key] = x
        return self._see(key)

    def book(self, booking: Booking) -> int:
        self.rooms[booking.key] = booking.room * booking.nights
        return self._see(booking.key)

    def _see(self, key: int) -> int:
        self.seen[key] += 1
        count = self.seen[key]
        self.calls.value += 1
        return count


NOON = dt.datetime(2026, 3, 1, 12)
UTC_NOON = NOON.replace(tzinfo=dt.UTC)
# Three values that each entry takes as its `x`; the first fits every Arrow type that may hold it.
GOOD: dict[str, tuple[Any, Any, Any]] = {
    "put_int": (0, -(2**63), 2**63 - 1),
    "put_float": (2.0, float("nan"), -0.0),
    "put_bool": (True, False, True),
    "put_str": ("", "tea", "čaj 茶"),
    "put_bytes": (b"", b"\xff\x00", b"tea"),
    "put_datetime": (NOON, dt.datetime.min, dt.datetime.max),
    "put_utc": (UTC_NOON, dt.datetime.min.replace(tzinfo=dt.UTC), dt.datetime.max.replace(tzinfo=dt.UTC)),
    "put_date": (NOON.date(), dt.date.min, dt.date.max),
    "put_timedelta": (dt.timedelta(0), dt.timedelta(-5, 1, 2), dt.timedelta(days=10**8)),
    "put_optional": (None, 7, -1),
    "put_tuple": ((1, "a"), (2, ""), (-3, "c")),
    "put_pair": (Pair(1, "a"), Pair(2, ""), Pair(-3, "c")),
    "put_box": (Box(1), Box(2, 0.5), Box(3, float("inf"))),
    "put_list": ([], [1], [3, 2, 1]),
    "put_dict": ({}, {1: 0.5}, {2: 1.0, 1: float("nan")}),
    "put_set": (set(), {1}, {3, 2, 1}),
    "put_vector": (ab.Vector(), ab.Vector({1: 0.5}), ab.Vector({7: 1.0, 3: -2.5})),
    "put_dense": (ab.DenseVector([]), ab.DenseVector([0.5]), ab.DenseVector([1.0, float("nan")])),
    "put_nested": ([], [("a", None)], [("b", Pair(1, "x")), ("c", None)]),
}  # fmt: skip
STATE_OF = dict(zip([*GOOD, "book"], list(Typed.__annotations__)[2:], strict=True))
