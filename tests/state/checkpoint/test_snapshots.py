"""Rows of a snapshot are plain Arrow files; a manifest is what was written, or damaged."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anabranch.state.checkpoint import snapshots
from anabranch.state.checkpoint.errors import Damaged
from anabranch.state.checkpoint.location import open_location
from anabranch.state.checkpoint.manifests import Manifest, SavedState, manifests, read_manifest, write_manifest
from anabranch.state.checkpoint.snapshots import Chunk, SnapshotWriter, read_chunk
from tests.state.checkpoint.disk import SimulatedDisk
from tests.state.checkpoint.made import OWN, WORDS, own, words

cells = st.tuples(st.none() | st.text(max_size=4), st.none() | st.integers(-9, 9), st.booleans())
adds = st.lists(
    st.tuples(st.sampled_from(["words", "größe"]), st.integers(0, 5), st.lists(cells, max_size=3)), max_size=12
)


@given(adds, st.integers(1, 4))
@settings(max_examples=40)
def test_what_was_added_is_read(added: list[tuple[str, int, list[tuple[str, int, bool]]]], at_once: int) -> None:
    disk = SimulatedDisk()
    expected: dict[tuple[str, int], list[object]] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(snapshots, "OPEN", at_once)
        writer = SnapshotWriter(disk, 2, 7)
        for state, instance, rows in added:
            writer.add(state, instance, words(*rows))
            expected.setdefault((state, instance), []).extend(words(*rows).to_pylist())
        chunks = writer.finish()
    got: dict[tuple[str, int], list[object]] = {}
    for chunk in chunks:
        rows = [row for batch in read_chunk(disk, chunk) for row in batch.to_pylist()]
        assert len(rows) == chunk.rows and disk.list("snapshots")[chunk.file] == chunk.bytes
        got.setdefault((chunk.state, chunk.instance), []).extend(rows)
    assert got == expected
    assert set(disk.list("snapshots")) == {c.file for c in chunks}


def test_files_are_plain_arrow_files_and_views(tmp_path: Path) -> None:
    location = open_location(tmp_path)
    writer = SnapshotWriter(location, 2, 7)
    for _ in range(5):
        writer.add("größe", 3, own(bytes(range(250)) * 10000))
    (chunk,) = writer.finish()
    assert chunk.file == "snapshots/000000000007-00000002/0000.arrow"
    with pa.memory_map(str(tmp_path / chunk.file)) as file:
        assert pa.ipc.open_file(file).read_all().num_rows == 5
    before = pa.total_allocated_bytes()
    batches = list(read_chunk(location, chunk))
    assert sum(b.nbytes for b in batches) > 12_000_000 and pa.total_allocated_bytes() - before < 100_000


def test_abandoned_is_gone(tmp_path: Path) -> None:
    location = open_location(tmp_path)
    with SnapshotWriter(location, 1, 1) as writer:
        writer.add("words", 0, words())
        writer.add("words", 1, words(("x", 1, True)))
    assert location.list("snapshots") == {} and list((tmp_path / "snapshots").iterdir()) == []
    with pytest.raises(ValueError, match="has ended"):
        writer.add("words", 0, words())


def test_a_full_disk_is_told() -> None:
    disk = SimulatedDisk()
    writer = SnapshotWriter(disk, 1, 1)
    writer.add("größe", 0, own(b"x"))
    disk.full = True
    with pytest.raises(OSError, match="no space"):
        writer.add("größe", 0, own(bytes(2 << 20)))
    disk.full = False
    with pytest.raises(OSError, match="broken"):
        writer.finish()
    writer.abandon()
    assert disk.list("snapshots") == {}


def test_any_change_of_a_chunk_is_damage() -> None:
    disk = SimulatedDisk()
    writer = SnapshotWriter(disk, 1, 1)
    writer.add("words", 0, words(("x", 1, True), (None, None, False)))
    (chunk,) = writer.finish()
    whole = bytes(disk.read(chunk.file))
    for at in range(len(whole)):
        disk.change(chunk.file, whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1 :])
        with pytest.raises(Damaged, match="checksum"):
            read_chunk(disk, chunk)
    disk.change(chunk.file, whole[:-1])
    with pytest.raises(Damaged, match="bytes"):
        read_chunk(disk, chunk)
    disk.remove(chunk.file)
    with pytest.raises(Damaged, match="missing"):
        read_chunk(disk, chunk)


def manifest(version: int = 12, generation: int = 3) -> Manifest:
    return Manifest(
        generation=generation,
        begun=10,
        version=version,
        attempt=1,
        sequence=120,
        program="Größe",
        fingerprint="f",
        instances=3,
        instance_of_bucket=(0,) * 400 + (2,) * 100 + (1, 0),
        states={"words": SavedState("Table", "partitioned", WORDS), "größe": SavedState("Own", "partial", OWN)},
        chunks=(Chunk("größe", 1, "snapshots/x/0000.arrow", 5, 100, 77),),
        first_pieces={"c": 2, "w0": 0},
        extra={"a": [1, 2.5, None, "ö"], "b": {}},
    )


def test_a_manifest_is_read_as_it_was_written() -> None:
    disk = SimulatedDisk()
    name = write_manifest(disk, manifest())
    assert name == "manifests/000000000012-00000003.json" and read_manifest(disk, name) == manifest()
    assert len(disk.read(name)) < 3500
    with pytest.raises(FileExistsError):
        write_manifest(disk, manifest())
    write_manifest(disk, manifest(11, 4))
    write_manifest(disk, manifest(10, 3))
    assert [n[-13:-5] + n[10:22] for n in manifests(disk)] == [
        "00000003000000000010",
        "00000003000000000012",
        "00000004000000000011",
    ]
    disk.create("manifests/000000000099-00000003.json", bytes(disk.read(name)))
    with pytest.raises(Damaged, match="it was written as"):
        read_manifest(disk, "manifests/000000000099-00000003.json")
    with pytest.raises(ValueError, match="effects are applied from 10 on, but the snapshot is of 8"):
        write_manifest(disk, manifest(8, 9))


def test_any_change_of_a_manifest_is_damage() -> None:
    disk = SimulatedDisk()
    name = write_manifest(disk, manifest())
    whole = bytes(disk.read(name))
    for at in range(len(whole)):
        for bit in (0, 3, 5, 7):
            disk.change(name, whole[:at] + bytes([whole[at] ^ 1 << bit]) + whole[at + 1 :])
            with pytest.raises(Damaged):
                read_manifest(disk, name)
        disk.change(name, whole[:at])
        with pytest.raises(Damaged):
            read_manifest(disk, name)
