"""What is read from a checkpoint is what an app that restores it shows."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import anabranch as ab
from anabranch.drivers.durable import saver, snapshots
from tests.engines.checkpoint.bank import Bank
from tests.engines.checkpoint.model import run, step
from tests.inspecting import kinds

BUILTIN = ("accounts", "names", "grid", "rules", "limit")


def rows(table: pa.Table) -> list[str]:
    """Texts: NaN is NaN."""
    return sorted(map(repr, table.to_pylist()))


def shown(app: Any, name: str) -> tuple[pa.Schema, list[str]]:
    table = app.state[name].to_arrow()
    return table.schema, rows(table)


def read(folder: Path, name: str, version: int | None = None) -> tuple[pa.Schema, list[str]]:
    table = ab.read_checkpoint(folder, name, version)
    return table.schema, rows(table)


def instances(app: Any, name: str) -> list[str]:
    """Of a vector."""
    found = [(i, k, x) for i, part in enumerate(app.state[name].instances()) for k, x in part._cells()]
    return sorted(repr({"instance": i, "index": k, "value": x}) for i, k, x in found)


@pytest.mark.parametrize("tier", ["python", "compiled"])
@pytest.mark.parametrize("counts", [(1,), (2, 2), (3, 1, 3)])
def test_it_is_what_the_app_shows(tmp_path: Path, counts: tuple[int, ...], tier: str) -> None:
    chance, program = random.Random(str(counts)), Bank()
    for workers in counts:
        with run(tmp_path, workers, tier=tier) as app:
            past: dict[int, dict[str, Any]] = {}
            for i in range(25):
                step(chance, program, app)
                if i in (5, 15):
                    app.checkpoint()
                if i >= 15 and i % 4 == 0:
                    past[app.version] = {name: shown(app, name) for name in BUILTIN}
            for name in BUILTIN:
                assert read(tmp_path, name) == shown(app, name), name
            assert rows(ab.read_checkpoint(tmp_path, "seen")) == instances(app, "seen")
    for version, states in past.items():
        for name, then in states.items():
            assert read(tmp_path, name, version) == then, (name, version)


def test_it_is_what_the_app_shows_whose_workers_are_processes(tmp_path: Path) -> None:
    chance, program = random.Random(3), Bank()
    with run(tmp_path, 2, "processes") as app:
        for i in range(25):
            step(chance, program, app)
            if i == 12:
                app.checkpoint()
        for name in BUILTIN:
            assert read(tmp_path, name) == shown(app, name), name


@pytest.fixture
def with_axis(monkeypatch: pytest.MonkeyPatch) -> None:
    """A manifest that says what the keys of each state name."""

    def described(graph: Any) -> Any:
        return {name: replace(s, axis=graph.state(name).axis) for name, s in saver.described(graph).items()}

    monkeypatch.setattr(snapshots, "described", described)


@pytest.mark.parametrize("tier", ["python", "compiled"])
@pytest.mark.parametrize("counts", [(1,), (2, 3)])
@pytest.mark.usefixtures("with_axis")
def test_every_kind_of_key_and_value(tmp_path: Path, counts: tuple[int, ...], tier: str) -> None:
    chance = random.Random(str(counts))
    for workers in counts:
        with ab.run(kinds.Kinds(), workers=workers, checkpoint=tmp_path, tier=tier) as app:
            for i in range(60):
                kinds.step(chance, app)
                if i == 40:
                    app.checkpoint()
            for name in app.state:
                if name != "weights":
                    assert read(tmp_path, name) == shown(app, name), name
            assert rows(ab.read_checkpoint(tmp_path, "weights")) == instances(app, "weights")


def test_a_dense_matrix_of_which_nothing_says_how_it_was_spread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def described(graph: Any) -> Any:
        return {name: replace(s, axis=None) for name, s in saver.described(graph).items()}

    monkeypatch.setattr(snapshots, "described", described)
    with ab.run(kinds.Kinds(), workers=2, checkpoint=tmp_path) as app:
        app.cell(1, 1, 2.0)
    with pytest.raises(TypeError, match="nothing says whether square, a DenseMatrix, was spread by rows or by columns"):
        ab.read_checkpoint(tmp_path, "square")


def test_what_cannot_be_read(tmp_path: Path) -> None:
    with run(tmp_path) as app:
        app.pay(1, 1)
    with pytest.raises(TypeError, match=r"tally is Partial\[Tally\], a type of your own: only the program can read it"):
        ab.read_checkpoint(tmp_path, "tally")
    with pytest.raises(ValueError, match=r"has no state 'money': states are accounts, names"):
        ab.read_checkpoint(tmp_path, "money")
    with pytest.raises(ValueError, match="holds nothing of version 99: the last that changed anything is 1"):
        ab.read_checkpoint(tmp_path, "accounts", 99)
    with pytest.raises(FileNotFoundError, match="holds no checkpoint"):
        ab.read_checkpoint(tmp_path / "nowhere", "accounts")
    assert not (tmp_path / "nowhere").exists()


def test_a_snapshot_whose_rows_are_damaged_is_passed_over(tmp_path: Path) -> None:
    with run(tmp_path, 1) as app:
        for _ in range(3):
            app.pay(1, 1)
            app.checkpoint()
        app.pay(1, 1)
    newest = max((tmp_path / "snapshots").iterdir())
    for file in newest.iterdir():
        data = bytearray(file.read_bytes())
        data[len(data) // 2] ^= 1
        file.write_bytes(data)
    assert ab.read_checkpoint(tmp_path, "accounts").to_pylist() == [{"key": 1, "value": 104}]


def test_a_run_may_go_on_meanwhile(tmp_path: Path) -> None:
    with run(tmp_path, snapshot_every=0.05) as app:
        for n in range(150):
            app.pay(n % 7, 1)
            if n % 10 == 0:
                found = dict(zip(*ab.read_checkpoint(tmp_path, "accounts").to_pydict().values(), strict=True))
                assert found == {k: 100 + len(range(k, n + 1, 7)) for k in range(min(n + 1, 7))}
