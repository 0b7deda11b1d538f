"""Workers that are killed or stopped: everybody who waits is told, and nothing is left."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest

import anabranch as ab
from anabranch.drivers.callers import StateLost, Stopped
from anabranch.drivers.fleet import Patience
from anabranch.drivers.nursery import Nursery
from anabranch.drivers.processes import Processes
from tests.conformance.engines import nursery
from tests.drivers.processes.tools import (
    LATE,
    ROOT,
    SHORT,
    SOON,
    Call,
    all_end,
    children,
    lives,
    pids,
    start,
    wait_until,
)
from tests.drivers.processes.village import Village

KILLED = r"worker {} is lost \(its process ended with signal SIGKILL\), and with it the state it held: .* ab.run"


def kill(pid: int, number: int = signal.SIGKILL) -> None:
    os.kill(pid, number)


def everything_is_refused(app: Any, match: str) -> None:
    calls: list[Callable[[], Any]] = [
        lambda: app.come(1),
        lambda: app.come.many({"k": list(range(500))}),
        lambda: app.move(1, 2),
        lambda: app.state.people[1],
        lambda: app.state.people.copy(),
        lambda: app.state.people.load([(1, 1)]),
        lambda: app.state.people.nbytes,
        app.metrics,
        app.history,
    ]
    for call in calls:
        begun = time.monotonic()
        with pytest.raises(StateLost, match=match):
            call()
        assert time.monotonic() - begun < SOON


def test_killed_while_idle() -> None:
    app = start()
    with all_end(app) as mine:
        app.come(1)
        kill(mine[1])
        wait_until(lambda: app._engine.driver.closed, "nobody notices", SOON)
        everything_is_refused(app, KILLED.format(1))
        assert "stopped" in repr(app)


def test_killed_in_the_middle_of_a_batch() -> None:
    app = start()
    with all_end(app) as mine:
        calls = [Call(lambda: app.rest.many({"k": list(range(500)), "seconds": [0.05] * 500}))]
        wait_until(lambda: app._engine.coordinator.running, "the batch does not begin")
        calls += [
            Call(lambda: app.come(1)),
            Call(lambda: app.come.many({"k": list(range(200))})),
            Call(lambda: app.state.people.copy()),
            Call(app.metrics),
        ]
        wait_until(lambda: len(app._engine.driver.desk.waiters) == len(calls), "a call does not arrive")
        kill(mine[0])
        end = time.monotonic() + SOON
        for call in calls:
            with pytest.raises(StateLost, match=KILLED.format(0)):
                call.done(end - time.monotonic())
        everything_is_refused(app, KILLED.format(0))


@pytest.mark.parametrize("read", ["copy", "load", "metrics"])
def test_killed_while_someone_holds_the_state(read: str) -> None:
    app = start(patience=Patience(stall=60.0))
    with all_end(app) as mine:
        app.come(1)
        kill(mine[1], signal.SIGSTOP)
        calls: dict[str, Callable[[], Any]] = {
            "copy": app.state.people.copy,
            "load": lambda: app.state.people.load({"key": list(range(100)), "value": [1] * 100}),
            "metrics": app.metrics,
        }
        call = Call(calls[read])
        wait_until(lambda: app._engine.coordinator.held is not None, "it never holds the state")
        kill(mine[1])
        with pytest.raises(StateLost, match=KILLED.format(1)):
            call.done(SOON)


def test_killed_while_a_block_holds_the_state() -> None:
    app = start()
    with all_end(app) as mine:
        with app._engine.driver.hold():
            kill(mine[0])
            wait_until(lambda: app._engine.driver.closed, "nobody notices", SOON)
        everything_is_refused(app, KILLED.format(0))


class Deadly(Processes):
    """Kills the first worker as soon as it is born, or a moment later, as often as it may."""

    delay, times = 0.0, 1

    def _start(self, told: Any, ended: Any) -> None:
        super()._start(told, ended)
        if told["number"] == 0 and self.times:
            self.times -= 1
            time.sleep(self.delay)
            if 0 in self.pids:
                kill(self.pids[0])


@pytest.mark.parametrize("delay", [0.0, 0.05, 0.2])
def test_killed_during_the_start(delay: float) -> None:
    """It has no state yet, and another is started; unless it was there already."""
    hosts = Deadly(2, nursery())
    hosts.delay = delay
    before = children(nursery()._process.pid)
    begun = time.monotonic()
    try:
        with start(hosts=hosts) as app:
            assert app.come(1) == 1
    except StateLost as error:
        # Both ends are right. One that was started in its place may have been sent away before its end was known.
        lost = str(error)
        assert re.match(r"worker 0 is lost \(its process ended with (signal SIGKILL|code 0)\)", lost)
    assert time.monotonic() - begun < SHORT.start / 2
    assert children(nursery()._process.pid) <= before


def test_killed_whenever_it_starts() -> None:
    hosts = Deadly(2, nursery())
    hosts.times = 100
    before = children(nursery()._process.pid)
    with pytest.raises(StateLost, match=KILLED.format(0)):
        start(hosts=hosts)
    assert children(nursery()._process.pid) <= before


def test_a_stopped_worker_is_lost_after_the_stall_and_stop_ends_it() -> None:
    app = start()
    with all_end(app) as mine:
        app.come.many({"k": list(range(100))})
        kill(mine[0], signal.SIGSTOP)
        begun = time.monotonic()
        call = Call(lambda: app.come.many({"k": list(range(100))}))
        with pytest.raises(StateLost, match=r"worker 0 is lost \(it has not answered for 2 s\)"):
            call.done(SHORT.stall + 2 * SOON)
        assert time.monotonic() - begun > SHORT.stall / 2
        everything_is_refused(app, "it has not answered for 2 s")
        begun = time.monotonic()
    assert time.monotonic() - begun < SHORT.stop


def test_a_worker_that_goes_on_in_time_is_not_lost() -> None:
    app = start()
    with all_end(app) as mine:
        kill(mine[0], signal.SIGSTOP)
        call = Call(lambda: app.come.many({"k": list(range(100))}))
        time.sleep(SHORT.stall / 3)
        kill(mine[0], signal.SIGCONT)
        call.done()
        assert app.come(1) == 2


def test_the_death_of_the_nursery_is_not_that_of_its_workers() -> None:
    own = Nursery()
    app = start(hosts=Processes(2, own))
    mine = pids(app)
    app.come(1)
    kill(own._process.pid)
    own._process.wait()
    assert app.come(1) == 2
    with pytest.raises(RuntimeError, match="the process that starts workers has ended"):
        start(hosts=Processes(2, own))
    app.stop()
    wait_until(lambda: not any(map(lives, mine.values())), "a worker is left")
    own.close()


def test_an_app_of_its_own_nursery_leaves_nothing() -> None:
    before = children(os.getpid())
    with ab.run(Village(), workers=2, hosts="processes") as app:
        app.come(1)
        assert len(children(os.getpid()) - before) == 1
    assert children(os.getpid()) <= before
    with pytest.raises(Stopped):
        app.come(1)


def test_a_program_that_cannot_start_costs_no_process() -> None:
    class Wrong(ab.Program):
        table: ab.Partitioned[ab.Table[int, int]]

        def size(self) -> int:
            return len(self.table)

    before = children(os.getpid())
    with pytest.raises(ab.CompileError):
        ab.run(Wrong(), workers=2, hosts="processes")
    assert children(os.getpid()) <= before


def test_stop_while_others_read() -> None:
    """Who holds the state is waited for; whoever comes later is refused; nobody waits for ever."""
    app = start()
    app.come.many({"k": list(range(2000))})

    def read() -> None:
        while True:
            app.state.people.copy()
            app.metrics()

    calls = [Call(read) for _ in range(3)]
    time.sleep(0.2)
    with all_end(app):
        pass
    for call in calls:
        with pytest.raises(Stopped):
            call.done(2 * SOON)


def test_stop_with_a_stopped_worker_and_a_reader() -> None:
    app = start(patience=Patience(stall=60.0, stop=1.0))
    with all_end(app) as mine:
        kill(mine[1], signal.SIGSTOP)
        call = Call(app.state.people.copy)
        wait_until(lambda: app._engine.coordinator.held is not None, "it never holds the state")
    with pytest.raises(Stopped):
        call.done(SOON)


# -- the process of the coordinator -----------------------------------------------------------------------------------

DRIVER = """
import sys, threading, time
import anabranch as ab
from tests.drivers.processes.village import Village
if __name__ == "__main__":
    app = ab.run(Village(), workers=2, hosts="processes", tier="python")
    launcher = app._engine.driver._launcher
    app.come.many({{"k": list(range(100))}})
    busy = lambda: app.work.many({{"k": list(range(100)), "seconds": [60.0] * 100}})
    if {busy}:
        threading.Thread(target=busy, daemon=True).start()
        while not app._engine.coordinator.running:
            time.sleep(0.001)
    print(*launcher.pids.values(), launcher._nursery._process.pid, flush=True)
    {then}
"""


def driver(busy: bool, then: str) -> subprocess.Popen[str]:
    code = DRIVER.format(busy=busy, then=then)
    pipe = subprocess.PIPE
    return subprocess.Popen([sys.executable, "-c", code], stdout=pipe, stderr=pipe, text=True, cwd=ROOT)


@pytest.mark.parametrize("busy", [False, True])
def test_all_end_when_the_coordinators_process_is_killed(busy: bool) -> None:
    with driver(busy, "time.sleep(600)") as process:
        assert process.stdout is not None and process.stderr is not None
        mine = [int(pid) for pid in process.stdout.readline().split()]
        assert len(mine) == 3 and all(map(lives, mine))
        process.kill()
        begun = time.monotonic()
        wait_until(lambda: not any(map(lives, mine)), "some of ours live on", 10.0)
        assert time.monotonic() - begun < 5.0
        assert process.stderr.read() == ""


@pytest.mark.parametrize("busy", [False, True])
def test_an_app_that_is_never_stopped_keeps_nothing(busy: bool) -> None:
    with driver(busy, "pass") as process:
        out, err = process.communicate(timeout=LATE)
    assert (process.returncode, err) == (0, "")
    mine = [int(pid) for pid in out.split()]
    assert len(mine) == 3 and not any(map(lives, mine))


def test_a_process_that_was_stopped_itself_loses_nobody() -> None:
    then = 'time.sleep(0.1); print("ready", flush=True); sys.stdin.readline(); print(app.come(1), flush=True)'
    code = DRIVER.format(busy=False, then=then).replace(
        'ab.run(Village(), workers=2, hosts="processes", tier="python")', "start(hosts=Processes(2))"
    )
    code = "from tests.drivers.processes.tools import start, Processes\n" + code
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", code], stdin=pipe, stdout=pipe, text=True, cwd=ROOT) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdout.readline()
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGSTOP)
        time.sleep(1.5 * SHORT.stall)
        process.send_signal(signal.SIGCONT)
        time.sleep(0.7)  # in which a watch that takes its own sleep for theirs would end the run
        process.stdin.write("\n")
        process.stdin.flush()
        assert process.stdout.readline() == "2\n"
