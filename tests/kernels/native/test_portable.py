"""Rows that cross address spaces: blocks, shares and boxes as plain buffers."""

from __future__ import annotations

import gc
import multiprocessing
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anabranch as ab
from anabranch.kernels.native.blocks import Block, block_of
from anabranch.kernels.native.portable import pack_block, pack_box, unpack_block, unpack_box
from anabranch.kernels.native.shares import Share
from anabranch.kernels.native.stages import Box, gathered
from anabranch.lang.annotations import parse
from anabranch.lang.types import FLOAT, INT, STR
from tests.kernels.native.flat import PASSED, VALUES, Deep, Point, assert_alike, floats
from tests.kernels.native.spaces import Space, over_the_wire, routing_of, wipe

few = settings(max_examples=settings().max_examples // 5)
ALL: dict[Any, st.SearchStrategy[Any]] = {
    **VALUES,
    **PASSED,
    date: st.dates(),
    datetime: st.datetimes(),
    ab.UTCDateTime: st.datetimes(timezones=st.just(UTC)),
    timedelta: st.timedeltas(timedelta(days=-(10**6)), timedelta(days=10**6)),
    list[date | None]: st.lists(st.none() | st.dates(), max_size=3),
    ab.DenseVector: st.lists(floats, max_size=4).map(ab.DenseVector),
    list[ab.DenseVector]: st.lists(st.lists(floats, max_size=2).map(ab.DenseVector), max_size=3),
    list[list[list[str]]]: st.lists(st.lists(st.lists(VALUES[str], max_size=2), max_size=2), max_size=2),
    list[list[Deep]]: st.lists(st.lists(VALUES[Deep], max_size=2), max_size=2),
}


def assert_same_rows(found: Any, rows: list[tuple[Any, ...]]) -> None:
    assert len(found) == len(rows)
    assert_alike(list(found), rows)


@pytest.mark.parametrize("kind", list(ALL), ids=str)
@few
@given(data=st.data())
def test_blocks_of_every_type(kind: Any, data: st.DataObject) -> None:
    rows = data.draw(st.lists(st.tuples(ALL[kind], VALUES[int], ALL[kind]), max_size=6))
    types = (parse(kind), INT, parse(kind))
    block = block_of(types, rows)
    packed = pack_block(block)
    assert all(type(x) is int or x.flags.c_contiguous for x in packed)
    assert_same_rows(unpack_block(types, packed), rows)
    arrived = over_the_wire(packed)
    wipe(block)
    del block, packed
    gc.collect()
    found = unpack_block(types, arrived)
    assert type(found) is Block
    assert_same_rows(found, rows)
    assert_same_rows(unpack_block(types, over_the_wire(pack_block(found))), rows)


@given(st.data(), st.lists(st.sampled_from(list(ALL)), max_size=3))
def test_shares_keep_their_sequence_numbers(data: st.DataObject, kinds: list[Any]) -> None:
    rows = data.draw(st.lists(st.tuples(*(ALL[k] for k in kinds)), max_size=6))
    types = tuple(map(parse, kinds))
    sequences = np.cumsum(data.draw(st.lists(st.integers(1, 2**40), min_size=len(rows), max_size=len(rows))))
    block = block_of(types, rows)
    share = Share(types, block.columns, len(rows), block.kept, sequences=sequences.astype(np.int64))
    assert_same_rows(share, rows)
    found = unpack_block(types, over_the_wire(pack_block(share)))
    assert isinstance(found, Share) and found.sequences.tolist() == sequences.tolist()
    assert_same_rows(found, rows)
    for i in range(-len(rows), len(rows)):
        assert_alike(found[i], rows[i])
    assert_alike(found[1:3], tuple(rows[1:3]))


def test_words_are_the_same_bit_by_bit() -> None:
    bits = np.array([0x7FF8_0000_0000_0001, -1, 1 << 63 - 1, 0], dtype=np.int64)
    strided = np.stack([bits, bits[::-1]], axis=1)
    once = np.broadcast_to(np.int64(7), 4)
    block = Block((FLOAT, INT, INT), (strided[:, 0].view(np.float64), strided[:, 1], once), 4)
    found = unpack_block(block.types, over_the_wire(pack_block(block)))
    assert [c.view(np.int64).tolist() for c in found.columns] == [bits.tolist(), bits[::-1].tolist(), [7] * 4]
    assert [c.dtype for c in found.columns] == [np.float64, np.int64, np.int64]


@pytest.mark.parametrize("kind", [str | None, list[str] | None, tuple[int, list[Point]] | None], ids=str)
def test_what_is_none_may_refer_to_anything(kind: Any) -> None:
    t = parse(kind)
    block = block_of((t,), [(None,), (None,)])
    nonsense = [np.full(2, 12345, dtype=np.int64) for _ in block.columns[1:]]
    packed = pack_block(Block((t,), (block.columns[0], *nonsense), 2))
    assert list(unpack_block((t,), over_the_wire(packed))) == [(None,), (None,)]


# -- damage -----------------------------------------------------------------------------------------------------------


@given(st.data(), st.sampled_from([str, list[str], list[list[int]], str | None, Deep, int]))
def test_damaged_data_is_refused(data: st.DataObject, kind: Any) -> None:
    t = parse(kind)
    rows = data.draw(st.lists(st.tuples(ALL[kind]), min_size=1, max_size=5))
    packed = over_the_wire(pack_block(block_of((t,), rows)))
    at = data.draw(st.integers(0, len(packed) - 1))
    part = packed[at]
    choices: list[list[Any]] = [packed[:at], [*packed[:at], *packed[at + 1 :]], [*packed, b""], [*packed[:at], "x"]]
    if isinstance(part, int):
        choices += [[*packed[:at], n, *packed[at + 1 :]] for n in (part + 1, -1, 2**63)]
    else:
        choices += [[*packed[:at], bytes(part) + b"\0", *packed[at + 1 :]]]
        choices += [[*packed[:at], bytes(part)[:-1], *packed[at + 1 :]]] if len(part) else []
    with pytest.raises(ValueError, match="packed rows are"):
        unpack_block((t,), data.draw(st.sampled_from(choices)))


@pytest.mark.parametrize("sizes", [[-1, 4], [4, -1], [2, 2], [3, 1 << 62], [2**63 - 1, 2**63 - 1], [2**62] * 2])
def test_sizes_that_name_other_memory_are_refused(sizes: list[int]) -> None:
    packed = [0, 2, np.array(sizes, dtype=np.int64), b"abc"]
    with pytest.raises(ValueError, match="packed rows are"):
        unpack_block((STR,), packed)


def test_sums_that_overflow_are_refused() -> None:
    sizes = np.array([2**62] * 4 + [3], dtype=np.int64)  # add up to 3
    with pytest.raises(ValueError, match="packed rows are damaged"):
        unpack_block((STR,), [0, 5, sizes, b"abc"])


# -- boxes ------------------------------------------------------------------------------------------------------------


class Books(ab.Program):
    """Rows travel with text, lists, optional values and a variable that may be unset."""

    of_shelf: ab.Partitioned[ab.Table[str, list[str]]]
    lent: ab.Partitioned[ab.Table[str, int]] = ab.Table(default=0)
    points: ab.Partitioned[ab.Table[int, tuple[str, float | None]]]

    def put(self, shelf: str, titles: list[str], note: str | None, at: date) -> int:
        known = self.of_shelf.get(shelf, [])
        for title in titles:
            known = known + [title.upper()]
        self.of_shelf[shelf] = known
        number = len(known) + len(note or "")
        kept, when = note, at
        self.points[number % 17] = (f"{kept} {when.year} {known[-1] if known else '-'}", number / 2 if note else None)
        return number

    def read(self, shelf: str, others: list[str]) -> list[str]:
        found = self.of_shelf.get(shelf, [])
        for title in others:
            self.lent[title] += len(found)
        return found + others

    def point(self, number: int) -> tuple[str, float | None]:
        return self.points.get(number % 17, ("none", None))


def rows_of(count: int) -> dict[str, list[tuple[Any, ...]]]:
    titles = [[f"tïtle {j}" * (j % 3) for j in range(i % 4)] for i in range(count)]
    notes = [None if i % 3 else "n" * (i % 5) for i in range(count)]
    days = [date(2000 + i % 30, 1, 1) for i in range(count)]
    shelves = [f"shelf {i % 13}" for i in range(count)]
    return {
        "put": list(zip(shelves, titles, notes, days, strict=True)),
        "read": list(zip(shelves, titles, strict=True)),
        "point": [(i,) for i in range(count)],
    }


@pytest.fixture(scope="module")
def expected() -> list[list[Any]]:
    plain = Books()
    return [[getattr(plain, name)(*row) for row in rows] for name, rows in rows_of(300).items()]


@pytest.mark.parametrize("routing", [(0, 0), (0, 1), (0, 1, 0, 2, 2)], ids=str)
def test_boxes_run_on_where_they_arrive(routing: tuple[int, ...], expected: list[list[Any]]) -> None:
    entries = rows_of(300)
    space = Space(Books(), routing_of(*routing), list(entries))
    assert space.runner.plan("put").stages == 2
    sequence = 1000
    for (name, rows), wanted in zip(entries.items(), expected, strict=True):
        kernels = space.kernels[name]
        assert kernels is not None
        block = block_of(kernels[0].types, rows)
        sources = space.shares(name, block, sequence)
        wipe(block)
        del block
        gc.collect()
        assert_alike(space.run(name, sources, sequence, len(rows), True), wanted)
        sequence += len(rows)


def _go_on(packed: list[list[Any]], count: int) -> tuple[list[list[Any]], list[Any]]:
    """The second stage of `put` in a process of its own, and what its state is then."""
    space = Space(Books(), routing_of(0, 1), ["put", "point"])
    boxes = [unpack_box(space.graph, INT, p) for p in packed]
    found = [b for i in range(2) for b in space.run_stage("put", 1, i, [b for b in boxes if b.instance == i], 0)]
    points = block_of((INT,), [(i,) for i in range(17)])
    return [over_bytes(pack_box(space.graph, INT, b)) for b in found], space.run("point", [points] * 2, count, 17, True)


def over_bytes(packed: list[Any]) -> list[Any]:
    return [x if isinstance(x, int) else bytes(x) for x in packed]


def test_boxes_run_on_in_another_process(expected: list[list[Any]]) -> None:
    rows = rows_of(300)["put"]
    space = Space(Books(), routing_of(0, 1), ["put"])
    graph, block = space.graph, block_of(tuple(p.type for p in space.graph.entry("put").parameters), rows)
    sources = space.shares("put", block, 0)
    boxes = [b for i in range(2) for b in space.run_stage("put", 0, i, sources[i], 0)]
    assert all(b.flow >= 0 for b in boxes)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        packed, points = pool.apply(_go_on, ([over_bytes(pack_box(graph, INT, b)) for b in boxes], 300))
    numbers = [unpack_box(graph, INT, p) for p in packed]
    assert list(gathered(INT, 0, 300, numbers)) == expected[0]
    assert_alike(points, expected[2][:17])


def test_damaged_boxes_are_refused() -> None:
    space = Space(Books(), routing_of(0, 1), ["put"])
    graph = space.graph
    block = block_of(tuple(p.type for p in graph.entry("put").parameters), rows_of(20)["put"])
    box = space.run_stage("put", 0, 0, block, 0)[0]
    packed = over_bytes(pack_box(graph, INT, box))
    assert len(unpack_box(graph, INT, packed)) == len(box)
    damaged = [
        packed[:-1],
        [*packed, 1],
        [99, *packed[1:]],
        [-2, *packed[1:]],
        [*packed[:2], len(box) + 1, *packed[3:]],
    ]
    damaged.append([*packed[:3], packed[3][:-8], *packed[4:]])
    for wrong in damaged:
        with pytest.raises(ValueError, match="packed rows are"):
            unpack_box(graph, INT, wrong)
    results = Box(-1, 0, np.zeros((2, 2), dtype=np.int64), None)
    assert unpack_box(graph, INT, pack_box(graph, INT, results)).rows.tolist() == [[0, 0], [0, 0]]
    with pytest.raises(ValueError, match="type is not known"):
        pack_box(graph, None, results)
