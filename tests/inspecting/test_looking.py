"""What a location holds is told; damage is found, and the way on that is named is one."""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import Any

import pytest

from anabranch.inspecting import inspect
from anabranch.state.checkpoint.errors import Damaged
from tests.engines.checkpoint.bank import Bank
from tests.engines.checkpoint.model import run, step


def test_what_is_there(tmp_path: Path) -> None:
    with run(tmp_path, 2) as app:
        for k in range(10):
            app.pay(k, 1)
        app.checkpoint()
        app.bound(5)
        app.pay(1, 1)
    told: list[tuple[int, int]] = []
    seen = inspect(tmp_path, watch=lambda done, of: told.append((done, of)))
    assert seen.ok and seen.way_on is None and seen.program == "Bank"
    assert (seen.version, seen.last_good, seen.epochs) == (12, 12, 2)
    assert [(s.version, s.counts) for s in seen.snapshots] == [(0, True), (10, True)]
    assert [r.from_version for r in seen.runs] == [0] and seen.runs[0].said["program"] == "Bank"
    states = {state.name: state for state in seen.states}
    accounts = states["accounts"]
    assert (accounts.type, accounts.distribution, accounts.rows) == ("Table[int, int]", "Partitioned", 10)
    assert [p.buckets for p in accounts.instances] == [((0, 511),), ((512, 1023),)]
    assert sum(p.rows for p in accounts.instances) == 10
    assert len(states["rules"].instances) <= 1 and len(states["seen"].instances) == 2
    files = [p.stat().st_size for p in tmp_path.rglob("*") if p.is_file()]
    assert (seen.files, seen.bytes) == (len(files), sum(files)) and told[-1] == (seen.bytes, seen.bytes)


def test_nothing_is_there_and_nothing_is_made(tmp_path: Path) -> None:
    seen = inspect(tmp_path / "nowhere")
    assert seen.ok and seen.runs == [] and seen.version is None
    assert not (tmp_path / "nowhere").exists()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[int, dict[int, int]]]:
    """A location of two generations, and the accounts at each version."""
    folder = tmp_path_factory.mktemp("made")
    chance, program = random.Random(8), Bank()
    accounts: dict[int, dict[int, int]] = {}
    for _ in range(2):
        with run(folder, 2) as app:
            for i in range(30):
                step(chance, program, app)
                accounts[app.version] = dict(program.accounts.items())
                if i in (10, 20):
                    app.checkpoint()
    return folder, accounts


def damaged(made: Path, to: Path, chance: random.Random, what: str) -> Path:
    """A copy of which one file is not what was written."""
    shutil.copytree(made, to)
    file = chance.choice(sorted(p for p in to.rglob("*") if p.is_file() and p.stat().st_size))
    if what == "missing":
        file.unlink()
        return file
    data = bytearray(file.read_bytes())
    if what == "short":
        file.write_bytes(data[: len(data) // 2])
    else:
        at = chance.randrange(len(data))
        data[at] ^= 1 << chance.randrange(8)
        file.write_bytes(data)
    return file


@pytest.mark.parametrize("what", ["bit", "missing", "short"])
@pytest.mark.parametrize("seed", range(12))
def test_the_way_on_is_one(made: tuple[Path, dict[int, dict[int, int]]], tmp_path: Path, what: str, seed: int) -> None:
    folder, accounts = made
    file = damaged(folder, tmp_path / "copy", random.Random(f"{what} {seed}"), what)
    name = file.relative_to(tmp_path / "copy").as_posix()
    seen = inspect(tmp_path / "copy")
    torn = what != "bit" and name.startswith("log/")  # where a crash may have cut it off
    if what == "bit" or not (torn or name.startswith("generations") or seen.ok):
        assert not seen.ok and (name in seen.damage or what == "missing")
    options: dict[str, Any] = {}
    if seen.version is None:
        with pytest.raises(Damaged):
            run(tmp_path / "copy")
        if seen.last_good is None:
            assert seen.way_on is not None and "No version can be restored" in seen.way_on
            return
        assert seen.way_on is not None and f"to_version={seen.last_good})" in seen.way_on
        options = {"to_version": seen.last_good}
    with run(tmp_path / "copy", **options) as app:
        assert app.version == seen.last_good
        assert dict(app.state.accounts.copy().items()) == accounts[max(v for v in accounts if v <= app.version)]


def test_a_base_that_is_gone_is_not_taken_for_a_new_location(
    made: tuple[Path, dict[int, dict[int, int]]], tmp_path: Path
) -> None:
    shutil.copytree(made[0], tmp_path / "copy")
    (tmp_path / "copy" / "generations" / "00000002.base").unlink()
    with pytest.raises(Damaged, match=r"00000002.base is damaged.*logs or snapshots of generation 2 are there"):
        run(tmp_path / "copy")
    assert not inspect(tmp_path / "copy", verifying=False).ok


def test_without_verifying_only_what_is_in_the_way_is_told(
    made: tuple[Path, dict[int, dict[int, int]]], tmp_path: Path
) -> None:
    shutil.copytree(made[0], tmp_path / "copy")
    newest = max((tmp_path / "copy" / "snapshots").iterdir())
    file = min(newest.iterdir())
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 4
    file.write_bytes(data)
    assert inspect(tmp_path / "copy", verifying=False).ok
    seen = inspect(tmp_path / "copy")
    assert [*seen.damage] == [file.relative_to(tmp_path / "copy").as_posix()]
    file.unlink()
    seen = inspect(tmp_path / "copy", verifying=False)
    assert seen.ok and seen.version == max(made[1]) and "cannot be used" in seen.notes[0]


def test_a_run_may_go_on_meanwhile(tmp_path: Path) -> None:
    with run(tmp_path, snapshot_every=0.05) as app:
        for n in range(100):
            app.pay(n % 7, 1)
            if n % 10 == 0:
                assert inspect(tmp_path).damage == {}
