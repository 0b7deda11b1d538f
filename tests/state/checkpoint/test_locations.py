"""Each law of a location, on each of them."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from anabranch.state.checkpoint import local
from anabranch.state.checkpoint.errors import Damaged, NotExclusive
from anabranch.state.checkpoint.local import LocalLocation
from anabranch.state.checkpoint.location import Location, checked, open_location
from tests.state.checkpoint.disk import SimulatedDisk


@pytest.fixture(params=["one path", "three paths", "fsspec", "simulated"])
def location(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Location]:
    match request.param:
        case "one path":
            yield open_location(tmp_path / "deep" / "er")
        case "three paths":
            yield open_location([tmp_path / name for name in "abc"])
        case "simulated":
            yield SimulatedDisk()
        case _:
            pytest.importorskip("fsspec", reason="the package fsspec is not installed")
            location = open_location(f"memory://{tmp_path.name}/x")
            yield location
            location._files.rm("/" + tmp_path.name, recursive=True)  # type: ignore[attr-defined]


def test_created_once(location: Location) -> None:
    location.create("manifests/a.json", b"first")
    with pytest.raises(FileExistsError):
        location.create("manifests/a.json", b"second")
    with pytest.raises(FileExistsError):
        location.open("manifests/a.json")
    assert bytes(location.read("manifests/a.json")) == b"first"
    location.create("log/empty", b"")
    assert bytes(location.read("log/empty")) == b"" and location.exists("log/empty")


def test_appended(location: Location) -> None:
    file = location.open("log/a-000000")
    file.append([b"one", memoryview(b"two"), b""])
    file.sync()
    file.append([b"x"] * 3000)
    file.sync()
    file.sync()
    assert file.size == 3006
    file.close()
    with pytest.raises(OSError):
        file.append([b"more"])
    assert bytes(location.read("log/a-000000")) == b"onetwo" + b"x" * 3000
    assert location.list("log") == {"log/a-000000": 3006} and location.exists("log/a-000000")
    with pytest.raises(FileExistsError):
        location.open("log/a-000000")


def test_an_empty_file_that_was_synced_is_there(location: Location) -> None:
    file = location.open("log/a")
    file.sync()
    file.close()
    assert location.exists("log/a") and location.list("log") == {"log/a": 0}


def test_listed_and_removed(location: Location) -> None:
    assert location.list("log") == {} and not location.exists("log/a")
    names = {f"snapshots/{i}/{j}.arrow": i + j for i in range(3) for j in range(3)}
    for name, size in names.items():
        location.create(name, bytes(size))
    assert location.list("snapshots") == names
    assert location.list("snapshots/1") == {n: s for n, s in names.items() if n.startswith("snapshots/1/")}
    for name in names:
        location.remove(name)
        location.remove(name)
    assert location.list("snapshots") == {}
    with pytest.raises(FileNotFoundError):
        location.read("snapshots/0/0.arrow")


@pytest.mark.parametrize(
    "name", ["", "/", "/etc/passwd", "..", "a/../b", "a//b", "a/", ".x", "a/.x", "ä", "a b", "a\n"]
)
def test_other_names_are_refused(location: Location, name: str) -> None:
    for use in (location.read, location.exists, location.open, location.remove, location.list):
        with pytest.raises(ValueError, match="not the name of a file"):
            use(name)
    with pytest.raises(ValueError, match="not the name of a file"):
        location.create(name, b"")
    with pytest.raises(ValueError):
        checked(name)


def test_one_of_many_creates(location: Location) -> None:
    won, barrier = [], threading.Barrier(6)

    def work(number: int) -> None:
        barrier.wait()
        try:
            location.create("generations/1", str(number).encode())
        except FileExistsError:
            return
        won.append(str(number).encode())

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if "memory://" not in location.name:  # a dict of one process is no store
        assert won == [bytes(location.read("generations/1"))]


def test_only_the_owner_may_read(tmp_path: Path) -> None:
    location = open_location(tmp_path / "new" / "place")
    location.create("generations/1", b"x")
    location.open("log/a").close()
    for path in (tmp_path / "new").rglob("*"):
        assert path.stat().st_mode & 0o777 == (0o700 if path.is_dir() else 0o600), path


def test_files_are_spread_over_paths(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in "abc"]
    location = open_location(paths)
    for number in range(30):
        location.create(f"snapshots/1/{number}", b"x")
        location.create(f"manifests/{number}", b"x")
    assert all(len(list((p / "snapshots/1").iterdir())) > 3 for p in paths)
    assert len(list((paths[0] / "manifests").iterdir())) == 30
    more = open_location([*paths, tmp_path / "d"])
    assert len(more.list("snapshots")) == 30
    assert all(more.exists(name) and bytes(more.read(name)) == b"x" for name in more.list("snapshots"))
    location.create("generations/1", b"x")
    with pytest.raises(ValueError, match=r"give .*/a first"):
        open_location([paths[1], paths[0]])
    with pytest.raises(ValueError, match="each path"):
        open_location([paths[0], paths[0]])


def test_partial_files_are_never_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    location = open_location(tmp_path)

    def fail(*_: Any) -> None:
        raise OSError(errno.EIO, "bad disk")

    with monkeypatch.context() as patch:
        patch.setattr(local, "sync_file", fail)
        with pytest.raises(OSError, match="bad disk"):
            location.create("generations/1", b"x")
    (tmp_path / local.PARTIAL / "left").write_bytes(b"x")
    assert location.list("generations") == {} and not location.exists("generations/1")
    open_location(tmp_path)
    assert list((tmp_path / local.PARTIAL).iterdir()) == []
    assert [p for p in tmp_path.rglob("*") if p.is_file()] == []


def test_a_partial_file_that_another_run_cleaned_up_is_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    location, times = open_location(tmp_path), []
    sync = local.sync_file

    def and_open(file: int) -> None:
        sync(file)
        if len(times) < 2:
            times.append(1)
            open_location(tmp_path)

    monkeypatch.setattr(local, "sync_file", and_open)
    location.create("generations/1", b"whole")
    assert bytes(location.read("generations/1")) == b"whole" and len(times) == 2


def test_partial_writes_are_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.writev

    def little(file: int, parts: list[memoryview]) -> int:
        return real(file, [parts[0][:3]])

    monkeypatch.setattr(os, "writev", little)
    file = open_location(tmp_path).open("log/a")
    file.append([b"one", b"twotwo", b"", memoryview(b"threethree"), b"x"])
    file.close()
    assert (tmp_path / "log/a").read_bytes() == b"onetwotwothreethreex"


def test_a_full_disk_breaks_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = open_location(tmp_path).open("log/a")
    file.append([b"good"])
    file.sync()
    full = os.open("/dev/full", os.O_WRONLY)
    monkeypatch.setattr(file, "_file", full)
    with pytest.raises(OSError) as caught:
        file.append([b"x"])
    assert caught.value.errno == errno.ENOSPC
    for call in (lambda: file.append([b"y"]), file.sync):
        with pytest.raises(OSError, match="an earlier write failed") as again:
            call()
        assert again.value.errno == errno.ENOSPC
    file.close()


def test_a_failed_sync_is_not_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, syncs = open_location(tmp_path).open("log/a"), []

    def fail(number: int) -> None:
        syncs.append(number)
        raise OSError(errno.EIO, "bad disk")

    monkeypatch.setattr(local, "sync_file", fail)
    file.append([b"x"])
    for _ in range(3):
        with pytest.raises(OSError):
            file.sync()
    assert len(syncs) == 1
    file.close()


def test_an_error_is_no_answer(tmp_path: Path) -> None:
    location = open_location(tmp_path)
    (tmp_path / "generations").write_bytes(b"not a folder")
    with pytest.raises(NotADirectoryError):
        location.exists("generations/1")
    with pytest.raises(OSError):
        location.list("generations")


def test_where_it_is(tmp_path: Path) -> None:
    assert isinstance(open_location(f"file://{tmp_path}"), LocalLocation)
    assert open_location(tmp_path / "none", writing=False).list("log") == {}
    assert not (tmp_path / "none").exists()
    for bad, why in [
        ("", "needs a path"),
        ([], "empty"),
        ("file://host/x", "file:///"),
        (["s3://a", "b"], "local paths"),
    ]:
        with pytest.raises(ValueError, match=why):
            open_location(bad)
    with pytest.raises(ValueError, match='"create" or "none"'):
        open_location(tmp_path, fence="maybe")


def test_a_place_that_overwrites_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("fsspec", reason="the package fsspec is not installed")
    from fsspec.implementations.memory import MemoryFileSystem

    real = MemoryFileSystem._open
    monkeypatch.setattr(MemoryFileSystem, "_open", lambda s, p, mode, **k: real(s, p, mode.replace("x", "w"), **k))
    with pytest.raises(NotExclusive, match='fence="none"'):
        open_location("memory://overwrites")
    location = open_location("memory://overwrites", fence="none")
    location.create("generations/1", b"x")
    with pytest.raises(FileExistsError):
        location.create("generations/1", b"y")
    location.remove("generations/1")
    assert location.list("probes") == {}


def test_a_missing_object_is_damage() -> None:
    pytest.importorskip("fsspec", reason="the package fsspec is not installed")
    location: Any = open_location("memory://missing")
    file = location.open("log/a")
    for _ in range(3):
        file.append([b"x"])
        file.sync()
    location._files.rm_file("/missing/log/a.000002")
    with pytest.raises(Damaged, match="object number 2"):
        location.read("log/a")
    location.remove("log/a")
    assert location.list("log") == {}
    with pytest.raises(ValueError, match="use another name"):
        location.create("log/a.000001", b"")
