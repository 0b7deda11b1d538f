"""Thousands of small batches: what one of them needed makes no buffer of a later one larger."""

from __future__ import annotations

import datetime as dt
import tracemalloc
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest

import anabranch as ab
from anabranch.kernels.native.running import LARGE_SCRATCH
from tests.kernels.native.flat import assert_alike

BATCHES = 10_000  # of all programs, with one worker and with two
SIZES = (1, 63, 64, 65, 67)  # the last two do not go through the buffers of `Calls`
FLAT = 4 << 20  # bytes


class Pair(NamedTuple):
    name: str
    count: int


@dataclass(frozen=True)
class Note:
    at: dt.datetime
    words: list[str]


class Numbers(ab.Program):
    seen: ab.Partitioned[ab.Table[int, int]] = ab.Table(default=0)

    def int_(self, k: int) -> int:
        self.seen[k] = k
        return k + self.seen[k]

    def float_(self, k: int) -> float:
        self.seen[k] = k
        return self.seen[k] / 2

    def bool_(self, k: int) -> bool:
        self.seen[k] = k
        return self.seen[k] > 3

    def optional_int(self, k: int) -> int | None:
        self.seen[k] = k
        return self.seen[k] if k > 3 else None

    def none(self, k: int) -> None:
        self.seen[k] = k

    def datetime_(self, k: int) -> dt.datetime:
        self.seen[k] = k
        return dt.datetime(2024, 1, 1) + dt.timedelta(days=self.seen[k])

    def date_(self, k: int) -> dt.date:
        self.seen[k] = k
        return dt.date(2024, 1, 1) + dt.timedelta(days=self.seen[k])

    def timedelta_(self, k: int) -> dt.timedelta:
        self.seen[k] = k
        return dt.timedelta(days=self.seen[k])


class Texts(ab.Program):
    seen: ab.Partitioned[ab.Table[int, str]] = ab.Table(default="")

    def str_(self, k: int) -> str:
        self.seen[k] = "é" * k
        return self.seen[k] + "!"

    def bytes_(self, k: int) -> bytes:
        self.seen[k] = "é" * k
        return self.seen[k].encode()

    def optional_str(self, k: int) -> str | None:
        self.seen[k] = "é" * k
        return self.seen[k] + "?" if k > 3 else None

    def tuple_(self, k: int) -> tuple[str, int]:
        self.seen[k] = "é" * k
        return (self.seen[k] + "!", k)

    def named_tuple(self, k: int) -> Pair:
        self.seen[k] = "é" * k
        return Pair(self.seen[k] + "!", k)

    def record(self, k: int) -> Note:
        self.seen[k] = "é" * k
        return Note(dt.datetime(2024, 1, 1), [self.seen[k], "x"])


class Containers(ab.Program):
    seen: ab.Partitioned[ab.Table[int, list[int]]]

    def list_(self, k: int) -> list[int]:
        self.seen[k] = [k] * k
        return [*self.seen[k], 1]

    def list_of_lists(self, k: int) -> list[list[str]]:
        self.seen[k] = [k] * k
        return [[str(x)] for x in self.seen[k]]

    def dict_(self, k: int) -> dict[str, int]:
        self.seen[k] = [k] * k
        return {str(k): len(self.seen[k])}

    def set_(self, k: int) -> set[int]:
        self.seen[k] = [k] * k
        return {k, len(self.seen[k]), 7}

    def optional_list(self, k: int) -> list[int] | None:
        self.seen[k] = [k] * k
        return [*self.seen[k], 2] if k > 3 else None

    def vector(self, k: int) -> ab.Vector:
        self.seen[k] = [k] * k
        return ab.Vector({len(self.seen[k]): 1.0, 50: 2.0})

    def dense_vector(self, k: int) -> ab.DenseVector:
        self.seen[k] = [k] * k
        return ab.DenseVector([float(len(self.seen[k])), 1.0])


PROGRAMS: tuple[type[ab.Program], ...] = (Numbers, Texts, Containers)
PYTHON = {"dict_", "set_", "vector"}  # kernels have no results of these types


def batches(entry: str) -> list[dict[str, list[int]]]:
    return [{"k": [(i * 5) % 11 for i in range(size)]} for size in SIZES]


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_ten_thousand_small_batches(program: type[ab.Program], workers: int) -> None:
    names = [name for name in vars(program) if not name.startswith("_") and callable(getattr(program, name))]
    rounds = BATCHES // (2 * len(PROGRAMS) * len(names) * len(SIZES))
    with ab.run(program(), workers=workers, tier="compiled") as app:
        assert {name for name in names if not app._engine.tiers.is_fast(name)} == PYTHON & set(names)
        for name in names:
            many: Any = app.entries[name].many
            cases = [(batch, program().entries[name].many(batch)) for batch in batches(name)]
            for batch, expected in cases:
                assert_alike(many(batch), expected)
            tracemalloc.start()
            try:
                for batch, _ in cases * 20:
                    many(batch)
                assert tracemalloc.get_traced_memory()[1] < FLAT, name
            finally:
                tracemalloc.stop()
            for _ in range(rounds):
                for batch, expected in cases:
                    assert many(batch) == expected, name


class Wide(ab.Program):
    lines: ab.Partitioned[ab.Table[int, int]] = ab.Table(default=0)

    def widen(self, k: int, times: int) -> int:
        self.lines[k] = len(("line " * times).upper())
        return self.lines[k]


@pytest.mark.parametrize("workers", [1, 2])
def test_scratch_memory_of_a_large_row_is_let_go(workers: int) -> None:
    large = 2 * LARGE_SCRATCH // len("line ")
    batch = {"k": [1] * 65, "times": [1] * 64 + [large]}
    with ab.run(Wide(), workers=workers, tier="compiled") as app:
        assert app._engine.tiers.is_fast("widen")
        expected = Wide().widen.many(batch)
        tracemalloc.start()
        try:
            for _ in range(3):
                assert app.widen.many(batch) == expected
            kept, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert kept < FLAT < LARGE_SCRATCH < peak
