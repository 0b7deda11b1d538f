"""Kernels that leave rows in the middle of a batch, and memory that grows there: nobody can tell."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anabranch as ab
from anabranch.kernels.native import running, stores
from tests.kernels.native.flat import assert_alike

BIG = 2**40  # its square is no 64-bit integer: a kernel leaves such a row
SIZES = {"FIRST_ENTRIES": 2, "FIRST_HEAP": 32, "FIRST_LOG": 16, "SCRATCH": 256, "KEPT": 256}


class Ledger(ab.Program):
    sums: ab.Partitioned[ab.Table[int, int]]
    names: ab.Partitioned[ab.Table[str, str]]
    seen: ab.Partitioned[ab.Table[str, list[str]]]
    cells: ab.Partitioned[ab.Matrix]

    def add(self, key: int, a: int, b: int) -> int:
        step = (a * b) % 1009
        self.sums[key] = self.sums.get(key, 0) + step
        return self.sums[key]

    def take(self, key: int, least: int) -> int:
        found = self.sums.pop(key)
        if found < least:
            raise ValueError(f"{found} is below {least}")
        return found

    def rename(self, key: str, to: str) -> str:
        before = self.names.get(key, "nobody")
        self.names[key] = to.upper()
        return before + " is " + to

    def see(self, key: str, line: str) -> list[str]:
        words = self.seen.get(key, [])
        if len(words) > 600:
            words = []
        for word in line.split():
            words = words + [word]
        self.seen[key] = words
        return words

    def mark(self, row: int, column: int, weight: float) -> float:
        self.cells[row, column] = self.cells[row, column] + weight
        total = 0.0
        for _, x in self.cells.row(row).items():
            total += x
        return total


COMPILED = ["add", "take", "rename", "see", "mark"]


@pytest.fixture(scope="module", autouse=True)
def small() -> Iterator[None]:
    """Little memory at first, so that all of it grows within a batch."""
    with pytest.MonkeyPatch.context() as patch:
        for name, size in SIZES.items():
            patch.setattr(stores if name.startswith("FIRST") else running, name, size)
        yield


@pytest.fixture(scope="module")
def apps() -> Iterator[tuple[Any, Any]]:
    with ab.run(Ledger(), workers=1, tier="compiled") as fast, ab.run(Ledger(), workers=1, tier="python") as slow:
        assert [name for name in COMPILED if not fast._engine.tiers.is_fast(name)] == []
        yield fast, slow


def both(apps: tuple[Any, Any], entry: str, batch: Any) -> Any:
    """The results of a batch, or what it raises with its notes: the same of both tiers, and the same state after it."""
    found: list[Any] = []
    for app in apps:
        try:
            found.append(getattr(app, entry).many(batch))
        except Exception as error:
            found.append((type(error), error.args, error.__notes__))
    fast, slow = [x.to_pylist() if isinstance(x, pa.Table) else x for x in found]
    assert_alike(fast, slow)
    assert_alike(*(contents(app) for app in apps))
    return slow


def contents(app: Any) -> dict[str, Any]:
    return {name: dict(sorted(app.state[name].items())) for name in ("sums", "names", "seen", "cells")}


def columns(entry: str, rows: list[tuple[Any, ...]]) -> dict[str, list[Any]]:
    names = {"add": "key a b", "take": "key least", "rename": "key to", "see": "key line", "mark": "row column weight"}
    return {name: [row[i] for row in rows] for i, name in enumerate(names[entry].split())}


ROWS: dict[str, st.SearchStrategy[tuple[Any, ...]]] = {
    "add": st.tuples(st.integers(0, 20), st.sampled_from([1, 5, BIG]), st.sampled_from([3, BIG, -BIG])),
    "take": st.tuples(st.integers(0, 20), st.sampled_from([0, 0, 0, 0, 0, 500])),
    "rename": st.tuples(st.sampled_from("abcdé"), st.sampled_from(["x", "ß", "a long name", "İ", "name"])),
    "see": st.tuples(st.sampled_from("abc"), st.sampled_from(["", "one", "two words", " é  ü "])),
    "mark": st.tuples(st.integers(-2, 2), st.integers(-40, 40), st.sampled_from([1.0, -1.0, 0.5, 1e300])),
}


@settings(max_examples=settings().max_examples // 2)
@given(st.data())
def test_any_batches(apps: tuple[Any, Any], data: st.DataObject) -> None:
    for _ in range(data.draw(st.integers(1, 3))):
        entry = data.draw(st.sampled_from(COMPILED))
        some = data.draw(st.lists(ROWS[entry], min_size=1, max_size=8))
        rows = some * data.draw(st.sampled_from([1, 1, 20]))  # through the buffers of calls, and as a block
        batch: Any = columns(entry, rows)
        match data.draw(st.integers(0, 2)):
            case 1:
                batch = pa.table(batch)
            case 2:
                batch = rows
        both(apps, entry, batch)


def test_python_rows_stand_in_their_place(apps: tuple[Any, Any]) -> None:
    rows = [(i % 7, BIG if i % 3 == 0 else 1, BIG if i % 2 == 0 else i) for i in range(5000)]
    results = both(apps, "add", columns("add", rows))["result"]
    plain = Ledger()
    before = both(apps, "add", columns("add", [(k, 0, 0) for k in range(7)]))["result"]
    expected = [plain.add(*row) for row in rows]
    shift = [before[k] - plain.sums[k] for k in range(7)]
    assert results == [x + shift[k] for x, (k, _, _) in zip(expected, rows, strict=True)]
    texts = [(str(i % 11), "é" * (i % 4) + str(i)) for i in range(3000)]
    results = both(apps, "rename", columns("rename", texts))["result"]
    assert results[-1] == f"{texts[-12][1].upper()} is {texts[-1][1]}"


def test_all_memory_grows_within_a_batch(apps: tuple[Any, Any]) -> None:
    both(apps, "add", columns("add", [(1000 + i, 1, i) for i in range(5000)]))
    both(apps, "rename", columns("rename", [(f"key {i}", "x" * (i % 300)) for i in range(3000)]))
    both(apps, "see", columns("see", [(f"reader {i % 5}", "so many words " * (i % 40)) for i in range(200)]))
    both(apps, "mark", columns("mark", [(i % 3, i if i % 2 else -i * 1000, 1.0) for i in range(4000)]))
    both(apps, "take", columns("take", [(1000 + i, 0) for i in range(5000)]))


@pytest.mark.parametrize("size", [10, 3000])
@pytest.mark.parametrize("at", [0, 1, -1])
def test_a_row_that_fails_is_named_and_nothing_stays(apps: tuple[Any, Any], size: int, at: int) -> None:
    both(apps, "add", columns("add", [(i, 1, 7) for i in range(size)]))
    before = contents(apps[0])
    rows: list[tuple[Any, ...]] = [(i, 0) for i in range(size)]
    rows[at] = (-1, 0)
    error, args, notes = both(apps, "take", columns("take", rows))
    assert (error, args) == (KeyError, (-1,)) and f"row {at % size}" in "\n".join(notes)
    rows[at] = (size // 2, 10**6)
    error, args, notes = both(apps, "take", pa.table(columns("take", rows)))
    assert issubclass(error, ValueError | KeyError) and notes
    assert_alike(contents(apps[0]), before)
    rows = [(i, BIG, BIG) for i in range(size)]
    rows[at] = (0, 2**63 - 1, 1)
    both(apps, "add", columns("add", rows))


def test_an_overflow_of_state_fails_alike(apps: tuple[Any, Any]) -> None:
    class Total(ab.Program):
        total: ab.Partitioned[ab.Table[int, int]] = ab.Table(default=0)

        def add(self, key: int, by: int) -> int:
            self.total[key] += by
            return self.total[key]

    with ab.run(Total(), workers=1, tier="compiled") as fast, ab.run(Total(), workers=1, tier="python") as slow:
        assert fast._engine.tiers.is_fast("add")
        for rows in ([1] * 100, [2**62] * 100, [-5] * 70, [2**63 - 1, 1]):
            found = []
            for app in (fast, slow):
                try:
                    found.append(app.add.many({"key": [0] * len(rows), "by": rows}))
                except OverflowError as error:
                    found.append((error.args, error.__notes__))
            assert found[0] == found[1]
            assert fast.state.total.items() == slow.state.total.items()
