"""The bar: on a terminal, for long batches, on stderr; gone when the batch is over, also when it was interrupted."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from anabranch.engines.embedded import progress as module
from anabranch.engines.embedded.progress import progress

ROOT = Path(__file__).parents[3]
BATCH = """
import os, sys, threading, time
import anabranch as ab
from anabranch.engines.embedded import progress
from tests.engines.embedded import shop

class Pace:
    def sleep(seconds):
        if not hurry.is_set():
            time.sleep(seconds)

def listen():
    if os.read(0, 1):
        hurry.set()

rows, seconds, progress.PATIENCE = int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3])
shop.time, hurry = Pace, threading.Event()
threading.Thread(target=listen, daemon=True).start()
app = ab.run(shop.Shop(), workers=2)
print("go", flush=True)
try:
    result = app.slow.many({"user": list(range(rows)), "seconds": [seconds] * rows})
    print(len(result["result"]), flush=True)
except KeyboardInterrupt:
    print("interrupted", flush=True)
app.stop()
"""
HIDE, SHOW, ERASE = "\x1b[?25l", "\x1b[?25h", "\x1b[2K"
TIMEOUT = 300.0  # seconds that count as for ever, on however slow a machine
Act = Callable[["subprocess.Popen[bytes]"], object]


def hurry(child: subprocess.Popen[bytes]) -> None:
    """Let the rest of the rows take no time."""
    assert child.stdin is not None
    child.stdin.write(b"!")
    child.stdin.flush()


def on_terminal(
    rows: int,
    seconds: float,
    patience: float = 0.2,
    when: Callable[[str], object] | None = None,
    act: Act = hurry,
    hang_up: bool = False,
) -> tuple[str, str]:
    """What a batch prints on stdout, a pipe, and on stderr, a terminal; when that shows something, act, once.

    The rows are slow enough for a batch to last until then on any machine.
    """
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", BATCH, str(rows), str(seconds), str(patience)]
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100", "LINES": "30"}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, stderr=theirs, env=environment) as child:
        os.close(theirs)
        assert child.stdout is not None
        assert child.stdout.readline() == b"go\n"
        end, shown = time.monotonic() + TIMEOUT, b""
        while time.monotonic() < end:
            if select.select([ours], [], [], 1.0)[0]:
                try:
                    shown += os.read(ours, 65536)
                except OSError:  # the other side is closed
                    break
                if when is not None and when(shown.decode(errors="ignore")):
                    when = None
                    if hang_up:
                        break
                    act(child)
        os.close(ours)
        if hang_up:
            time.sleep(0.3)  # in which it would draw the bar again
            act(child)
        printed = child.stdout.read()
        assert child.wait(TIMEOUT) == 0
    return printed.decode(), shown.decode()


def plain(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)


def counts(shown: str) -> list[int]:
    return [int(n) for n in re.findall(r"slow .*?(\d+)/2000", plain(shown))]


def test_a_long_batch_shows_a_bar_and_takes_it_away() -> None:
    printed, shown = on_terminal(2_000, 0.03, when=lambda shown: len(set(counts(shown))) >= 3)
    assert printed == "2000\n"
    seen = counts(shown)
    assert len(set(seen)) >= 3 and seen == sorted(seen) and max(seen) <= 2_000
    assert shown.count(HIDE) == shown.count(SHOW) == 1
    # After the last frame the cursor is back at the start of an empty line.
    assert shown.rindex(SHOW) > shown.rindex("/2000") and shown.rindex(ERASE) > shown.rindex("/2000")


def test_ctrl_c_takes_the_bar_away() -> None:
    printed, shown = on_terminal(
        9_000, 0.005, when=lambda shown: "/9000" in shown, act=lambda child: child.send_signal(signal.SIGINT)
    )
    assert printed == "interrupted\n"
    assert shown.count(HIDE) == shown.count(SHOW) == 1 and shown.rindex(ERASE) > shown.rindex("/9000")


@pytest.mark.parametrize(("rows", "seconds"), [(2_000, 0.0), (300, 0.002)])
def test_short_batches_show_nothing(rows: int, seconds: float) -> None:
    assert on_terminal(rows, seconds, 0.2 if rows < 2_000 else TIMEOUT) == (f"{rows}\n", "")


def test_a_batch_does_not_need_the_terminal_it_started_on() -> None:
    printed, shown = on_terminal(2_000, 0.03, when=lambda shown: HIDE in shown, hang_up=True)
    assert printed == "2000\n" and HIDE in shown


def test_without_a_terminal_nothing_is_printed() -> None:
    command = [sys.executable, "-c", BATCH, "2000", "0.0003", "0.1"]
    done = subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TIMEOUT)
    assert (done.stdout, done.stderr, done.returncode) == ("go\n2000\n", "", 0)


@pytest.mark.parametrize("stderr", [None, "closed", "bare"])
def test_a_process_may_have_no_stderr(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, stderr: str | None) -> None:
    class Bare:
        def isatty(self) -> bool:
            return False

    closed = (tmp_path / "errors").open("w")
    closed.close()
    monkeypatch.setattr(sys, "stderr", {None: None, "closed": closed, "bare": Bare()}[stderr])
    with progress("entry", module.ROWS) as watch:
        assert watch is None
