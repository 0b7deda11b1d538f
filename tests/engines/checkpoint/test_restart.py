"""What was acknowledged is there when the app starts again: on any number of workers, after any end."""

from __future__ import annotations

import errno
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import anabranch as ab
from anabranch.drivers.callers import Stopped
from anabranch.drivers.durable import copying
from anabranch.state.checkpoint import log, snapshots
from anabranch.testing import SetClock
from tests.engines.checkpoint.bank import Bank
from tests.engines.checkpoint.model import assert_alike, run, step


@pytest.mark.parametrize("tier", ["python", "compiled"])
@pytest.mark.parametrize("counts", [(2, 2), (1, 3), (3, 1), (2, 4, 1, 2)])
def test_what_was_answered_is_there_again(tmp_path: Path, tier: str, counts: tuple[int, ...]) -> None:
    chance, program = random.Random(str(counts)), Bank()
    for workers in counts:
        with run(tmp_path, workers, tier=tier) as app:
            assert_alike(program, app)
            for _ in range(25):
                step(chance, program, app)
                if chance.random() < 0.1:
                    app.checkpoint()
            assert_alike(program, app)
            version = app.version
    with run(tmp_path, 2, tier=tier) as app:
        assert_alike(program, app)
        assert app.version <= version
        assert app.recovery is not None and "restored version" in str(app.recovery)


def test_a_new_location_has_nothing_to_restore(tmp_path: Path) -> None:
    with run(tmp_path / "new" / "folder") as app:
        assert app.recovery is None


def test_a_run_that_is_replaced_acknowledges_nothing_more(tmp_path: Path) -> None:
    first = run(tmp_path)
    first.pay(1, 1)
    with run(tmp_path) as second:
        assert second.pay(1, 1) == 102
        with pytest.raises(Stopped, match="generation 2"):
            first.pay(1, 1)
        with pytest.raises(Stopped):
            first.pay(1, 1)
        assert second.pay(1, 1) == 103
    with run(tmp_path) as third:
        assert third.state.accounts[1] == 103
    first.stop()


@pytest.mark.parametrize("durability", ["snapshot", "none"])
def test_without_a_log_what_counts_is_the_last_snapshot(tmp_path: Path, durability: str) -> None:
    app = run(tmp_path, durability=durability)
    app.pay(1, 1)
    assert app.checkpoint() == 1
    app.pay(1, 10)
    with run(tmp_path, durability=durability) as later:  # the first is as good as dead
        assert later.state.accounts[1] == 101
        later.pay(2, 1)
    with run(tmp_path) as last:
        assert last.state.accounts[1] == 101
        assert last.state.accounts[2] == (101 if durability == "snapshot" else 100)


def test_an_older_version_can_be_gone_back_to(tmp_path: Path) -> None:
    with run(tmp_path) as app:
        for _ in range(5):
            app.pay(1, 1)
    with run(tmp_path, to_version=3) as app:
        assert app.state.accounts[1] == 103
        app.pay(1, 10)
    with run(tmp_path) as app:
        assert app.state.accounts[1] == 113


@pytest.mark.parametrize("hosts", ["threads", "processes"])
def test_states_can_be_read_as_they_were(tmp_path: Path, hosts: str) -> None:
    kept: dict[int, tuple[Any, Any, Any]] = {}
    for _ in range(2):
        with run(tmp_path, 2, hosts) as app:
            chance, program = random.Random(8), Bank()
            for _ in range(12):
                step(chance, program, app) if not kept else app.pay(1, 1)
                states = app.state.accounts, app.state.seen, app.state.rules
                kept[app.version] = states[0].copy(), states[1].copy(), states[2].copy()
            for version, was in kept.items():
                past = [app.state[name].as_of(version) for name in ("accounts", "seen", "rules")]
                assert [state.copy() for state in past] == list(was), version
            assert app.state.accounts.as_of(version)[1] == kept[version][0][1]
            for wrong in (-1, app.version + 1, True, "1"):
                with pytest.raises(ValueError, match="versions are the numbers from 0 to"):
                    app.state.accounts.as_of(wrong)
            with pytest.raises(TypeError, match="does not change"):
                app.state.accounts.as_of(1).load({"key": [1], "value": [1]})


class Before(ab.Program):
    kept: ab.Partitioned[ab.Table[int, int]] = ab.Table(default=0)
    other: ab.Partitioned[ab.Table[int, int]] = ab.Table(default=0)

    def put(self, k: int) -> None:
        self.kept[k] += 1
        self.other[k] += 1


class Grown(ab.Program):
    kept: ab.Partitioned[ab.Table[int, int]] = ab.Table(default=0)
    other: ab.Partitioned[ab.Table[int, int]] = ab.Table(default=0)
    new: ab.Partitioned[ab.Table[int, int]] = ab.Table({7: 70})

    def put(self, k: int) -> None:
        self.kept[k] += 10
        self.new[k] = 1


class Shrunk(ab.Program):
    kept: ab.Partitioned[ab.Table[int, int]] = ab.Table(default=0)

    def put(self, k: int) -> None:
        self.kept[k] += 1


class Retyped(ab.Program):
    kept: ab.Partitioned[ab.Table[int, str]] = ab.Table(default="")
    other: ab.Partitioned[ab.Table[int, int]] = ab.Table(default=0)

    def put(self, k: int) -> None:
        self.kept[k] += "1"
        self.other[k] += 1


def test_code_may_change_and_states_may_come(tmp_path: Path) -> None:
    with ab.run(Before(), workers=2, checkpoint=tmp_path) as app:
        app.put(1)
    for _ in range(2):
        with ab.run(Grown(), workers=2, checkpoint=tmp_path) as app:
            app.put(1)
    with ab.run(Grown(), workers=2, checkpoint=tmp_path) as app:
        assert dict(app.state.kept.items()) == {1: 21}
        assert dict(app.state.new.items()) == {1: 1, 7: 70}


@pytest.mark.parametrize(
    ("changed", "told"),
    [(Shrunk, r"holds other, and Shrunk has no such state.*--drop other"), (Retyped, r"kept is .*str.*holds .*int")],
)
def test_states_that_are_gone_or_others_are_not_lost_silently(tmp_path: Path, changed: Any, told: str) -> None:
    with ab.run(Before(), workers=2, checkpoint=tmp_path) as app:
        app.put(1)
    with pytest.raises(ab.ProgramError, match=told):
        ab.run(changed(), workers=2, checkpoint=tmp_path)
    with ab.run(Before(), workers=2, checkpoint=tmp_path) as app:
        assert app.state.kept[1] == 1


@pytest.mark.parametrize(
    "options",
    [{"durability": "often"}, {"snapshot_mode": "now"}, {"fence": "wooden"}, {"snapshot_every": 0}],
)
def test_what_is_said_about_saving_is_checked(tmp_path: Path, options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        run(tmp_path, **options)
    with pytest.raises(TypeError, match="checkpoint is a path"):
        ab.run(Bank(), checkpoint=7)


@pytest.mark.parametrize("mode", ["background", "sync"])
def test_snapshots_come_by_themselves_and_old_files_go(tmp_path: Path, mode: str) -> None:
    program, chance, clock = Bank(), random.Random(5), SetClock()
    with run(tmp_path, snapshot_mode=mode, clock=clock) as app:
        before: list[str] = []
        for _ in range(6):
            for _ in range(30):
                step(chance, program, app)
            clock.advance(60.0)
            kept = sorted(file.name for file in (tmp_path / "manifests").iterdir())
            assert kept[:-1] == before[-1:] or not before  # that of this minute, and the one before
            before = kept
    with run(tmp_path) as app:
        assert_alike(program, app)


class Wide(ab.Program):
    cells: ab.Partitioned[ab.Table[int, float]]
    seen: ab.Partial[ab.Table[int, float]] = ab.partial(ab.Table(default=0.0), merge=ab.add)

    def put(self, k: int, x: float) -> None:
        self.cells[k] = x
        self.seen[k] += 1.0

    def drop(self, k: int) -> None:
        del self.cells[k]


@pytest.mark.parametrize("workers", [(1, 1), (2, 2), (2, 1), (1, 2)])
def test_large_tables_come_back_from_several_files(
    tmp_path: Path, workers: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "LARGE", 1 << 18)
    monkeypatch.setattr(copying, "BRIEF_SLICE", 1 << 13)
    keys = np.random.default_rng(7).permutation(120_000)
    with ab.run(Wide(), workers=workers[0], tier="compiled", checkpoint=tmp_path) as app:
        app.put.many({"k": keys, "x": keys * 0.5})
        app.checkpoint()
        app.put.many({"k": keys[:5_000], "x": keys[:5_000] * 2.0})
        app.drop.many({"k": keys[-100:]})
    assert len(list(tmp_path.rglob("*.arrow"))) > 8
    wanted = {int(k): k * 0.5 for k in keys[:-100]} | {int(k): k * 2.0 for k in keys[:5_000]}
    with ab.run(Wide(), workers=workers[1], tier="compiled", checkpoint=tmp_path) as app:
        assert dict(app.state.cells.scan()) == wanted
        assert sum(app.state.seen.copy().values()) == 125_000.0
        app.put(-1, 1.0)
        assert app.state.cells[-1] == 1.0


@pytest.mark.parametrize("hosts", ["threads", "processes"])
@pytest.mark.parametrize(
    "ask", [lambda app: app.scale(workers=2), lambda app: app.state.accounts.load({"key": [5], "value": [1]})]
)
def test_what_is_done_between_epochs_and_cannot_be_logged_ends_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hosts: str, ask: Any
) -> None:
    app = run(tmp_path, 1, hosts=hosts)
    assert app.pay(1, 1) == 101

    def full(*args: Any) -> None:
        raise OSError(errno.ENOSPC, "no space left on the disk")

    with monkeypatch.context() as broken:
        broken.setattr(log.Log, "append", full)
        with pytest.raises(Stopped, match=r"could not be saved, and the app has ended.*no space left"):
            ask(app)
    with pytest.raises(Stopped):
        app.pay(1, 1)
    app.stop()
    with run(tmp_path, 1) as again:
        assert again.state.accounts[1] == 101 and again.pay(1, 1) == 102
