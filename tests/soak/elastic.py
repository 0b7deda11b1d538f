"""Workers come and go on a cluster of Spark, as load rises and falls, while executors are killed."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import threading
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import anabranch as ab
from tests.jvm import find_jvm
from tests.kills.kinds import EXECUTOR
from tests.kills.processes import MARK, kill, of
from tests.soak.part import Part

KEYS = 20_000
CALLERS = 4
MOST = 3  # workers: the cluster has a slot more
WAVE = 60.0  # seconds from calm to calm
KILL_EVERY = 90.0  # seconds, about
PATIENCE = 300.0  # seconds without an answer that count as waiting for ever
WHAT = f"""One app on `local-cluster`, with a checkpoint: two executors in processes of their own, with two slots each.
Up to {CALLERS} threads send calls and batches; every {WAVE:g} seconds their number rises and falls, and that of the
workers follows it, from one to {MOST}. An executor is killed every {KILL_EVERY:g} seconds or so, with its workers. In
the end every state is what the answers add up to, at the app and once more when its location is opened on threads.
The time without an answer to anybody has in it what it takes to start an executor and to restore its workers."""


class Tally(ab.Program):
    counts: ab.Partitioned[ab.Table[int, int]] = ab.Table(default=0)
    names: ab.Partitioned[ab.Table[str, int]] = ab.Table(default=0)
    seen: ab.Partial[ab.Vector]
    rule: ab.Replicated[ab.Value[int]] = ab.Value(0)

    def add(self, key: int, n: int) -> int:
        self.counts[key] += n
        self.seen[key % 10] += 1.0
        return self.counts[key]

    def hand(self, key: int, name: str) -> int:
        """Winding: from one key to another."""
        self.counts[key] -= 1
        self.names[name] += 1
        return self.names[name]

    def set_rule(self, n: int) -> None:
        ab.everywhere(self.rule).value = n


class Caller:
    """One thread's requests, and what they must have done."""

    def __init__(self, app: Any, number: int) -> None:
        self.app, self.number, self.rng = app, number, Random(number)
        self.counts: Counter[int] = Counter()
        self.names: Counter[str] = Counter()
        self.seen: Counter[int] = Counter()
        self.rows = 0
        self.last: float | None = None  # when it began to wait for an answer
        self.error: BaseException | None = None

    def run(self, active: threading.Event, over: threading.Event, answered: Any) -> None:
        try:
            while not over.is_set():
                if active.wait(0.2):
                    self.last = time.monotonic()
                    self.rows += self.ask()
                    self.last = None
                    answered()
        except BaseException as error:
            self.error = error

    def ask(self) -> int:
        rng, keys = self.rng, range(self.number, KEYS, CALLERS)
        match rng.randrange(10):
            case 0:
                key, name = rng.choice(keys), f"{self.number} {rng.randrange(50)}"
                self.names[name] += 1
                self.counts[key] -= 1
                assert self.app.hand(key, name) == self.names[name], f"{name} is not what was answered before"
                return 1
            case 1:
                self.app.set_rule(self.number)
                return 1
            case 2 | 3 | 4:
                rows = [(rng.choice(keys), rng.randrange(9)) for _ in range(rng.choice((50, 2_000)))]
                answers = list(self.app.add.many(rows))
            case _:
                rows = [(rng.choice(keys), rng.randrange(9))]
                answers = [self.app.add(*rows[0])]
        for (key, n), answer in zip(rows, answers, strict=True):
            self.counts[key] += n
            self.seen[key % 10] += 1
            assert answer == self.counts[key], f"{key} is {answer}, and was {self.counts[key]} by what was answered"
        return len(rows)


class Elastic:
    """The app, its load and what becomes of it."""

    def __init__(self, part: Part, app: Any, token: str, seconds: float, follows: bool) -> None:
        self.part, self.app, self.token, self.seconds, self.follows = part, app, token, seconds, follows
        self.callers = [Caller(app, n) for n in range(CALLERS)]
        self.active = [threading.Event() for _ in self.callers]
        self.over = threading.Event()
        self.moves: dict[float, float] = {}  # how long no epoch could run, by when
        self.kills = 0
        self.pause = 0.0  # the longest time without an answer
        self._answered = time.monotonic()
        self._lock = threading.Lock()
        self._rng = Random(7)

    def run(self) -> None:
        pairs = zip(self.callers, self.active, strict=True)
        work = [lambda c=c, a=a: c.run(a, self.over, self._answer) for c, a in pairs]
        work += [lambda: self._told(self._scale), lambda: self._told(self._kill)]
        threads = [threading.Thread(target=each, daemon=True) for each in work]
        for thread in threads:
            thread.start()
        end = time.monotonic() + self.seconds
        while time.monotonic() < end and not self.part.failures:
            for number, active in enumerate(self.active):
                active.set() if number < self._wanted() else active.clear()
            self._look_for_failures()
            time.sleep(0.5)
        self.over.set()
        for thread in threads:
            thread.join(PATIENCE)
        self._look_for_failures()
        if any(thread.is_alive() for thread in threads):
            self.part.failures.append(f"threads have not ended within {PATIENCE:g} s")

    def _wanted(self) -> int:
        """How many callers: from one to all and back, once in a wave."""
        at = time.monotonic() % WAVE / WAVE
        return 1 + round((CALLERS - 1) * (1 - abs(2 * at - 1)))

    def _answer(self) -> None:
        with self._lock:
            now = time.monotonic()
            self.pause, self._answered = max(self.pause, now - self._answered), now

    def _look_for_failures(self) -> None:
        for caller in self.callers:
            since = caller.last
            if caller.error is not None:
                self.part.failures.append(f"caller {caller.number}: {type(caller.error).__name__}: {caller.error}")
            elif since is not None and time.monotonic() - since > PATIENCE:
                self.part.failures.append(f"caller {caller.number} has waited for {PATIENCE:g} s")

    def _told(self, work: Any) -> None:
        try:
            work()
        except BaseException as error:
            self.part.failures.append(f"{type(error).__name__}: {error}")
            raise

    def _scale(self) -> None:
        """As many workers as there are callers, up to the most; or whatever the app makes of the load."""
        while not self.over.wait(1.0):
            if self.follows:
                self.app.scale(workers=min(self._wanted(), MOST))
            self.moves |= {move.at: move.pause for move in self.app.metrics().moves}

    def _kill(self) -> None:
        while not self.over.wait(self._rng.uniform(0.5, 1.5) * KILL_EVERY):
            executors = of(self.token, EXECUTOR)
            if len(executors) > 1:  # while one is started again the other is left alone
                kill([self._rng.choice(executors)])
                self.kills += 1


@contextlib.contextmanager
def cluster(folder: Path, token: str) -> Iterator[Any]:
    from tests.spark.conftest import CLUSTER, Host

    settings = {MARK: token, "JAVA_HOME": str(find_jvm()), "SPARK_LOCAL_IP": "127.0.0.1"}
    settings |= {"SPARK_LOCAL_HOSTNAME": "localhost"}
    settings |= dict.fromkeys(("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"), sys.executable)
    with patch.dict(os.environ, settings):
        host = Host(folder)
        try:
            yield host.give(CLUSTER)
        finally:
            host.stop()


def soak_elastic(seconds: float, autoscale: bool = False) -> Part:
    """With `autoscale` the app follows the load by itself."""
    part, start, token = Part("An elastic cluster", WHAT), time.monotonic(), uuid.uuid4().hex
    options: dict[str, Any] = {"autoscale": ab.Autoscale(max=MOST)} if autoscale else {}
    with tempfile.TemporaryDirectory(prefix="elastic-") as name, cluster(Path(name) / "spark", token) as session:
        location = Path(name) / "location"
        with ab.run(Tally(), on=session, workers=1, checkpoint=location, **options) as app:
            app.add.many([(key, 0) for key in range(KEYS)])
            elastic = Elastic(part, app, token, seconds, not autoscale)
            elastic.run()
            if not part.failures:
                _compare(part, app, elastic.callers)
        if not part.failures:
            with ab.run(Tally(), workers=2, checkpoint=location) as again:
                _compare(part, again, elastic.callers)
    part.counts = {
        "rows": sum(c.rows for c in elastic.callers),
        "moves": len(elastic.moves),
        "executors killed": elastic.kills,
        "milliseconds without epochs in a move, longest": round(1000 * max(elastic.moves.values(), default=0.0), 1),
        "seconds without an answer, longest": round(elastic.pause, 2),
        "minutes": round((time.monotonic() - start) / 60, 1),
    }
    return part


def _compare(part: Part, app: Any, callers: list[Caller]) -> None:
    counts, names, seen = Counter[int](), Counter[str](), Counter[int]()
    for caller in callers:
        counts.update(caller.counts)
        names.update(caller.names)
        seen.update(caller.seen)
    seen.update(key % 10 for key in range(KEYS))  # that were there first
    for name, wanted in (("counts", counts), ("names", names), ("seen", seen)):
        found = {key: n for key, n in app.state[name].copy().items() if n}
        if found != {key: n for key, n in wanted.items() if n}:
            part.failures.append(f"{name} is not what the answers add up to")
