"""Rows that several threads pour into a table leave what is left if they are filled in one after the other."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anabranch as ab
from anabranch.kernels.native import pouring
from anabranch.kernels.native.pouring import Pouring, can_pour
from anabranch.kernels.native.restoring import fill
from anabranch.kernels.native.saving import Slices
from anabranch.lang.annotations import parse
from tests.kernels.native.flat import allocated, table
from tests.kernels.native.test_restoring import batch
from tests.kernels.native.test_saving import Saved, assert_same, state_of

TYPES: dict[str, tuple[Any, Any]] = {
    "numbers": (int, float),
    "tuples": (tuple[int, bool], tuple[float, int | None]),
}


def saved_of(kind: str) -> Saved:
    key, value = TYPES[kind]
    saved = Saved(table(key, value, {}), state_of(ab.Table, parse(key), parse(value)))
    saved.arena.logging = False
    return saved


def content(kind: str, rows: int, chance: random.Random) -> dict[Any, Any]:
    keys = chance.sample(range(-(10**12), 10**12), rows)
    if kind == "numbers":
        return {key: chance.random() for key in keys}
    return {(key, chance.random() < 0.5): (chance.random(), chance.choice([None, key])) for key in keys}


def pour(saved: Saved, pieces: list[pa.RecordBatch], threads: int, chance: random.Random) -> None:
    """The pieces, in any order."""
    into = Pouring(saved.part, sum(map(len, pieces)))
    first, starts = 0, []
    for piece in pieces:
        starts.append((first, piece))
        first += len(piece)
    chance.shuffle(starts)
    with ThreadPoolExecutor(threads) as pool:
        for job in [pool.submit(into.put, *start) for start in starts]:
            job.result()
        into.index(pool, threads)


@settings(max_examples=25, deadline=None)
@given(
    kind=st.sampled_from(sorted(TYPES)),
    rows=st.sampled_from([0, 1, 7, 500, 20_000, 70_000]),
    pieces=st.integers(1, 5),
    threads=st.integers(1, 3),
    seed=st.integers(0, 1 << 30),
)
def test_what_is_poured_is_what_is_filled(kind: str, rows: int, pieces: int, threads: int, seed: int) -> None:
    chance = random.Random(seed)
    wanted = content(kind, rows, chance)
    whole = batch(saved_of(kind).state, list(wanted.items()), [True] * rows)
    cuts = sorted(chance.randrange(rows + 1) for _ in range(pieces - 1))
    given_pieces = [whole.slice(a, b - a) for a, b in zip([0, *cuts], [*cuts, rows], strict=True)]
    poured, filled = saved_of(kind), saved_of(kind)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pouring, "SHARE", 1)  # else only what is very large is shared
        pour(poured, given_pieces, threads, chance)
    fill(filled.part, whole, distinct=True)
    assert_same(poured.part, table(*TYPES[kind], wanted))
    assert [*poured.part._data.items()] == [*filled.part._data.items()]  # also in order
    held = poured.part.store
    assert (held.used, held.live, held.nbytes) == (rows, rows, allocated(held))
    assert all(poured.part[key] == value for key, value in chance.sample([*wanted.items()], min(rows, 200)))
    assert all(key not in poured.part for key in content(kind, 50, chance))


def test_what_was_poured_goes_on_as_any_table() -> None:
    chance, saved = random.Random(3), saved_of("numbers")
    wanted = content("numbers", 40_000, chance)
    pour(saved, [batch(saved.state, list(wanted.items()), [True] * len(wanted))], 2, chance)
    saved.arena.logging = True
    for key in chance.sample(sorted(wanted), 5_000):
        del saved.part[key]
        del wanted[key]
    more = content("numbers", 30_000, chance)
    for key, value in more.items():
        saved.part[key] = value
    assert_same(saved.part, table(int, float, wanted | more))
    saved.arena.clear()
    saved.part.store.compact()
    found: list[Any] = []
    walk = Slices(saved.part)
    while (rows := walk.take(1 << 14)) is not None:
        found += zip(rows.column(0).to_pylist(), rows.column(1).to_pylist(), strict=True)
    assert dict(found) == wanted | more


def test_what_cannot_be_poured() -> None:
    words = Saved(table(str, int, {}), state_of(ab.Table, parse(str), parse(int)))
    assert not can_pour(words.part)
    full = saved_of("numbers")
    full.part[1] = 1.0
    assert not can_pour(full.part)
    with pytest.raises(AssertionError, match="no table that rows can be poured into"):
        Pouring(full.part, 3)


def test_rows_that_are_not_as_was_said() -> None:
    saved = saved_of("numbers")
    into = Pouring(saved.part, 2)
    with pytest.raises(ValueError, match="expected 2 rows that are all present"):
        into.put(0, batch(saved.state, [(1, 1.0), (2, 2.0), (3, 3.0)], [True] * 3))
    with pytest.raises(ValueError, match="expected 2 rows that are all present"):
        into.put(0, batch(saved.state, [(1, 1.0), (2, 2.0)], [True, False]))
