"""What is appended and synced is read back; of a log that was cut off, a prefix; of a damaged one, nothing else."""

from __future__ import annotations

import errno
import random
import threading
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anabranch.state.changes import Change
from anabranch.state.checkpoint.errors import Damaged
from anabranch.state.checkpoint.frames import scan
from anabranch.state.checkpoint.local import LocalLocation
from anabranch.state.checkpoint.log import Frame, Log, piece_numbers, read_log
from anabranch.state.checkpoint.reading import Piece, extent, is_empty
from tests.state.checkpoint.disk import PowerLoss, SimulatedDisk
from tests.state.checkpoint.made import SCHEMAS, frame_lists, own, words, write


def written(frames: list[Frame], piece_bytes: int = 1 << 20) -> SimulatedDisk:
    disk = SimulatedDisk()
    log = Log(disk, 1, "w0", SCHEMAS, piece_bytes)
    write(log, *frames)
    log.close()
    return disk


def read(disk: Any) -> list[Frame]:
    return list(read_log(disk, 1, "w0"))


@given(frame_lists(), st.integers(1, 3000))
@settings(max_examples=40)
def test_what_is_synced_is_read_back(frames: list[Frame], piece_bytes: int) -> None:
    assert read(written(frames, piece_bytes)) == frames


@given(frame_lists(), st.data())
@settings(max_examples=40)
def test_any_truncation_of_the_last_piece_gives_a_prefix(frames: list[Frame], data: st.DataObject) -> None:
    disk = written(frames, 1500)
    numbers = piece_numbers(disk, 1, "w0")
    if not numbers:
        return
    file = Piece(1, "w0", numbers[-1]).file
    whole = bytes(disk.read(file))
    length = data.draw(st.integers(0, len(whole)))
    zeros = data.draw(st.sampled_from([0, 1, len(whole) - length, 5000]))
    disk.change(file, whole[:length] + bytes(zeros))
    if len(numbers) > 1 and length < scan(memoryview(whole), 0).end:
        with pytest.raises(Damaged, match="but its head was durable"):
            read(disk)
        return
    got = read(disk)
    assert got == frames[: len(got)]
    assert length < len(whole) or len(got) == len(frames)


@given(frame_lists(), st.data())
@settings(max_examples=60)
def test_any_bit_flip_is_damage(frames: list[Frame], data: st.DataObject) -> None:
    disk = written(frames, 1500)
    numbers = piece_numbers(disk, 1, "w0")
    if not numbers:
        return
    file = Piece(1, "w0", data.draw(st.sampled_from(numbers))).file
    whole = bytearray(disk.read(file))
    bit = data.draw(st.integers(0, len(whole) * 8 - 1))
    whole[bit // 8] ^= 1 << bit % 8
    disk.change(file, whole)
    got: list[Frame] = []
    with pytest.raises(Damaged) as caught:
        got.extend(read_log(disk, 1, "w0"))
    assert got == frames[: len(got)]
    assert caught.value.file == file and caught.value.offset <= bit // 8
    assert caught.value.last_good == ((got[-1].epoch, got[-1].attempt) if got else None)


def test_every_bit_of_a_small_log() -> None:
    frames = [Frame(1, 0, {"a": 1}, (Change("words", 0, False, words(("x", 1, True))),)), Frame(2, 0, {}, ())]
    disk = written(frames)
    file = Piece(1, "w0", 0).file
    whole = bytes(disk.read(file))
    for bit in range(len(whole) * 8):
        changed = bytearray(whole)
        changed[bit // 8] ^= 1 << bit % 8
        disk.change(file, changed)
        with pytest.raises(Damaged):
            read(disk)
    for length in range(len(whole)):
        disk.change(file, whole[:length])
        got = read(disk)
        assert got == frames[: len(got)]


@given(frame_lists(), st.data())
@settings(max_examples=40)
def test_a_short_piece_that_is_not_the_last_is_damage(frames: list[Frame], data: st.DataObject) -> None:
    disk = written(frames, 300)
    numbers = piece_numbers(disk, 1, "w0")
    if len(numbers) < 2:
        return
    file = Piece(1, "w0", data.draw(st.sampled_from(numbers[:-1]))).file
    whole = bytes(disk.read(file))
    length = data.draw(st.integers(0, len(whole) - 1))
    disk.change(file, whole[:length])
    if length < _note(memoryview(whole)):
        with pytest.raises(Damaged):
            read(disk)
    else:
        assert read(disk) == frames, "only the note that the next piece was begun is cut off"
    disk.remove(file)
    with pytest.raises(Damaged, match="missing"):
        read(disk)


def _note(data: memoryview) -> int:
    """Where the note at the end of a piece begins."""
    at = before = 0
    while at < len(data):
        before, at = at, scan(data, at).end
    return before


@given(frame_lists(), st.sets(st.integers(0, 20)))
@settings(max_examples=40)
def test_no_piece_is_lost_silently(frames: list[Frame], lost: set[int]) -> None:
    """But the first, of which whoever opens a log has to say that it was begun."""
    disk = written(frames, 300)
    numbers = piece_numbers(disk, 1, "w0")
    removed = [n for n in numbers if n in lost]
    for number in removed:
        disk.remove(Piece(1, "w0", number).file)
    if not removed:
        assert read(disk) == frames
    elif removed == numbers:
        assert read(disk) == []
        with pytest.raises(Damaged, match="missing"):
            list(read_log(disk, 1, "w0", begun=True))
    else:
        with pytest.raises(Damaged, match="missing"):
            read(disk)


def test_an_open_piece_is_there_and_empty(tmp_path: Path) -> None:
    location = LocalLocation([tmp_path])
    log = Log(location, 1, "w0", SCHEMAS)
    log.open_piece()
    assert piece_numbers(location, 1, "w0") == [0] and is_empty(location, Piece(1, "w0", 0))
    log.sync(log.note({"snapshot": "x", "version": 1}))
    assert not is_empty(location, Piece(1, "w0", 0))
    assert log.cut() == 1
    log.open_piece()
    assert piece_numbers(location, 1, "w0") == [0, 1]
    noted: list[object] = []
    assert list(read_log(location, 1, "w0", begun=True, noted=noted.append)) == []
    assert noted == [{"snapshot": "x", "version": 1}]
    log.close()


@given(frame_lists(), st.integers(0, 1 << 30), st.integers(0, 9))
@settings(max_examples=60)
def test_a_crash_keeps_what_was_synced_and_a_prefix_of_the_rest(frames: list[Frame], seed: int, upto: int) -> None:
    disk = SimulatedDisk(random.Random(seed))
    log = Log(disk, 1, "w0", SCHEMAS, 1000)
    write(log, *frames[:upto])

    def stop(operation: str, name: str) -> None:
        if operation == "sync":
            raise PowerLoss(errno.EIO, "now")

    disk.before = stop
    tickets = [log.append(f) for f in frames[upto:]]
    if tickets:
        with pytest.raises(OSError):
            log.sync(tickets[-1])
    disk.before = lambda operation, name: None
    disk.crash()
    got = read(disk)
    assert got == frames[: len(got)] and len(got) >= min(upto, len(frames))


def test_cut_names_the_piece_that_has_all_that_follows(tmp_path: Path) -> None:
    location = LocalLocation([tmp_path])
    log = Log(location, 1, "w0", SCHEMAS)
    assert log.cut() == 0  # nothing is there that could be cut off
    log.append(Frame(1, 0, {}))
    assert (log.cut(), log.cut()) == (1, 1)
    log.append(Frame(2, 0, {}))
    log.close()
    assert [f.epoch for f in read_log(location, 1, "w0", 1)] == [2]
    assert [f.epoch for f in read_log(location, 1, "w0")] == [1, 2]
    assert list(read_log(location, 1, "w0", 2)) == []
    assert extent(location, Piece(1, "w0", 1), last=True)[:3] == (2, 2, 1)


def test_rows_are_views_of_the_file(tmp_path: Path) -> None:
    location = LocalLocation([tmp_path])
    log = Log(location, 1, "w0", SCHEMAS)
    write(log, Frame(1, 0, {}, (Change("größe", 0, True, own(bytes(range(250)) * 40000)),)))
    log.close()
    before = pa.total_allocated_bytes()
    (frame,) = read_log(location, 1, "w0")
    assert frame.changes[0].rows.nbytes > 9_000_000
    assert pa.total_allocated_bytes() - before < 100_000


def test_many_threads_share_syncs(tmp_path: Path) -> None:
    location = LocalLocation([tmp_path])
    log = Log(location, 1, "w0", SCHEMAS, 20_000)
    done: list[tuple[int, int]] = []

    def work(thread: int) -> None:
        for number in range(60):
            ticket = log.append(Frame(0, 0, {"thread": thread, "number": number}))
            log.sync(ticket)
            assert log.synced >= ticket
            done.append((ticket, thread * 1000 + number))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    log.close()
    got = [f.head["thread"] * 1000 + f.head["number"] for f in read_log(location, 1, "w0")]
    assert got == [what for _, what in sorted(done)]


def test_one_sync_is_for_all_that_wait() -> None:
    disk = SimulatedDisk()
    log = Log(disk, 1, "w0", SCHEMAS)
    syncs, first = [], threading.Event()

    def slow(operation: str, name: str) -> None:
        if operation == "sync":
            syncs.append(name)
            first.set()
            time.sleep(0.05)

    disk.before = slow
    threads = [threading.Thread(target=lambda: log.sync(log.append(Frame(1, 0, {})))) for _ in range(10)]
    threads[0].start()
    first.wait(5)
    for thread in threads[1:]:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(syncs) <= 4 and log.synced == 10


def test_after_a_failure_the_log_raises_for_ever() -> None:
    disk = SimulatedDisk()
    log = Log(disk, 1, "w0", SCHEMAS)
    write(log, Frame(1, 0, {}))
    ticket = log.append(Frame(2, 0, {}))
    disk.full = True
    with pytest.raises(OSError) as caught:
        log.sync(ticket)
    assert caught.value.errno == errno.ENOSPC
    disk.full = False
    for attempt in (lambda: log.sync(ticket), lambda: log.append(Frame(3, 0, {})), log.flush, log.cut):
        with pytest.raises(OSError, match="nothing after that is durable") as again:
            attempt()
        assert again.value.errno == errno.ENOSPC
    log.sync(1)  # that one is durable
    log.close()
    assert [f.epoch for f in read(disk)] == [1]


def test_who_waits_for_a_leader_that_fails_is_told() -> None:
    disk = SimulatedDisk()
    log = Log(disk, 1, "w0", SCHEMAS)
    leading, errors = threading.Event(), []

    def fail(operation: str, name: str) -> None:
        if operation == "sync":
            leading.set()
            time.sleep(0.05)
            raise OSError(errno.EIO, "bad disk")

    def work() -> None:
        try:
            log.sync(log.append(Frame(1, 0, {})))
        except OSError as error:
            errors.append(error.errno)

    disk.before = fail
    threads = [threading.Thread(target=work) for _ in range(4)]
    threads[0].start()
    leading.wait(5)
    for thread in threads[1:]:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == [errno.EIO] * 4


def test_flush_writes_without_being_waited_for() -> None:
    disk = SimulatedDisk()
    log = Log(disk, 1, "w0", SCHEMAS)
    log.append(Frame(1, 0, {}))
    log.flush()
    assert log.bytes == 0  # too little to begin
    ticket = log.append(Frame(2, 0, {}, (Change("größe", 0, True, own(bytes(3 << 20))),)))
    log.flush()
    deadline = time.monotonic() + 5
    while log.synced < ticket and time.monotonic() < deadline:
        time.sleep(0.001)
    assert log.synced == ticket and log.bytes > 3 << 20
    log.close()
    assert len(read(disk)) == 2


def test_append_waits_while_too_much_waits() -> None:
    disk = SimulatedDisk()
    log = Log(disk, 1, "w0", SCHEMAS, limit=10_000)
    for epoch in range(50):
        log.append(Frame(epoch, 0, {}, (Change("größe", 0, True, own(bytes(3000))),)))
        assert log._bytes_waiting < 14_000
    log.close()
    assert [f.epoch for f in read(disk)] == list(range(50))


def test_mistakes_are_told() -> None:
    log = Log(SimulatedDisk(), 1, "w0", SCHEMAS)
    with pytest.raises(ValueError, match="words: rows have the columns content: binary"):
        log.append(Frame(1, 0, {}, (Change("words", 0, False, own(b"x")),)))
    with pytest.raises(ValueError, match="no such state"):
        log.append(Frame(1, 0, {}, (Change("other", 0, False, own(b"x")),)))
    log.append(Frame(5, 0, {}))
    with pytest.raises(ValueError, match="epochs never go back"):
        log.append(Frame(4, 0, {}))
    with pytest.raises(ValueError, match="ticket 9 was never given; the last one is 1"):
        log.sync(9)
    log.close()
    log.close()
    with pytest.raises(ValueError, match="closed"):
        log.append(Frame(6, 0, {}))
    with pytest.raises(ValueError, match="the name of a writer"):
        Log(SimulatedDisk(), 1, "../w", {})
    with pytest.raises(ValueError, match="dictionary"):
        Log(SimulatedDisk(), 1, "w", {"s": pa.schema([("x", pa.list_(pa.dictionary(pa.int8(), pa.string())))])})


def test_small_frames_are_cheap() -> None:
    log = Log(SimulatedDisk(), 1, "w0", SCHEMAS)
    frame = Frame(1, 0, {"sequence": 1}, (Change("words", 0, False, words(("x", 1, True), ("y", 2, True))),))
    times = []
    for _ in range(20):
        begin = time.perf_counter()
        for _ in range(100):
            log.append(frame)
        times.append((time.perf_counter() - begin) / 100)
    assert min(times) < 50e-6
    log.close()
