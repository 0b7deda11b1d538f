"""Rows that several threads pour into a table leave what is left if they are filled in one after the other."""

from __future__ import annotations

import random
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anabranch as ab
from anabranch.kernels.native import pouring
from anabranch.kernels.native.pouring import Piece, Pouring, can_pour
from anabranch.kernels.native.restoring import fill
from anabranch.kernels.native.saving import Slices
from anabranch.lang.annotations import parse
from anabranch.lang.keys import BUCKETS, bucket
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


def pour(parts: dict[int, Any], owners: Sequence[int], pieces: list[Piece], threads: int) -> None:
    with ThreadPoolExecutor(threads) as pool:
        Pouring(parts, owners, pool, threads).pour(pieces)


def cut(whole: pa.RecordBatch, pieces: int, instance: int | None, chance: random.Random) -> list[Piece]:
    """Pieces of some batches each."""
    cuts = sorted(chance.randrange(len(whole) + 1) for _ in range(2 * pieces - 1))
    batches = [whole.slice(a, b - a) for a, b in pairwise([0, *cuts, len(whole)])]
    return [Piece(partial(iter, batches[2 * i : 2 * i + 2]), instance) for i in range(pieces)]


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
    poured, filled = saved_of(kind), saved_of(kind)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pouring, "STRETCH", 15)  # else only what is very large has several
        pour({4: poured.part}, [1] * BUCKETS, cut(whole, pieces, 4, chance), threads)
    fill(filled.part, whole, distinct=True)
    assert_same(poured.part, table(*TYPES[kind], wanted))
    assert [*poured.part._data.items()] == [*filled.part._data.items()]  # also in order
    held = poured.part.store
    assert (held.used, held.live, held.nbytes) == (rows, rows, allocated(held))
    assert all(poured.part[key] == value for key, value in chance.sample([*wanted.items()], min(rows, 200)))
    assert all(key not in poured.part for key in content(kind, 50, chance))


@settings(max_examples=15, deadline=None)
@given(
    kind=st.sampled_from(sorted(TYPES)),
    rows=st.sampled_from([0, 1, 7, 500, 30_000]),
    instances=st.integers(1, 4),
    hosted=st.sets(st.integers(0, 3)),
    pieces=st.integers(1, 5),
    seed=st.integers(0, 1 << 30),
)
def test_rows_are_poured_into_the_parts_of_their_owners(
    kind: str, rows: int, instances: int, hosted: set[int], pieces: int, seed: int
) -> None:
    """Also where some owners are elsewhere, and where some have nothing."""
    chance = random.Random(seed)
    owners = [chance.randrange(instances) for _ in range(BUCKETS)]
    wanted = content(kind, rows, chance)
    whole = batch(saved_of(kind).state, list(wanted.items()), [True] * rows)
    parts = {i: saved_of(kind) for i in hosted}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pouring, "STRETCH", 15)
        pour({i: saved.part for i, saved in parts.items()}, owners, cut(whole, pieces, None, chance), 2)
    for i, saved in parts.items():
        own = [(key, value) for key, value in wanted.items() if owners[bucket(key)] == i]
        assert [*saved.part._data.items()] == own
        assert all(saved.part[key] == value for key, value in own[:200])


def test_pieces_of_several_instances() -> None:
    chance, parts = random.Random(5), {i: saved_of("numbers") for i in (2, 0, 5)}
    wanted = {i: content("numbers", 1_000 * (i + 1), chance) for i in parts}
    pieces = [
        piece
        for i, saved in parts.items()
        for piece in cut(batch(saved.state, list(wanted[i].items()), [True] * len(wanted[i])), 2, i, chance)
    ]
    chance.shuffle(pieces)
    pour({i: saved.part for i, saved in parts.items()}, [0] * BUCKETS, pieces, 2)
    for i, saved in parts.items():
        assert_same(saved.part, table(int, float, wanted[i]))


def test_nothing_is_poured() -> None:
    saved = saved_of("numbers")
    pour({0: saved.part}, [0] * BUCKETS, [], 2)
    assert 1 not in saved.part
    saved.part[1] = 2.0
    assert_same(saved.part, table(int, float, {1: 2.0}))


def test_what_was_poured_goes_on_as_any_table() -> None:
    chance, saved = random.Random(3), saved_of("numbers")
    wanted = content("numbers", 40_000, chance)
    whole = batch(saved.state, list(wanted.items()), [True] * len(wanted))
    pour({0: saved.part}, [0] * BUCKETS, cut(whole, 1, None, chance), 2)
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
        pour({0: full.part}, [0] * BUCKETS, [], 1)


def test_rows_that_are_not_as_was_said() -> None:
    saved = saved_of("numbers")
    absent = batch(saved.state, [(1, 1.0), (2, 2.0)], [True, False])
    with pytest.raises(ValueError, match="expected rows that are all present"):
        pour({0: saved.part}, [0] * BUCKETS, [Piece(lambda: [absent], 0)], 1)
