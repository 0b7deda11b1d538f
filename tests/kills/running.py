"""A driver, as the story sees it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from tests.jvm import find_jvm
from tests.kills.plan import Plan
from tests.kills.processes import MARK

ROOT = Path(__file__).resolve().parents[2]
ENDED = "ended"
SOON = 30.0  # seconds in which all is heard that it has said
LAST = ("wrong", ENDED, "failed", "end of its output")


class Failed(AssertionError):
    """A driver that did not do what it should; with what it has printed."""


class Ended(Failed):
    """A run that has ended, and said why."""


def environment(plan: Plan, token: str) -> dict[str, str]:
    found = {name: x for name, x in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    found |= {MARK: token, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
    if plan.on_spark:
        found |= {"JAVA_HOME": str(find_jvm()), "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_LOCAL_HOSTNAME": "localhost"}
        found |= {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
    return found


class Driver:
    def __init__(self, plan: Plan, token: str) -> None:
        self.printed = plan.home / "printed"
        self._said: dict[str, Any] = {}
        self._heard = threading.Condition()
        with self.printed.open("ab") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.kills.driver", plan.text()],
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=environment(plan, token),
                start_new_session=True,
            )
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith(b"[") and line.endswith(b"\n"):
                self._hear(*json.loads(line))
        self._hear(LAST[-1])

    def _hear(self, what: str, told: Any = None) -> None:
        with self._heard:
            self._said[what] = told
            self._heard.notify_all()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def application(self) -> str | None:
        """Of Spark."""
        return self._said.get("spark")

    @property
    def settled(self) -> list[str]:
        """What became of requests that were in flight before it started."""
        return list(self._said.get("settled") or ())

    @property
    def moves(self) -> int:
        """How often it has gone on with other workers."""
        return int(self._said.get("scaled", 0))

    def wait_for_a_move(self, patience: float) -> bool:
        """Until it begins to move state; False if it does not."""
        with self._heard:
            before = self._said.get("scaling", -1)
            return bool(self._heard.wait_for(lambda: self._said.get("scaling", -1) != before, patience))

    @property
    def lives(self) -> bool:
        return self._process.poll() is None

    def wait_for(self, wanted: str, patience: float) -> None:
        """Until it has said so; `Ended` if its run has ended, `Failed` if anything else is wrong."""
        with self._heard:
            self._heard.wait_for(lambda: self._said.keys() & {wanted, *LAST}, patience)
        if wanted not in self._said:
            raise self.failure(f"not {wanted} within {patience:g} s")

    def failure(self, otherwise: str) -> Failed:
        """Why it does not go on."""
        if not self.lives:
            with self._heard:
                self._heard.wait_for(lambda: LAST[-1] in self._said, SOON)
        if ENDED in self._said:
            ended = Ended(self._said[ENDED])
            ended.add_note(self.story())
            return ended
        last = next((f"{what}: {self._said[what]}" for what in LAST if what in self._said), otherwise)
        return Failed(last + self.story())

    def story(self) -> str:
        """What it is doing, and what it has printed."""
        if self.lives:
            self._process.send_signal(signal.SIGUSR1)
            time.sleep(0.5)
        return "\n" + self.printed.read_text(errors="replace")[-20_000:]

    def ends(self) -> None:
        """Let it end in peace."""
        assert self._process.stdin is not None
        self._process.stdin.close()

    def bury(self, patience: float) -> int:
        return self._process.wait(patience)

    def close(self) -> None:
        """After its end."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
