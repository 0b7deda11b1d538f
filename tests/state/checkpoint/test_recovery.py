"""What was acknowledged is restored, whatever happens on the way; what is damaged is said."""

from __future__ import annotations

import contextlib
import errno
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anabranch.state.changes import Change
from anabranch.state.checkpoint.errors import Damaged, Fenced
from anabranch.state.checkpoint.generations import Base, Generation, base_of, claim, latest
from anabranch.state.checkpoint.location import open_location
from anabranch.state.checkpoint.log import Frame, Log
from anabranch.state.checkpoint.manifests import manifests
from anabranch.state.checkpoint.recovery import Found, collect, find, verify
from anabranch.state.checkpoint.snapshots import SnapshotWriter
from tests.state.checkpoint.disk import PowerLoss, SimulatedDisk
from tests.state.checkpoint.made import SCHEMAS, Run, commit, restored, words, write

seeds = st.integers(0, 1 << 32)
TOP = ("generations", "manifests", "log", "snapshots")


def same(disk: SimulatedDisk) -> tuple[object, ...] | None:
    """All that a restore depends on."""
    found = find(disk)
    return found and (found.name, found.version, found.attempt, found.sequence, list(found.frames()), restored(found))


def history(seed: int, runs: int = 3) -> tuple[SimulatedDisk, dict[int, dict[str, int]]]:
    """A location after several runs, and the table at each version."""
    rng = random.Random(seed)
    disk, tables = SimulatedDisk(rng), {0: {}}
    for _ in range(rng.randint(1, runs)):
        run = Run(disk, rng, tables)
        for _ in range(rng.randint(0, 10)):
            if rng.random() < 0.2:
                run.snapshot(rng.randint(0, 2))
            run.step()
        run.close()
    return disk, tables


def the(found: Found | None) -> Found:
    assert found is not None
    return found


@given(seeds)
@settings(max_examples=25)
def test_crashes_keep_what_was_acknowledged(seed: int) -> None:
    rng = random.Random(seed)
    disk = SimulatedDisk(rng)
    tables: dict[int, dict[str, int]] = {0: {}}
    acknowledged = 0
    for _ in range(6):
        fuse = rng.randint(1, 120)

        def count(operation: str, name: str) -> None:
            nonlocal fuse
            fuse -= 1
            if fuse < 0:
                raise PowerLoss(errno.EIO, "the power was lost")

        disk.before = count
        with contextlib.suppress(OSError):
            run = Run(disk, rng, tables)
            assert run.epoch >= acknowledged and run.table == tables[run.epoch]
            while True:
                if rng.random() < 0.2:
                    acknowledged = run.epoch
                    run.snapshot(rng.randint(0, 2))
                    collect(disk, rng.randint(1, 3), generation=run.number)
                run.step()
                acknowledged = run.epoch
        disk.before = lambda operation, name: None
        disk.crash()
        found = find(disk)
        assert found is not None or not acknowledged
        if found is not None:
            assert found.version >= acknowledged and restored(found) == tables[found.version]
            acknowledged = found.version


@given(seeds)
@settings(max_examples=25)
def test_collect_removes_nothing_that_find_needs(seed: int) -> None:
    disk, tables = history(seed, 4)
    before, rng = same(disk), random.Random(seed)
    keep = rng.randint(1, 3)
    kept = [n for n in manifests(disk) if the(find(disk)).history.counts(n)][-keep:]
    fallback = [same_without(disk, kept[i + 1 :]) for i in range(len(kept))]
    removed = collect(disk, keep)
    assert same(disk) == before and not set(removed) & set(kept)
    assert [same_without(disk, kept[i + 1 :]) for i in range(len(kept))] == fallback
    assert restored(the(find(disk))) == tables[max(tables)]
    assert collect(disk, keep) == []


def same_without(disk: SimulatedDisk, names: list[str]) -> tuple[object, ...]:
    found = the(find(disk, skip=names))
    return found.name, found.version, found.attempt, found.sequence, list(found.frames()), restored(found)


@given(seeds, st.data())
@settings(max_examples=60)
def test_any_bit_flip_in_any_file_changes_nothing_or_is_damage(seed: int, data: st.DataObject) -> None:
    disk, tables = history(seed)
    files = {n: s for folder in TOP for n, s in disk.list(folder).items() if s}
    name = data.draw(st.sampled_from(sorted(files)))
    whole = bytearray(disk.read(name))
    bit = data.draw(st.integers(0, len(whole) * 8 - 1))
    whole[bit // 8] ^= 1 << bit % 8
    disk.change(name, whole)
    assert not verify(disk).ok
    try:
        found = the(find(disk))
        table = restored(found)
    except Damaged as error:
        if error.last_good is not None:
            back = the(find(disk, error.last_good[0]))
            assert restored(back) == tables[error.last_good[0]]  # noqa: PT017
        elif name.startswith("snapshots"):
            assert restored(the(find(disk, skip=[found.name or ""]))) == tables[max(tables)]
        else:
            assert name.startswith(("generations", "log"))
        return
    assert found.version == max(tables) and table == tables[found.version]


@given(seeds, st.data())
@settings(max_examples=25)
def test_each_version_can_be_gone_back_to(seed: int, data: st.DataObject) -> None:
    disk, tables = history(seed)
    version = data.draw(st.sampled_from(sorted(tables)))
    found = the(find(disk, version))
    assert found.version == version and restored(found) == tables[version]
    number = claim(disk, {})
    Generation(disk, number).begin(found.base())
    assert the(find(disk)).version == version and restored(the(find(disk))) == tables[version]
    run = Run(disk, random.Random(seed))
    assert run.table == tables[version]
    run.step()
    collect(disk, 1, generation=run.number)
    assert restored(the(find(disk))) == run.table


def test_runs_fence_each_other(tmp_path: Path) -> None:
    location = open_location(tmp_path)
    first = Run(location, random.Random(1))
    first.step()
    second = Run(location, random.Random(2))
    assert second.table == first.table
    with pytest.raises(Fenced, match=r"generation 2, program P, pid 1\. This run is generation 1"):
        first.step()
    first.logs["w0"].append(Frame(9, 0, {}))
    second.step()
    third = Run(location, random.Random(3))
    assert third.table == second.table and third.number == 3
    for run in (first, second):
        with pytest.raises(Fenced):
            run.generation.check()
    with pytest.raises(Fenced):
        collect(location, generation=2)
    third.generation.check()
    third.snapshot()
    third.step()
    third.snapshot()
    collect(location, 1, generation=3)
    with pytest.raises(Fenced, match="generation 3"):
        first.generation.check()  # its claim is gone for nobody


def test_claims_are_given_once(tmp_path: Path) -> None:
    import threading

    numbers: list[int] = []
    threads = [threading.Thread(target=lambda: numbers.append(claim(open_location(tmp_path), {}))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(numbers) == list(range(1, 9))
    assert latest(open_location(tmp_path)) is None and find(open_location(tmp_path)) is None


def test_a_base_is_read_as_it_was_written() -> None:
    disk = SimulatedDisk()
    base = Base("manifests/000000000012-00000003.json", ((3, 14), (4, 20)), 20, 1, 300, ("c", "w0"))
    Generation(disk, claim(disk, {})).begin(base)
    assert base_of(disk, 1) == base
    with pytest.raises(FileExistsError):
        Generation(disk, 1).begin(base)


def begun(*epochs: int) -> SimulatedDisk:
    """A location in which writer w0 has frames of the given epochs, and 1 to 5 are committed."""
    disk = SimulatedDisk()
    Generation(disk, claim(disk, {})).begin(Base(None, (), 0, 0, 0))
    log, commits = (Log(disk, 1, writer, SCHEMAS) for writer in ("w0", "c"))
    write(log, *(Frame(e, 0, {}, (Change("words", 0, False, words((str(e), e, True))),)) for e in epochs))
    write(commits, *(commit(e, writers=["w0"]) for e in range(1, 6)))
    log.close()
    commits.close()
    return disk


@pytest.mark.parametrize("missing", [1, 3, 5])
def test_a_committed_epoch_without_its_frame_is_damage(missing: int) -> None:
    disk = begun(*(e for e in range(1, 8) if e != missing))
    with pytest.raises(Damaged, match=f"epoch {missing} is committed.*w0") as caught:
        list(the(find(disk)).frames())
    assert caught.value.file == "log/00000001-w0-000000"
    assert caught.value.last_good == ((missing - 1, 0) if missing > 1 else None)
    good = the(find(disk, missing - 1))
    assert [f.epoch for f in good.frames(["w0"])] == list(range(1, missing))


def test_what_is_damaged_behind_the_last_commit_does_not_matter() -> None:
    disk = begun(*range(1, 8))
    data = bytearray(disk.read("log/00000001-w0-000000"))
    data[-20] ^= 1
    disk.change("log/00000001-w0-000000", data)
    assert [f.epoch for f in the(find(disk)).frames(["w0"])] == [1, 2, 3, 4, 5]


def test_a_damaged_manifest_falls_back_to_the_one_before() -> None:
    rng = random.Random(5)
    disk = SimulatedDisk(rng)
    run = Run(disk, rng)
    run.step()
    old = run.snapshot(1)
    run.step()
    new = run.snapshot(2)
    run.step()
    assert the(find(disk)).name == new.name
    disk.change(new.chunks[0].file, b"short")
    found = the(find(disk))
    assert found.name == old.name and restored(found) == run.table
    assert new.name in found.notes[0] and "5 bytes" in found.notes[0]
    collect(disk, 1, generation=1)
    assert restored(the(find(disk))) == run.table
    disk.remove(old.chunks[0].file)
    with pytest.raises(Damaged) as caught:
        find(disk)
    assert old.name in "".join(caught.value.__notes__)
    report = verify(disk)
    assert report.problem is not None and not report.ok


def test_an_unfinished_snapshot_is_collected_but_not_while_it_is_written() -> None:
    rng = random.Random(5)
    disk = SimulatedDisk(rng)
    run = Run(disk, rng)
    run.snapshot()
    run.step()
    writer = SnapshotWriter(disk, 1, 7)
    writer.add("words", 0, words(("x", 1, True)))
    assert collect(disk, 1) == []
    assert collect(disk, 1, {writer.folder}, generation=1) == []
    assert collect(disk, 1, generation=1) == [f"{writer.folder}/0000.arrow"]


def test_a_report_says_what_is_there(tmp_path: Path) -> None:
    location = open_location(tmp_path)
    assert verify(location).ok and verify(location).version is None
    run = Run(location, random.Random(4))
    for _ in range(5):
        run.step()
    run.snapshot()
    run.step()
    run.close()
    report = verify(location)
    assert report.ok and report.versions == [5] and report.version == 6 and report.lag == 1 and report.generation == 1
    assert 0 < report.states["words"][0] <= len(run.table)
    assert report.log_bytes == sum(location.list("log").values()) and report.opened_by == {"program": "P", "pid": 1}
    assert set(report.files) == {n for folder in TOP for n in location.list(folder)}


@given(seeds)
@settings(max_examples=25)
def test_runs_that_do_not_know_that_they_were_replaced_change_nothing(seed: int) -> None:
    """Old runs go on writing at any moment, also while a new one claims, reads and begins."""
    rng = random.Random(seed)
    disk = SimulatedDisk(rng)
    acknowledged: dict[int, dict[str, int]] = {0: {}}
    runs: list[Run] = []

    def some_run_goes_on(operation: str = "", name: str = "") -> None:
        if not runs or rng.random() > 0.2:
            return
        before, disk.before = disk.before, lambda operation, name: None
        run = rng.choice(runs)
        with contextlib.suppress(Fenced):
            run.step()
            acknowledged[run.epoch] = run.table
        if rng.random() < 0.1 and (run.number, run.epoch) not in saved:
            saved.add((run.number, run.epoch))
            run.snapshot()
        if rng.random() < 0.1:
            with contextlib.suppress(Fenced):
                collect(disk, 2, generation=run.number)
        disk.before = before

    saved: set[tuple[int, int]] = set()
    for _ in range(5):
        disk.before = some_run_goes_on
        run = Run(disk, rng)
        disk.before = lambda operation, name: None
        newest = max(acknowledged)
        assert run.epoch >= newest
        if run.epoch == newest:
            assert run.table == acknowledged[newest]
        runs.append(run)
        for _ in range(rng.randint(0, 6)):
            run.step()
            acknowledged[run.epoch] = run.table
        found = the(find(disk))
        assert (found.version, restored(found)) == (run.epoch, run.table)


@pytest.mark.parametrize("place", ["one path", "three paths", "fsspec"])
def test_real_places_restore_what_was_written(tmp_path: Path, place: str) -> None:
    rng, where = random.Random(3), [tmp_path / name for name in ("abc" if place == "three paths" else "a")]
    if place == "fsspec":
        pytest.importorskip("fsspec", reason="the package fsspec is not installed")
    location = open_location(f"memory://{tmp_path.name}" if place == "fsspec" else where)
    for _ in range(3):
        run = Run(location, rng)
        for _ in range(5):
            run.step()
        run.snapshot(1)
        run.step()
        run.close()
        assert restored(the(find(location))) == run.table
        collect(location, 1, generation=run.number)
        assert restored(the(find(location))) == run.table and verify(location).ok
    assert len(location.list("manifests")) == 1


def test_before_a_damaged_base_only_what_is_asked_for() -> None:
    rng = random.Random(8)
    disk, tables = SimulatedDisk(rng), {0: {}}
    for steps in (4, 2):
        run = Run(disk, rng, tables)
        for _ in range(steps):
            run.step()
    disk.change("generations/00000002.base", b"{}")
    for version in (None, 6, 5):
        with pytest.raises(Damaged, match=r"00000002\.base.*go on from version 4"):
            find(disk, version)
    found = the(find(disk, 4))
    assert restored(found) == tables[4] and "00000002.base" in found.notes[0]
    Generation(disk, claim(disk, {})).begin(found.base())
    assert the(find(disk)).version == 4


def test_a_damaged_base_is_named_though_nothing_is_left_of_what_was_before() -> None:
    rng = random.Random(8)
    disk, tables = SimulatedDisk(rng), {0: {}}
    for _ in range(3):
        run = Run(disk, rng, tables)
        for _ in range(4):
            run.step()
        run.snapshot(1)
        run.step()
    for name in [*list(disk.list("manifests"))[:-1], *(n for n in disk.list("log") if n.startswith("log/00000001"))]:
        disk.remove(name)  # as a collection that was cut short
    disk.change("generations/00000003.base", b"{}")
    with pytest.raises(Damaged, match=r"generations/00000003\.base is damaged.*restore the file from a copy"):
        find(disk)


def test_views_of_many_files_keep_none_open(tmp_path: Path) -> None:
    location = open_location(tmp_path)
    for number in range(50):
        location.create(f"log/{number}", bytes([number]) * 5000)
    before = len(list(Path("/proc/self/fd").iterdir()))
    views = [location.read(f"log/{number}") for number in range(50)]
    assert len(list(Path("/proc/self/fd").iterdir())) <= before + 1
    for number, view in enumerate(views):
        location.remove(f"log/{number}")
        assert bytes(view) == bytes([number]) * 5000


def test_commits_after_what_was_not_logged_do_not_count() -> None:
    """Where only snapshots are durable, epochs are logged while one is made. If it is not finished, they are void."""
    disk, rng = SimulatedDisk(), random.Random(1)
    run = Run(disk, rng)
    run.step()
    run.snapshot()
    table, log = run.table, run.logs["c"]
    rows = (Change("words", 0, False, words(("late", 1, True))),)
    write(log, Frame(5, 0, {"commit": True, "sequence": 50, "writers": ["c"], "after": 4}, rows))
    found = the(find(disk))
    assert found.version == 1 and restored(found) == table and found.base().chain == ((1, 1),)
    Generation(disk, claim(disk, {})).begin(found.base())
    assert restored(the(find(disk))) == table


def test_commits_after_what_changed_nothing_count() -> None:
    disk, rng = SimulatedDisk(), random.Random(1)
    run = Run(disk, rng)
    run.step()
    run.snapshot()
    rows = (Change("words", 0, False, words(("late", 1, True))),)
    write(run.logs["c"], Frame(5, 0, {"commit": True, "sequence": 50, "writers": ["c"], "after": 1}, rows))
    assert restored(the(find(disk))) == {**run.table, "late": 1}
