"""A process that is told Ctrl-C at any moment: `python -m tests.engines.embedded.interrupted SCENARIO ROUNDS`.

In every round it says "go", works until KeyboardInterrupt arrives, and checks that the app is as if nothing but whole
requests had ever been made. It ends with "done"; whatever else it says is a mistake. Who waits too long is ended with
the stacks of all threads.
"""

from __future__ import annotations

import faulthandler
import itertools
import os
import random
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import anabranch as ab
from anabranch.lang.marks import same_state
from tests.engines.embedded.shop import OutOfStock
from tests.engines.embedded.till import Till

PATIENCE = 60.0  # seconds in which a round is over, on however slow a machine


def check(app: Any) -> None:
    left, right = app.state.left.copy(), app.state.right.copy()
    assert dict(left.items()) == dict(right.items()), "half of a request was applied"
    assert app._engine.driver.desk.rows == 0, f"{app._engine.driver.desk.rows} rows were never given back at the gate"
    for part in app.state.rows.instances():
        assert sum(len(part.row(k)) for k in range(-1, 40)) == len(part), "the index of a table is broken"


def check_history(app: Any, loads: bool) -> None:
    history = app.history()
    assert history.complete is not loads
    if loads:
        return
    again, _ = history.replay(Till())
    for name in app.state:
        for ours, theirs in zip(app.state[name].instances(), again.instances(name), strict=True):
            assert same_state(ours, theirs), f"{name} is not what the history says"


def calls(app: Any) -> None:
    """Many short calls on this thread."""
    for k in itertools.count():
        app.both(k % 7)
        app.winds(k % 7, k % 5)
        app.fans([k % 3, k % 7, 1])
        app.lines(k % 5)
        try:
            app.fails(k % 7)
        except OutOfStock:
            pass
        else:
            raise AssertionError("it did not fail")


def endless(app: Any) -> None:
    """A call that never ends."""
    pick = random.choice(["spins", "writes", "multiplies", "counts", "fans_out_for_ever", "winds_for_ever"])
    app.entries[pick](*{"fans_out_for_ever": ([1, 2, 3],), "winds_for_ever": (1, 2)}.get(pick, (1,)))


def batches(app: Any) -> None:
    """Batches on worker threads, from the moment on in which they are routed."""
    size = random.choice([100, 2_000, 20_000])
    data = {"k": [k % 31 for k in range(size)]}
    while True:
        app.both.many(data)
        app.fans.many({"ks": [[1, 2, k % 9] for k in range(size // 10)]})


def winding(app: Any) -> None:
    size = random.choice([100, 5_000])
    while True:
        app.winds.many({"k": [k % 31 for k in range(size)], "other": [k % 7 for k in range(size)]})
        app.slow_winding.many({"k": [1] * 100, "other": [2] * 100, "seconds": [0.001] * 100})


def reads(app: Any) -> None:
    """Look at the state, fill it, ask for numbers."""
    for k in itertools.count():
        assert app.state.left[k % 7] == app.state.right[k % 7]
        assert len(set(app.state.rows.row(k % 7).values())) <= 1, "half of a load was applied"
        app.state.rows.load({"key": [(k % 7, i) for i in range(200)], "value": [k] * 200})
        app.history()
        app.state.left.to_arrow()
        if k % 5 == 0:
            app.metrics()


@contextmanager
def beside(app: Any) -> Iterator[None]:
    """Another thread is at work: calls of this one wait behind its batches."""
    over = threading.Event()

    def other() -> None:
        while not over.is_set():
            app.slow.many({"k": [k % 9 for k in range(100)], "seconds": [0.0005] * 100})

    thread = threading.Thread(target=other, daemon=True)
    thread.start()
    time.sleep(0.02)
    yield
    over.set()
    thread.join(PATIENCE)
    assert not thread.is_alive(), "another thread's batch was never answered"


def behind(app: Any) -> None:
    for k in itertools.count():
        app.both(k % 7)
        app.winds(k % 7, 3)
        app.state.left.get(3)


def impatient(app: Any) -> None:
    """Who presses Ctrl-C presses it three times."""
    for k in itertools.count():
        app.slow(1, 0.0002)
        app.slow_winding(1, 2, 0.0002)
        app.both.many({"k": list(range(40)) * 3})
        app.fans([k % 3, k % 7, 1])


SCENARIOS: dict[str, Callable[[Any], None]] = {
    f.__name__: f for f in (calls, endless, batches, winding, reads, behind, impatient)
}


def wake() -> None:
    """CPython 3.11 may forget a signal that arrives while a thread takes the lock of the interpreter; the next thread
    that wants it brings the signal back. (A loop without an app loses one in some ten thousand.)"""
    while True:
        time.sleep(0.02)


def main(scenario: str, rounds: int, seed: int) -> None:
    threading.Thread(target=wake, daemon=True).start()
    random.seed(seed)
    work = SCENARIOS[scenario]
    thrice = Thrice() if work is impatient else None
    app = ab.run(Till(), workers=2, history=True)
    for number in range(rounds):
        faulthandler.dump_traceback_later(PATIENCE, exit=True)
        if work is behind:
            with beside(app):
                until_interrupt(work, app)
        elif thrice is not None:
            until_three_interrupts(work, app, thrice)
        else:
            until_interrupt(work, app)
        answer = app.both(50)
        assert answer == number + 1, f"{answer} is not {number + 1}"
        check(app)
    faulthandler.dump_traceback_later(5 * PATIENCE, exit=True)
    check_history(app, work is reads)
    app.stop()
    assert not any(t.is_alive() for t in app._engine.driver.threads)
    print("done", flush=True)


def until_interrupt(work: Callable[[Any], None], app: Any) -> None:
    try:
        print("go", flush=True)
        work(app)
    except KeyboardInterrupt:
        return
    raise AssertionError("it ended without an interrupt")


class Thrice:
    """Raises KeyboardInterrupt at most three times in a round, and not after the byte that says these were all."""

    def __init__(self) -> None:
        self.left = 0
        signal.signal(signal.SIGINT, self.handle)

    def handle(self, number: int, frame: Any) -> None:
        if self.left:
            self.left -= 1
            raise KeyboardInterrupt

    def wait_for_all(self) -> None:
        select.select([0], [], [])
        self.left = 0


def until_three_interrupts(work: Callable[[Any], None], app: Any, thrice: Thrice) -> None:
    """The second and third come in the middle of what the first one makes necessary, or later, or as one."""
    thrice.left = 3
    try:
        try:
            try:
                print("go", flush=True)
                work(app)
            except KeyboardInterrupt:
                thrice.wait_for_all()
        except KeyboardInterrupt:
            thrice.wait_for_all()
    except KeyboardInterrupt:
        thrice.wait_for_all()
    os.read(0, 1)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
