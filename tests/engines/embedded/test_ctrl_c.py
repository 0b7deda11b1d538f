"""Ctrl-C at random moments of real processes: the caller gets it at once, and the app goes on as if nothing was."""

from __future__ import annotations

import contextlib
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import anabranch as ab
from anabranch.engines.embedded.hot import APART
from tests.engines.embedded.till import Till

ROOT = Path(__file__).parents[3]
PROMPT = 60.0  # seconds from Ctrl-C to KeyboardInterrupt that count as never, on however busy a machine


def interrupt(scenario: str, rounds: int, most: float, seed: int = 0, times: int = 1) -> None:
    """Run a scenario and send it SIGINT in each round, at most so many seconds after its start."""
    pick = random.Random(f"{scenario} {seed}")
    command = [sys.executable, "-m", "tests.engines.embedded.interrupted", scenario, str(rounds), str(seed)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as child:
        assert child.stdin is not None and child.stdout is not None
        said = child.stdout.readline()
        for number in range(rounds):
            if said != "go\n":
                break
            time.sleep(pick.random() ** 2 * most)
            start = time.monotonic()
            for _ in range(times):
                child.send_signal(signal.SIGINT)
                time.sleep(pick.random() * 0.001 if times > 1 else 0.0)
            if times > 1:
                with contextlib.suppress(BrokenPipeError):  # then stderr says why
                    child.stdin.write("!")
                    child.stdin.flush()
            said = child.stdout.readline()
            taken = time.monotonic() - start
            assert taken < PROMPT or said != "go\n", f"round {number} took {taken:.1f} s"
        rest, errors = child.communicate(timeout=600)
    assert not errors, f"round {number}\n{errors}"
    assert said + rest == "done\n"


@pytest.mark.parametrize(
    ("scenario", "rounds", "most"),
    [("calls", 15, 0.02), ("endless", 15, 0.05), ("batches", 12, 0.08), ("winding", 10, 0.1), ("reads", 12, 0.03)],
)
def test_the_app_is_as_if_the_interrupted_request_had_not_been_made(scenario: str, rounds: int, most: float) -> None:
    interrupt(scenario, rounds, most)


def test_a_call_that_waits_behind_a_batch_of_another_thread() -> None:
    interrupt("behind", 8, 0.05)


def test_who_presses_ctrl_c_again_and_again() -> None:
    interrupt("impatient", 12, 0.02, times=3)


def test_what_is_committed_is_counted_to_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which keys are hot is asked of the user's code, after the commit: that must not be cut short."""
    with ab.run(Till(), workers=2) as app:
        app.lines(1)
        looked: list[int] = []
        monkeypatch.setattr(app._meter, "add", lambda committed: signal.raise_signal(signal.SIGINT))
        monkeypatch.setattr(app._hot, "_due", APART)
        look = app._hot._look
        monkeypatch.setattr(app._hot, "_look", lambda *args: (look(*args), looked.append(1)))
        with pytest.raises(KeyboardInterrupt):
            app.lines(1)
        monkeypatch.undo()
        assert looked == [1]
        assert app.lines(2) == 1
