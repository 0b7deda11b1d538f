"""The rows that states have after a version, without the program: those of the snapshot, then the effects since.

Law: put into memory, they are what a restore gives: of each instance one row for each entry that is there. As there, a
dense part of partitioned state also has places of others.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from anabranch.state.changes import CONTENT, PRESENT
from anabranch.state.checkpoint.found import Found
from anabranch.state.checkpoint.manifests import SavedState
from anabranch.state.checkpoint.snapshots import read_chunk

Batches = list[pa.RecordBatch]
Done = Callable[[], None]
"""Told after each file of a snapshot and each frame of a log."""


def is_own(saved: SavedState) -> bool:
    """Is it of a type of the user's own? Then its rows are bytes that only the program understands."""
    return bool(saved.schema.names[0] == CONTENT)


def is_dense(saved: SavedState) -> bool:
    return not is_own(saved) and saved.type in ("DenseVector", "DenseMatrix")


def written_rows(found: Found, states: Collection[str], done: Done = lambda: None) -> dict[tuple[str, int], Batches]:
    """All rows that count of each state and instance, oldest first. They are views of the files."""
    written: dict[tuple[str, int], Batches] = {}
    for chunk in found.snapshot.chunks:
        if chunk.state in states:
            written.setdefault((chunk.state, chunk.instance), []).extend(read_chunk(found.location, chunk))
        done()
    for frame in found.frames():
        for change in frame.changes:
            if change.state in states:
                rows = written.setdefault((change.state, change.instance), [])
                if change.whole:
                    rows.clear()
                rows.append(change.rows)
        done()
    return written


def latest_rows(saved: SavedState, written: Batches) -> pa.Table:
    """One row for each entry that is there, of rows of one instance, oldest first; the columns are those of `saved`."""
    table = pa.Table.from_batches(written, saved.schema).combine_chunks()  # one epoch leaves few rows
    keys = [part for name in saved.schema.names[:-2] for part in _scalars(table[name])]
    if not keys:
        return table.slice(max(len(table) - 1, 0))  # a single value, or the content of an own type
    names = [str(i) for i in range(len(keys))]
    numbered = pa.table([*keys, pa.array(np.arange(len(table)))], [*names, "number"])
    last = numbered.group_by(names).aggregate([("number", "max")])["number_max"]
    kept = np.zeros(len(table), dtype=bool)
    kept[last.to_numpy()] = True
    table = table.filter(pa.array(kept))
    if is_dense(saved):
        return table
    table = table.filter(table[PRESENT])
    return table.filter(pc.not_equal(table["value"], 0.0)) if saved.type in ("Vector", "Matrix") else table


def _scalars(key: pa.ChunkedArray[Any]) -> list[pa.ChunkedArray[Any]]:
    """A key as columns that Arrow can compare: those of its items, if it is a tuple."""
    if not pa.types.is_struct(key.type):
        return [key]
    return [part for item in key.flatten() for part in _scalars(item)]
