"""Forks: apps of their own from the state of another."""

from __future__ import annotations

import copy
import gc
import os
import random
import signal
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anabranch as ab
from tests.drivers.processes.tools import pids, wait_until
from tests.engines.checkpoint.bank import Bank
from tests.engines.checkpoint.model import assert_alike, step
from tests.engines.forks.tools import HOSTS, app_of, children


def story(chance: random.Random, hosts: str, tier: str, steps: int) -> None:
    """Apps that fork and take steps in any order, each beside a plain program of its own."""
    apps: list[tuple[Bank, Any]] = [(Bank(), app_of(hosts, tier))]
    try:
        for _ in range(steps):
            program, app = chance.choice(apps)
            if len(apps) < 4 and chance.random() < 0.2:
                apps.append((copy.deepcopy(program), app.fork()))
            else:
                step(chance, program, app)
        for program, app in apps:
            assert_alike(program, app)
    finally:
        chance.shuffle(apps)  # whoever is first, the others go on
        for _, app in apps:
            app.stop()


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 1 << 30))
def test_nobody_sees_what_the_other_writes(seed: int) -> None:
    story(random.Random(seed), "threads", "python", 30)


@pytest.mark.parametrize("hosts", HOSTS)
@pytest.mark.parametrize("tier", ["python", "compiled"])
def test_nobody_sees_what_the_other_writes_on_every_host_and_tier(hosts: str, tier: str) -> None:
    story(random.Random(hosts + tier), hosts, tier, 40)


@pytest.mark.parametrize("hosts", HOSTS)
def test_a_fork_goes_on_when_the_app_has_stopped(hosts: str) -> None:
    app = app_of(hosts)
    app.pay(1, 5)
    fork = app.fork()
    app.stop()
    with pytest.raises(ab.Stopped):
        app.pay(1, 1)
    assert fork.pay(1, 1) == 106
    again = fork.fork()
    fork.stop()
    assert again.pay(1, 1) == 107
    again.stop()
    again.stop()
    with pytest.raises(ab.Stopped):
        again.pay(1, 1)


@pytest.mark.parametrize("hosts", HOSTS)
def test_forks_are_made_while_callers_run(hosts: str) -> None:
    """Every fork is the state between two requests: each takes as much from one account as it gives another."""
    with app_of(hosts) as app:
        stop = threading.Event()

        def pay() -> None:
            chance = random.Random(threading.get_ident())
            while not stop.is_set():
                app.transfer(chance.randrange(8), chance.randrange(8), 7)

        app.state.accounts.load({"key": list(range(8)), "value": [100] * 8})
        callers = [threading.Thread(target=pay) for _ in range(2)]
        for caller in callers:
            caller.start()
        try:
            for _ in range(5):
                with app.fork() as fork:
                    version = fork.version
                    assert sum(value for _, value in fork.state.accounts.scan()) == 800
                    assert fork.version == version  # nobody calls it
        finally:
            stop.set()
            for caller in callers:
                caller.join()


def test_ids_that_were_answered_before_the_fork_are_known_to_it() -> None:
    with app_of("processes") as app:
        assert app.pay(1, 5, id="a") == 105
        with app.fork() as fork:
            assert fork.pay(1, 5, id="a") == 105
            assert fork.pay(1, 5, id="b") == 110
            assert app.pay(1, 7, id="b") == 112


# -- processes --------------------------------------------------------------------------------------------------------


def test_a_fork_whose_process_is_killed_is_lost_alone() -> None:
    with app_of("threads") as app:
        app.pay(1, 5)
        before = children("self")
        fork = app.fork()
        (process,) = children("self") - before
        os.kill(process, signal.SIGKILL)
        with pytest.raises(ab.ForkLost, match="The app it was made from goes on"):
            fork.pay(1, 5)
        with pytest.raises(ab.ForkLost):
            fork.state.accounts.copy()
        fork.stop()
        assert app.pay(1, 5) == 110
        with app.fork() as another:
            assert another.pay(1, 5) == 115


def test_a_fork_that_loses_one_of_its_processes_is_lost_alone() -> None:
    with app_of("processes") as app:
        app.pay(1, 5)
        fork, other = app.fork(), app.fork()
        mine = children(pids(app)[1])
        assert len(mine) == 2
        os.kill(min(mine), signal.SIGKILL)
        with pytest.raises(ab.ForkLost, match=r"make another with app\.fork"):
            pay_for_long(fork)
        fork.stop()
        assert other.pay(1, 1) == 106
        assert app.pay(1, 1) == 106
        other.stop()


def pay_for_long(app: Any) -> None:
    for _ in range(1000):
        app.transfer(1, 2, 1)


@pytest.mark.parametrize("hosts", HOSTS)
def test_no_process_is_left(hosts: str) -> None:
    with app_of(hosts) as app:
        roots = ["self"] if hosts == "threads" else list(pids(app).values())
        before = {root: children(root) for root in roots}
        forks = [app.fork() for _ in range(3)]
        assert all(len(children(root)) == len(before[root]) + 3 for root in roots)
        for fork in forks:
            fork.stop()
        wait_until(lambda: {root: children(root) for root in roots} == before, "processes of forks are left")


def test_a_fork_that_nobody_has_any_more_ends() -> None:
    with app_of("threads") as app:
        before = children("self")
        fork = app.fork()
        assert children("self") != before
        del fork
        gc.collect()
        wait_until(lambda: children("self") == before, "the process of a fork is left")


def test_a_fork_ends_with_the_process_that_made_it() -> None:
    made, told = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            app = app_of("threads")
            before = children("self")
            fork = app.fork()
            os.write(told, str(min(children("self") - before)).encode())
            fork.pay(1, 1)
            os.kill(os.getpid(), signal.SIGKILL)
        finally:
            os._exit(1)  # whatever went wrong, no second run of the tests
    os.close(told)
    process = int(os.read(made, 64))
    os.waitpid(pid, 0)
    wait_until(lambda: not Path(f"/proc/{process}").exists(), "the fork has outlived its app")


def test_a_fork_touches_nothing_that_was_open(tmp_path: Path) -> None:
    opened = (tmp_path / "file").open("w+")
    opened.write("kept in a buffer")
    with app_of("threads") as app:
        fork = app.fork()
        links = [str(f.readlink()) for f in Path(f"/proc/{fork._child.pid}/fd").iterdir()]
        assert str(tmp_path / "file") not in links
        fork.stop()
    opened.close()
    assert (tmp_path / "file").read_text() == "kept in a buffer"


def test_memory_is_shared_until_it_is_written() -> None:
    with app_of("threads", "compiled", 1, Wide()) as app:
        keys = np.arange(4_000_000)
        app.put.many({"k": keys, "x": keys * 0.0 + 1.0})
        size = app.state.cells.nbytes
        with app.fork() as fork:
            assert fork.get(7) == 1.0
            assert private(fork) < size // 3
            fork.put.many({"k": keys, "x": keys * 0.0 + 2.0})
            assert private(fork) > size // 3
            assert (fork.get(7), app.get(7)) == (2.0, 1.0)


def private(fork: Any) -> int:
    """Bytes of memory that only the fork has."""
    told = Path(f"/proc/{fork._child.pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) << 10 for line in told if line.startswith("Private_Dirty"))


class Wide(ab.Program):
    cells: ab.Partitioned[ab.Table[int, float]]

    def put(self, k: int, x: float) -> None:
        self.cells[k] = x

    def get(self, k: int) -> float:
        return self.cells[k]


# -- saved ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("hosts", HOSTS)
def test_a_fork_with_a_location_of_its_own_can_be_started_again(tmp_path: Path, hosts: str) -> None:
    chance, program = random.Random(hosts), Bank()
    with app_of(hosts) as app:
        for _ in range(20):
            step(chance, program, app)
        other = copy.deepcopy(program)
        fork = app.fork(checkpoint=tmp_path / "fork")
        for _ in range(20):
            step(chance, other, fork)
            step(chance, program, app)
        fork.stop()
        with ab.run(Bank(), workers=3, checkpoint=tmp_path / "fork") as again:
            assert_alike(other, again)
        with pytest.raises((ValueError, ab.ForkLost), match="give it another location"):
            app.fork(checkpoint=tmp_path / "fork")
        assert_alike(program, app)


def test_a_process_of_a_saved_fork_comes_back(tmp_path: Path) -> None:
    chance, program = random.Random(5), Bank()
    with app_of("processes") as app:
        for _ in range(10):
            step(chance, program, app)
        with app.fork(checkpoint=tmp_path) as fork:
            for turn in range(4):
                for _ in range(5):
                    step(chance, program, fork)
                (process,) = children(pids(app)[turn % 2])
                os.kill(process, signal.SIGKILL)
            for _ in range(5):
                step(chance, program, fork)
            assert_alike(program, fork)


# -- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("hosts", HOSTS)
def test_an_app_that_has_stopped_cannot_fork(hosts: str) -> None:
    app = app_of(hosts)
    app.stop()
    with pytest.raises(ab.Stopped):
        app.fork()


def test_a_fork_can_be_served() -> None:
    with app_of("threads") as app, app.fork() as fork, fork.serve() as served:
        with ab.connect(served.address, served.token) as far:
            assert far.pay(1, 5) == 105
        assert app.pay(1, 1) == 101


def test_a_process_of_a_fork_that_ends_before_it_is_led_takes_nobody_with_it() -> None:
    with app_of("processes") as app:
        app.pay(1, 5)
        launcher, _, _ = app._engine.driver.fork(lambda: None)
        (process,) = children(pids(app)[0])
        os.kill(process, signal.SIGKILL)
        wait_until(lambda: not children(pids(app)[0]), "it lives")
        launcher.launch("grpc://127.0.0.1:9", launcher.security, None, b"", lambda worker, why: False)
        launcher.end(5.0)
        assert app.pay(1, 5) == 110
        with app.fork() as fork:
            assert fork.pay(1, 5) == 115
