"""A program that is fed in every kind of way."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa

import anabranch as ab
from anabranch.lang.arrow import arrow_array, arrow_field
from anabranch.lang.spec import describe
from anabranch.lang.types import Record


class Total(NamedTuple):
    word: str
    total: int


@dataclass(frozen=True)
class Event:
    word: str
    by: int = 1


class Rich(NamedTuple):
    """A field of every type."""

    n: int
    x: float
    yes: bool
    text: str
    data: bytes
    day: dt.date
    when: dt.datetime
    utc: ab.UTCDateTime
    span: dt.timedelta
    maybe: int | None
    pair: tuple[int, str]
    event: Event
    words: list[str]
    counts: dict[str, int]
    members: set[int]
    sparse: ab.Vector
    dense: ab.DenseVector


class Accepting(ab.Program):
    totals: ab.Partitioned[ab.Table[str, int]] = ab.Table(default=0)
    richest: ab.Partitioned[ab.Table[int, Rich]]

    def add(self, word: str, by: int = 1) -> int:
        self.totals[word] += by
        return self.totals[word]

    def look(self, word: str) -> Total:
        return Total(word, self.totals[word])

    def forget(self, word: str) -> None:
        self.totals.pop(word, 0)

    def see(self, event: Event) -> Total:
        self.totals[event.word] += event.by
        return Total(event.word, self.totals[event.word])

    def halve(self, n: int | None) -> int | None:
        if n is None:
            return None
        return n // 2

    def keep(self, rich: Rich) -> Rich:
        self.richest[rich.n] = rich
        return self.richest[rich.n]

    def tick(self) -> int:
        self.totals["tick"] += 1
        return self.totals["tick"]


NOON = dt.datetime(2026, 3, 1, 12, 30, 15, 123456)
RICH = [
    Rich(
        i, x, i == 1, "čaj" * i, b"\x00\xff" * i, NOON.date(), NOON, NOON.replace(tzinfo=dt.UTC),
        dt.timedelta(-i, 5, 7), None if i else 2**53 + 1, (i, "p"), Event("w", i), ["a"] * i, {"k": i} if i else {},
        {i, -i}, ab.Vector({i + 1: 0.5}), ab.DenseVector([x] * i),
    )
    for i, x in enumerate([0.1, float("nan"), -0.0])
]  # fmt: skip


def rich_table() -> pa.Table:
    record = describe(Accepting).entries["keep"].result
    assert isinstance(record, Record)
    columns = [arrow_array(t, [getattr(rich, name) for rich in RICH]) for name, t in record.fields]
    return pa.Table.from_arrays(columns, schema=pa.schema([arrow_field(name, t) for name, t in record.fields]))
