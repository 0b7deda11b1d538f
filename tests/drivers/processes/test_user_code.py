"""What user code may do in a worker, and what Ctrl-C does to its caller."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time

import pytest

from anabranch.drivers.callers import StateLost
from tests.drivers.processes.tools import ROOT, SHORT, SOON, Call, all_end, start

PROMPT = 60.0  # seconds from Ctrl-C to KeyboardInterrupt that count as never


def test_a_long_row_of_pure_python_is_not_a_dead_worker() -> None:
    app = start()
    with all_end(app):
        call = Call(lambda: app.work(1, 1.5 * SHORT.stall))
        assert call.done() == 1
        assert app.come(1) == 2


def test_user_code_that_ends_its_process() -> None:
    app = start()
    with all_end(app):
        app.come(3)
        call = Call(lambda: app.die(3, 7))
        with pytest.raises(StateLost, match=r"worker \d is lost \(its process ended with code 7\)"):
            call.done(SOON)
        with pytest.raises(StateLost, match="code 7"):
            app.come(3)


def test_stop_does_not_wait_for_a_row_that_never_ends() -> None:
    app = start()
    with all_end(app):
        call = Call(lambda: app.work(1, 600.0))
        time.sleep(0.2)
        begun = time.monotonic()
        app._engine.driver.stop(0.5)
        assert time.monotonic() - begun < 2 * SOON
        with pytest.raises(RuntimeError, match="stopped before the request was carried out"):
            call.done(SOON)


SPEAKS = """
import sys
import anabranch as ab
from tests.drivers.processes.village import Village
if __name__ == "__main__":
    with ab.run(Village(), workers=2, hosts="processes", tier="python") as app:
        app.speak.many({"k": list(range(200)), "text": [f"<{k}>" for k in range(200)]})
        assert app.come(7) == 2
        print("before", flush=True)
        try:
            app.die(1, 3)
        except ab.StateLost as error:
            print("lost", file=sys.stderr)
"""


def test_what_user_code_prints_is_not_lost() -> None:
    done = subprocess.run([sys.executable, "-c", SPEAKS], cwd=ROOT, capture_output=True, text=True, timeout=PROMPT)
    said = sorted(f"<{k}>" for k in range(200))
    assert done.returncode == 0, done.stderr
    assert sorted(line for line in done.stdout.splitlines() if "<" in line) == said
    assert sorted(line for line in done.stderr.splitlines() if "<" in line) == said
    assert done.stderr.endswith("lost\n")


@pytest.mark.parametrize("closed", [">&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_a_process_without_output_has_workers_all_the_same(closed: str) -> None:
    code = (
        "import anabranch as ab, os, sys\n"
        "from tests.drivers.processes.village import Village\n"
        "with ab.run(Village(), workers=2, hosts='processes', tier='python') as app:\n"
        "    found = app.come(1), app.come.many({'k': [1] * 100})['result'][-1]\n"
        "    pids = list(app._engine.driver._launcher.pids.values())\n"
        "left = [pid for pid in pids if os.path.exists(f'/proc/{pid}')]\n"
        "os._exit(0 if found == (1, 101) and not left else 1)\n"
    )
    done = subprocess.run(["sh", "-c", f'exec "$0" -c "$1" {closed}', sys.executable, code], cwd=ROOT, timeout=PROMPT)
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("scenario", "rounds", "most"),
    [("calls", 3, 0.1), ("batches", 3, 0.3), ("winding", 3, 0.3), ("reads", 3, 0.2), ("behind", 3, 0.2)],
)
def test_ctrl_c_takes_the_request_back(scenario: str, rounds: int, most: float) -> None:
    pick = random.Random(scenario)
    command = [sys.executable, "-m", "tests.drivers.processes.interrupted", scenario, str(rounds), "1"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, stdout=pipe, stderr=pipe, text=True) as child:
        assert child.stdout is not None
        said = child.stdout.readline()
        for number in range(rounds):
            if said != "go\n":
                break
            time.sleep(pick.random() ** 2 * most)
            begun = time.monotonic()
            child.send_signal(signal.SIGINT)
            said = child.stdout.readline()
            assert time.monotonic() - begun < PROMPT, f"round {number}"
        rest, errors = child.communicate(timeout=300)
    assert not errors, errors
    assert said + rest == "done\n"
