"""Frames, snapshots and whole locations to test with."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from anabranch.state.changes import Change
from anabranch.state.checkpoint.generations import Base, Generation, claim
from anabranch.state.checkpoint.location import Location
from anabranch.state.checkpoint.log import Frame, Log
from anabranch.state.checkpoint.manifests import Manifest, SavedState, write_manifest
from anabranch.state.checkpoint.recovery import Found, find
from anabranch.state.checkpoint.snapshots import SnapshotWriter

WORDS = pa.schema([("key", pa.string()), ("value", pa.int64()), pa.field("present", pa.bool_(), nullable=False)])
OWN = pa.schema([("content", pa.binary()), pa.field("present", pa.bool_(), nullable=False)])
SCHEMAS = {"words": WORDS, "größe": OWN}


def words(*rows: tuple[str | None, int | None, bool]) -> pa.RecordBatch:
    keys, values, present = zip(*rows, strict=True) if rows else ((), (), ())
    return pa.record_batch([keys, values, present], schema=WORDS)


def own(*contents: bytes) -> pa.RecordBatch:
    return pa.record_batch([list(contents), [True] * len(contents)], schema=OWN)


_cells = st.tuples(st.none() | st.text(max_size=4), st.none() | st.integers(-9, 9), st.booleans())
_batches = st.one_of(
    st.lists(_cells, max_size=4).map(lambda rows: ("words", words(*rows))),
    st.lists(st.binary(max_size=40) | st.just(bytes(700)), max_size=2).map(lambda rows: ("größe", own(*rows))),
)
_changes = st.builds(lambda b, i, w: Change(b[0], i, w, b[1]), _batches, st.integers(0, 3), st.booleans())
_heads = st.dictionaries(
    st.text(max_size=3), st.none() | st.integers(-99, 99) | st.booleans() | st.text(max_size=3), max_size=2
)


@st.composite
def frame_lists(draw: st.DrawFn, max_size: int = 8) -> list[Frame]:
    """Frames of epochs that do not go back."""
    frames: list[Frame] = []
    epoch = 1
    for _ in range(draw(st.integers(0, max_size))):
        epoch += draw(st.integers(0, 2))
        changes = draw(st.lists(_changes, max_size=2))
        frames.append(Frame(epoch, draw(st.integers(0, 2)), draw(_heads), tuple(changes)))
    return frames


def commit(epoch: int, attempt: int = 0, writers: Iterable[str] = (), changes: Sequence[Change] = ()) -> Frame:
    head: dict[str, Any] = {"commit": True, "sequence": epoch * 10, "writers": list(writers)}
    return Frame(epoch, attempt, head, tuple(changes))


def write(log: Log, *frames: Frame) -> None:
    for frame in frames:
        log.sync(log.append(frame))


class Run:
    """A run over a location with a coordinator and two writers. Its state is a table of words, all in memory."""

    def __init__(self, location: Location, rng: random.Random, tables: dict[int, dict[str, int]] | None = None) -> None:
        self.location, self.rng = location, rng
        self.number = claim(location, {"program": "P", "pid": 1})
        self.generation = Generation(location, self.number)
        found = find(location)
        self.table, self.epoch = {}, 0
        self.tables = {} if tables is None else tables  # at each version that may be committed
        if found is not None:
            self.table, self.epoch = restored(found), found.version
        self.generation.begin(Base(None, (), 0, 0, 0) if found is None else found.base(("c", "w0", "w1")))
        self.logs = {w: Log(location, self.number, w, SCHEMAS, 2000) for w in ("c", "w0", "w1")}

    def step(self) -> None:
        """One epoch: acknowledged when it returns. Sometimes an attempt of it fails first."""
        epoch, attempt = self.epoch + 1, 0
        while self.rng.random() < 0.2:
            for writer in ("w0", "w1"):
                if self.rng.random() < 0.5:
                    self.logs[writer].append(
                        Frame(epoch, attempt, {}, (Change("words", 0, False, words(("bad", 1, True))),))
                    )
            attempt += 1
        wrote, tickets, new = [], [], dict(self.table)
        for number, writer in enumerate(("w0", "w1")):
            if self.rng.random() < 0.7:
                key, value = f"{number}{self.rng.randint(0, 5)}", self.rng.randint(0, 99)
                rows = words((key, value, True))
                new[key] = value
                tickets.append(
                    (
                        writer,
                        self.logs[writer].append(Frame(epoch, attempt, {}, (Change("words", number, False, rows),))),
                    )
                )
                wrote.append(writer)
        for writer, ticket in tickets:
            self.logs[writer].sync(ticket)
        log, self.tables[epoch] = self.logs["c"], new
        log.sync(log.append(commit(epoch, attempt, wrote)))
        self.table, self.epoch = new, epoch
        self.generation.check()

    def snapshot(self, steps: int = 0) -> Manifest:
        """A snapshot that is written while some epochs go by."""
        begun, first = self.epoch + 1, {w: log.cut() for w, log in self.logs.items()}
        writer = SnapshotWriter(self.location, self.number, self.epoch + steps)
        for number in range(2):
            rows = [(k, v, True) for k, v in sorted(self.table.items()) if k.startswith(str(number))]
            writer.add("words", number, words(*rows))
        for _ in range(steps):
            self.step()
        manifest = Manifest(
            generation=self.number,
            begun=begun,
            version=self.epoch,
            attempt=0,
            sequence=self.epoch * 10,
            program="P",
            fingerprint="f",
            instances=2,
            instance_of_bucket=(0, 0, 1, 1),
            states={"words": SavedState("Table", "partitioned", WORDS)},
            chunks=tuple(writer.finish()),
            first_pieces=first,
        )
        write_manifest(self.location, manifest)
        return manifest

    def close(self) -> None:
        for log in self.logs.values():
            log.close()


def restored(found: Found) -> dict[str, int]:
    """The table of words that a restore gives."""
    from anabranch.state.checkpoint.snapshots import read_chunk

    table: dict[str, int] = {}
    for chunk in () if found.manifest is None else found.manifest.chunks:
        for batch in read_chunk(found.location, chunk):
            table.update({row["key"]: row["value"] for row in batch.to_pylist()})
    for frame in found.frames():
        for change in frame.changes:
            table.update({row["key"]: row["value"] for row in change.rows.to_pylist()})
    return table
