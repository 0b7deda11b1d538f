"""`HoldBack` keeps Ctrl-C out of our code, and lets it into the user's."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.drivers.held_back import CHECKS

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def said() -> dict[str, str]:
    command = [sys.executable, "-m", "tests.drivers.held_back"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert (done.stderr, done.returncode) == ("", 0)
    return dict(line.split(" ", 1) for line in done.stdout.splitlines())


@pytest.mark.parametrize("name", CHECKS)
def test_interrupts(said: dict[str, str], name: str) -> None:
    assert said[name] == "ok"
