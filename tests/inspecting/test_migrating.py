"""States are renamed or dropped: a changed program finds what it calls by another name."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

import anabranch as ab
from anabranch.drivers.callers import Stopped
from anabranch.inspecting import inspect, migrate
from anabranch.inspecting.migrating import CannotMigrate
from tests.engines.checkpoint.bank import Bank, Note, Tally
from tests.engines.checkpoint.model import run, step


class Renamed(ab.Program):
    """As Bank, with other names and without limit."""

    balances: ab.Partitioned[ab.Table[int, int]] = ab.Table(default=100)
    titles: ab.Partitioned[ab.Table[str, Note]]
    grid: ab.Partitioned[ab.Matrix]
    views: ab.Partial[ab.Vector]
    laws: ab.Replicated[ab.Table[int, int]]
    counter: ab.Partial[Tally]

    def pay(self, k: int, n: int) -> int:
        self.balances[k] += n
        left = self.balances[k]
        self.views[k] += 1.0
        return left

    def name(self, k: str, text: str, weight: float) -> None:
        self.titles[k] = Note(text, weight)

    def mark(self, i: int, j: int, x: float) -> None:
        self.grid[i, j] = x

    def row(self, i: int) -> int:
        return len(self.grid.row(i))

    def law(self, k: int, n: int) -> None:
        ab.everywhere(self.laws)[k] = n

    def count(self, k: int) -> None:
        self.counter.add(k)


NAMES = {"accounts": "balances", "names": "titles", "seen": "views", "rules": "laws", "tally": "counter"}


def files(folder: Path) -> dict[str, bytes]:
    return {str(p): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def filled(folder: Path, workers: int = 2) -> Bank:
    chance, program = random.Random(workers), Bank()
    with run(folder, workers) as app:
        for i in range(60):
            step(chance, program, app)
            if i == 30:
                app.checkpoint()
    return program


@pytest.mark.parametrize(("before", "after"), [(2, 2), (3, 1), (1, 2)])
def test_a_renamed_program_finds_its_state(tmp_path: Path, before: int, after: int) -> None:
    program = filled(tmp_path, before)
    done = migrate(tmp_path, NAMES, ["limit"])
    assert done.generation == 2 and done.states["limit"] is None and done.states["grid"] == "grid"
    assert inspect(tmp_path).ok
    for turn in range(2):
        with ab.run(Renamed(), workers=after, checkpoint=tmp_path) as app:
            assert app.recovery.version >= done.version  # type: ignore[union-attr]
            for old in ("accounts", "names", "grid", "seen", "rules"):
                assert app.state[NAMES.get(old, old)].copy() == getattr(program, old), old
            counted = sum(tally.total() for tally in app.state.counter.instances())
            assert counted == program.tally.total()
            program.accounts[7] = app.pay(7, 10 + turn)
            program.seen[7] += 1.0


def test_the_old_program_does_not_start_and_says_why(tmp_path: Path) -> None:
    filled(tmp_path)
    migrate(tmp_path, {"names": "titles"})
    with pytest.raises(ab.ProgramError, match=r"holds titles.*--rename titles=NEW"):
        run(tmp_path)
    migrate(tmp_path, {"titles": "names"})
    with run(tmp_path) as app:
        assert app.pay(1000, 5) == 105


def test_names_may_be_exchanged_and_a_dropped_one_taken(tmp_path: Path) -> None:
    program = filled(tmp_path)
    rules = ab.read_checkpoint(tmp_path, "rules").sort_by("key")
    migrate(tmp_path, {"accounts": "rules", "rules": "accounts"})
    assert ab.read_checkpoint(tmp_path, "accounts").sort_by("key").equals(rules)
    migrate(tmp_path, {"rules": "accounts"}, ["accounts"])
    found = ab.read_checkpoint(tmp_path, "accounts").to_pydict()
    assert dict(zip(found["key"], found["value"], strict=True)) == dict(program.accounts.items())


def test_a_dry_run_changes_nothing(tmp_path: Path) -> None:
    filled(tmp_path)
    before = files(tmp_path)
    done = migrate(tmp_path, {"names": "titles"}, dry_run=True)
    assert (done.generation, done.states["names"], done.states["grid"]) == (None, "titles", "grid")
    assert files(tmp_path) == before


@pytest.mark.parametrize(
    ("rename", "drop", "told"),
    [
        ({"money": "cash"}, [], r"there is no state 'money': .* holds accounts, names"),
        ({}, ["money"], "there is no state 'money'"),
        ({}, [], "nothing to do"),
        ({"names": "grid"}, [], "names cannot be renamed to grid: there would be two of that name"),
        ({"names": "x", "grid": "x"}, [], "grid cannot be renamed to x: there would be two"),
        ({"names": "titles"}, ["names"], "names is to be dropped and to be renamed"),
        ({"names": "two words"}, [], "names cannot be renamed to 'two words'"),
    ],
)
def test_what_is_refused_changes_nothing(tmp_path: Path, rename: dict[str, str], drop: list[str], told: str) -> None:
    filled(tmp_path)
    before = files(tmp_path)
    with pytest.raises(CannotMigrate, match=told):
        migrate(tmp_path, rename, drop)
    assert files(tmp_path) == before


def test_there_must_be_something(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="holds no checkpoint"):
        migrate(tmp_path / "nowhere", {"a": "b"})
    assert not (tmp_path / "nowhere").exists()


def test_a_run_that_goes_on_is_fenced_and_what_it_has_acknowledged_is_kept(tmp_path: Path) -> None:
    app = run(tmp_path)
    app.pay(1, 7)
    migrate(tmp_path, {"accounts": "balances"})
    with pytest.raises(Stopped, match="anabranch migrate --rename accounts=balances"):
        app.pay(1, 1)
    assert ab.read_checkpoint(tmp_path, "balances").to_pylist() == [{"key": 1, "value": 107}]
    app.stop()


def test_requests_that_were_carried_out_are_remembered(tmp_path: Path) -> None:
    with run(tmp_path) as app:
        app.pay(1, 1, id="a")
        app.checkpoint()
        app.pay(1, 1, id="b")
    migrate(tmp_path, {"limit": "bound"})
    migrate(tmp_path, {"bound": "limit"})
    with run(tmp_path) as app:
        assert [app.pay(1, 1, id=name) for name in "abc"] == [101, 102, 103]


def test_a_snapshot_that_cannot_be_written_counts_for_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(tmp_path)
    before = ab.read_checkpoint(tmp_path, "accounts")

    def fail(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("anabranch.inspecting.migrating.write_manifest", fail)
    with pytest.raises(OSError, match="No space"):
        migrate(tmp_path, {"names": "titles"})
    assert inspect(tmp_path).ok
    assert ab.read_checkpoint(tmp_path, "accounts").equals(before)
    with run(tmp_path) as app:
        app.pay(1, 1)
        app.checkpoint()
    assert inspect(tmp_path).ok
