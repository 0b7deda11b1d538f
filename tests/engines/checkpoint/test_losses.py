"""What was acknowledged and is gone is reported: whichever file of a location is removed, cut off or exchanged, a
restart has all that was acknowledged, or it is refused; and `inspect` says the same.
"""

from __future__ import annotations

import os
import shutil
from base64 import b64decode
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

import anabranch as ab
from anabranch.drivers.durable.settings import Saving
from anabranch.drivers.processes import Processes
from anabranch.engines.embedded import App
from anabranch.inspecting.looking import inspect
from anabranch.state.checkpoint.errors import Damaged
from anabranch.state.checkpoint.frames import scan
from tests.conformance.engines import nursery

ALL = os.environ.get("ANABRANCH_TESTS") == "all"
KEYS = [f"k{i}" for i in range(6)]


class Tally(ab.Program):
    t: ab.Partitioned[ab.Table[str, int]] = ab.Table(default=0)

    def add(self, k: str, n: int) -> int:
        self.t[k] += n
        return self.t[k]


def run(folder: Path, hosts: str, durability: str) -> App:
    launcher = Processes(2, nursery()) if hosts == "processes" else None
    return App(Tally(), 2, tier="python", hosts=launcher, saving=Saving(folder, durability, every=3600.0))


def work(app: App, durability: str) -> None:
    for round in range(3):
        app.add.many([(k, 1 + round) for k in KEYS])
        app.add("k0", 1)
        app.checkpoint()
    if durability == "epoch":
        app.add.many([(k, 10) for k in KEYS])
        app.add("k1", 1)


Image = tuple[Path, dict[str, int], bool]


@pytest.fixture(scope="module", params=["threads", "processes"])
def images(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Image]:
    """A location as a run left it that crashed, or that ended, with what was acknowledged. The second run of a location
    has a generation before its own.
    """
    home = tmp_path_factory.mktemp(request.param)
    found: dict[str, Image] = {}
    for durability in ("epoch", "snapshot"):
        folder = home / durability
        for number in (1, 2):
            app = run(folder, request.param, durability)
            try:
                work(app, durability)
                state = dict(app.state.t.scan())
                shutil.copytree(folder, home / f"{durability}-{number}-crashed")
            finally:
                app.stop()
            shutil.copytree(folder, home / f"{durability}-{number}-ended")
            for how in ("crashed", "ended"):
                found[f"{durability}-{number}-{how}"] = home / f"{durability}-{number}-{how}", state, how == "crashed"
    return found


IMAGES = [f"{d}-{n}-{how}" for d in ("epoch", "snapshot") for n in (1, 2) for how in ("crashed", "ended")]
SECOND = [name for name in IMAGES if ALL or "-2-" in name]


def files_of(folder: Path) -> list[str]:
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())


def restarted(folder: Path) -> dict[str, int] | str:
    """The state after a restart, or why there was none."""
    try:
        with App(Tally(), 2, tier="python", saving=Saving(folder)) as app:
            return dict(app.state.t.scan())
    except Damaged as error:
        return str(error)


def read(folder: Path) -> dict[str, int] | str:
    try:
        rows = ab.read_checkpoint(folder, "t").to_pydict()
    except Damaged as error:
        return str(error)
    return dict(zip(rows["key"], rows["value"], strict=True))


def assert_nothing_is_lost_silently(folder: Path, state: dict[str, int], case: str) -> None:
    seen, got = inspect(folder), read(folder)
    assert isinstance(got, str) or got == state, (case, "read_checkpoint", got)
    after = restarted(folder)
    if isinstance(after, str):
        assert seen.version is None and seen.damage, (case, "inspect finds nothing", after)
        assert "To go on, restore the file from a copy" in after, case
        assert any(file in after for file in seen.damage), (case, seen.damage, after)
    else:
        assert after == state, (case, after)
        assert seen.version is not None, (case, "inspect refuses what can be restored", seen.damage)


def tried(image: Image, tmp_path: Path, change: Callable[[Path], Any], case: str) -> None:
    folder, state, _ = image
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    change(copy)
    assert_nothing_is_lost_silently(copy, state, case)
    shutil.rmtree(copy)


@pytest.mark.parametrize("name", IMAGES)
def test_the_whole_location_is_restored(images: dict[str, Image], name: str, tmp_path: Path) -> None:
    folder, state, _ = images[name]
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    assert inspect(copy).ok and read(copy) == state and restarted(copy) == state


@pytest.mark.parametrize("name", SECOND)
def test_a_file_that_is_removed(images: dict[str, Image], name: str, tmp_path: Path) -> None:
    for file in files_of(images[name][0]):
        tried(images[name], tmp_path, lambda copy, file=file: (copy / file).unlink(), f"{file} removed")  # type: ignore[misc]


def acknowledged(folder: Path, file: str) -> range:
    """The lengths to which a crash may have cut off the newest piece of the log of what is committed: within its
    frames. Of what was acknowledged after those, nothing else on the disk tells.
    """
    of_coordinator = [p for p in files_of(folder) if p.startswith("log/") and "-c-" in p]
    if not of_coordinator or file != of_coordinator[-1]:
        return range(0)
    data = memoryview((folder / file).read_bytes())
    return range(scan(data, 0).end, len(data))


@pytest.mark.parametrize("name", SECOND)
def test_a_file_that_is_cut_off(images: dict[str, Image], name: str, tmp_path: Path) -> None:
    folder, _, crashed = images[name]
    for file in files_of(folder):
        size = (folder / file).stat().st_size
        left_open = acknowledged(folder, file) if crashed else range(0)
        for length in {0, size // 2, size - 9, size - 1} if ALL else {0, size // 2, size - 9}:
            if 0 <= length < size and length not in left_open:
                case = f"{file} cut from {size} to {length}"
                tried(
                    images[name],
                    tmp_path,
                    lambda copy, file=file, length=length: os.truncate(copy / file, length),  # type: ignore[misc]
                    case,
                )


def exchange(folder: Path, one: str, other: str) -> None:
    (folder / one).rename(folder / "held")
    (folder / other).rename(folder / one)
    (folder / "held").rename(folder / other)


@pytest.mark.parametrize("name", IMAGES if ALL else ["epoch-2-ended"])
def test_two_files_that_are_exchanged(images: dict[str, Image], name: str, tmp_path: Path) -> None:
    folder = images[name][0]
    for one, other in combinations(files_of(folder), 2):
        if one.split("/")[0] == other.split("/")[0]:
            tried(
                images[name],
                tmp_path,
                lambda copy, one=one, other=other: exchange(copy, one, other),  # type: ignore[misc]
                f"{one} and {other} exchanged",
            )


# -- what older releases wrote -----------------------------------------------------------------------------------------

FORMAT_1 = Path(__file__).parents[2] / "state" / "checkpoint" / "format_1.txt"


def write_format_1(folder: Path) -> None:
    """Two runs of `Tally`, which ended, as the last release that wrote format 1 left them."""
    name, files = "", dict[str, str]()
    for line in FORMAT_1.read_text().splitlines()[1:]:
        if line.startswith("  "):
            files[name] += line.strip()
        else:
            name = line
            files[name] = ""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b64decode(text))


def test_a_location_of_format_1_is_restored_and_goes_on(tmp_path: Path) -> None:
    folder, state = tmp_path / "old", {"a": 2, "b": 6, "c": 8}
    write_format_1(folder)
    assert inspect(folder).ok and read(folder) == state and restarted(folder) == state
    with App(Tally(), 2, tier="python", saving=Saving(folder)) as app:
        assert app.add("a", 1) == 3
        app.checkpoint()
        assert app.add("a", 1) == 4
    assert restarted(folder) == {**state, "a": 4}
    newest = max((folder / "log").glob("*-c-*"))
    newest.unlink()
    assert "the file is missing" in str(restarted(folder)), "the log that the new run has begun is missed"


def test_what_cannot_be_missed_in_format_1(tmp_path: Path) -> None:
    """Its newest piece of the log: nothing else says that it was there."""
    folder = tmp_path / "old"
    write_format_1(folder)
    (folder / "log" / "00000002-c-000001").unlink()
    assert restarted(folder) == {"a": 2, "b": 6, "c": 1}


# -- under a running app -----------------------------------------------------------------------------------------------


def replace(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.mkdir()


def move_away(folder: Path) -> None:
    folder.rename(folder.with_name("elsewhere"))


REMOVALS: dict[str, Callable[[Path], Any]] = {
    "removed": shutil.rmtree,
    "replaced": replace,
    "moved": move_away,
    "its logs removed": lambda folder: shutil.rmtree(folder / "log"),
}


@pytest.mark.parametrize("hosts", ["threads", "processes"])
@pytest.mark.parametrize("how", REMOVALS)
def test_a_location_that_is_gone_is_noticed_by_the_next_write(hosts: str, how: str, tmp_path: Path) -> None:
    app = run(tmp_path / "at", hosts, "epoch")
    try:
        app.add("a", 1)
        REMOVALS[how](tmp_path / "at")
        with pytest.raises(ab.Stopped) as caught:
            app.add("a", 1)
        assert "removed or replaced while the app" in f"{caught.value} {caught.value.__cause__}"
    finally:
        app.stop()
    assert how == "its logs removed" or not files_of(tmp_path / "at")


@pytest.mark.parametrize("how", ["removed", "replaced", "moved"])
def test_a_location_that_is_gone_gets_no_snapshot(how: str, tmp_path: Path) -> None:
    app = run(tmp_path / "at", "threads", "none")
    try:
        app.add("a", 1)
        REMOVALS[how](tmp_path / "at")
        with pytest.raises(OSError, match="removed or replaced while the app"):
            app.checkpoint()
        assert app.add("a", 1) == 2, "what nobody promised to save goes on"
    finally:
        app.stop()
    assert not files_of(tmp_path / "at")
