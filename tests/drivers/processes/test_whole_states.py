"""Whole states of workers that are apart come as columns, slice by slice, all of one version."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import anabranch as ab
from anabranch.drivers import showing
from anabranch.drivers.answers import Questions
from anabranch.drivers.durable import copying
from tests.drivers.processes.tools import pids, wait_until


class Ledger(ab.Program):
    totals: ab.Partitioned[ab.Table[int, float]] = ab.Table(default=0.0)
    names: ab.Partitioned[ab.Table[str, tuple[int, str | None]]]
    grid: ab.Partitioned[ab.Matrix]

    def add(self, key: int, value: float) -> None:
        self.totals[key] += value

    def name(self, key: str, number: int, nick: str | None) -> None:
        self.names[key] = (number, nick)

    def mark(self, row: int, column: int, value: float) -> None:
        self.grid[row, column] = value

    def drop(self, key: int) -> None:
        del self.totals[key]


def in_order(table: pa.Table) -> list[tuple[Any, ...]]:
    return sorted(zip(*table.to_pydict().values(), strict=True))


@pytest.mark.parametrize("tier", ["python", "compiled"])
@pytest.mark.parametrize("workers", [1, 3])
def test_all_entries_with_their_types(workers: int, tier: str) -> None:
    rows = 70_000 if tier == "python" else 600_000
    assert rows > (showing.SOME if tier == "python" else copying.FLAT_SLICE * 2), "more than a slice of one worker"
    keys = np.arange(rows)
    with ab.run(Ledger(), workers=workers, hosts="processes", tier=tier) as app:
        assert app.state.totals.to_arrow().num_rows == 0
        app.add.many(pa.table({"key": keys, "value": keys / 2}))
        app.drop(5)
        app.name.many({"key": ["a", "b"], "number": [1, 2], "nick": ["x", None]})
        app.mark.many({"row": [1, 1, 2], "column": [7, 8, 7], "value": [0.5, 0.0, 2.0]})
        totals = app.state.totals.to_arrow().sort_by("key")
        there = np.delete(keys, 5)
        assert np.array_equal(totals["key"].to_numpy(), there)
        assert np.array_equal(totals["value"].to_numpy(), there / 2)
        assert in_order(app.state.names.to_arrow()) == [("a", {"0": 1, "1": "x"}), ("b", {"0": 2, "1": None})]
        assert in_order(app.state.grid.to_arrow()) == [(1, 7, 0.5), (2, 7, 2.0)]
        with ab.run(Ledger(), workers=2) as here:
            for name in ("totals", "names", "grid"):
                there_, here_ = getattr(app.state, name).to_arrow(), getattr(here.state, name).to_arrow()
                assert there_.schema == here_.schema


def test_one_version_while_others_write() -> None:
    """Every batch adds one to all keys: whoever looks sees the same number everywhere."""
    keys = np.arange(2_000)
    one = pa.table({"key": keys, "value": np.ones(len(keys))})
    with ab.run(Ledger(), workers=2, hosts="processes") as app:
        app.add.many(one)
        over = threading.Event()

        def write() -> None:
            while not over.is_set():
                app.add.many(one)

        writer = threading.Thread(target=write)
        writer.start()
        try:
            for _ in range(20):
                found = app.state.totals.to_arrow()["value"].to_numpy()
                assert len(found) == len(keys) and len(np.unique(found)) == 1
        finally:
            over.set()
            writer.join()


def test_a_worker_is_lost_meanwhile(tmp_path: Path) -> None:
    keys = np.arange(50_000)
    with ab.run(Ledger(), workers=2, hosts="processes", checkpoint=tmp_path) as app:
        app.add.many(pa.table({"key": keys, "value": keys / 2}))
        found: list[pa.Table] = []
        looks = threading.Thread(target=lambda: found.extend(app.state.totals.to_arrow() for _ in range(10)))
        looks.start()
        os.kill(pids(app)[0], signal.SIGKILL)
        looks.join()
        assert len(found) == 10
        for table in found:
            assert np.array_equal(np.sort(table["key"].to_numpy()), keys)


@pytest.mark.parametrize("look", ["copy", "to_arrow"])
def test_a_worker_comes_back_between_two_questions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, look: str) -> None:
    """It is not at the version that is held, and says nothing of it: all are asked again."""
    with ab.run(Ledger(), workers=2, hosts="processes", tier="python", checkpoint=tmp_path) as app:
        app.add.many({"key": list(range(100)), "value": [1.0] * 100})
        links, right, asked = app._engine.driver._fleet.links, Questions.ask, list[Any]()

        def ask(self: Questions, question: Any, messages: Any, *rest: Any) -> Any:
            asked.append(messages)
            found = right(self, question, messages, *rest)
            if len(asked) == 1:
                was = links[1]
                os.kill(pids(app)[1], signal.SIGKILL)
                wait_until(lambda: links.get(1) not in (None, was), "no other has come")
            return found

        monkeypatch.setattr(Questions, "ask", ask)
        whole = getattr(app.state.totals, look)()
        assert len(whole) == 100
        assert len(asked) > 2
