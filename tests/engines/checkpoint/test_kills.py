"""Processes that are killed at any moment: what they said was done is there, and at most one request besides."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.engines.checkpoint.bank import Bank
from tests.engines.checkpoint.model import run

ROOT = Path(__file__).parents[3]


def pay_until_killed(folder: Path, chance: random.Random, workers: int, hosts: str, tier: str) -> tuple[int, int]:
    """How many batches it began with, and the last it said was done."""
    command = [sys.executable, "-m", "tests.engines.checkpoint.payer", str(folder), str(workers), hosts, "0.02", tier]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        assert process.stdout is not None
        start = process.stdout.readline().split()
        assert start[:1] == ["start"], "it did not start"
        began = last = int(start[1])
        stop = chance.randrange(1, 150)
        for line in process.stdout:
            last = int(line.split()[1])
            if last - began >= stop:
                break
        os.killpg(process.pid, signal.SIGKILL)
        for line in process.stdout:
            if line.endswith("\n"):
                last = int(line.split()[1])
    return began, last


def assert_paid(folder: Path, done: int) -> int:
    """All that was said to be done is there, and nothing in part; gives how many batches there are."""
    with run(folder, tier="python") as app:
        found = app.sight()
        assert found % 10 == 0
        count = int(found) // 10
        assert count in (done, done + 1)
        plain = Bank()
        for i in range(count):
            chance = random.Random(i)
            for k in [chance.randrange(1000) for _ in range(10)]:
                plain.pay(k, 1)
        assert app.state.accounts.copy() == plain.accounts
        assert app.state.seen.copy() == plain.seen
    return count


@pytest.mark.parametrize("seed", range(4))
def test_a_process_is_killed_at_any_moment(tmp_path: Path, seed: int) -> None:
    chance, done = random.Random(seed), 0
    for _ in range(2):
        tier = "python" if seed % 2 else "auto"
        began, last = pay_until_killed(tmp_path, chance, 1 + chance.randrange(3), "threads", tier)
        assert began == done
        done = assert_paid(tmp_path, last)
