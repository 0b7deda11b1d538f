"""One story: an app under load, kills, restarts, and what must be there in the end.

Laws: what was answered is there after every kill; a kill that the app must survive ends no request; at the end nothing
is left of any process.
"""

from __future__ import annotations

import shutil
import time
import uuid
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import pyspark

import anabranch as ab
from tests.kills.damage import damage_files
from tests.kills.kinds import KINDS, Kind
from tests.kills.moments import DELAY, FILLING, MOVING, PATIENCE, RESTORING, RUNNING, wait_for
from tests.kills.oracle import compare, expected, recall
from tests.kills.plan import THREADS, Plan
from tests.kills.processes import Process, kill, kill_all, wait_for_end
from tests.kills.running import Driver, Ended, Failed
from tests.kills.store import Store

LATE = 420.0  # seconds that count as never, on however busy a machine
ORPHANS = 60.0  # seconds in which processes end whose driver is gone


@dataclass
class Told:
    """What happened, with how often."""

    seed: int
    kind: str
    counts: Counter[str] = field(default_factory=Counter)
    refused: list[str] = field(default_factory=list)
    steps: list[str] = field(default_factory=list)


class Story:
    def __init__(self, folder: Path, seed: int, kind: str, kills: int, filled: int, damages: int) -> None:
        self._chance = chance = Random(f"{kind} {seed}")
        self._kind: Kind = KINDS[kind]
        self._kills, self._damages = kills, damages
        self._token = uuid.uuid4().hex
        self.told = Told(seed, kind)
        threads = self._kind.hosts == THREADS
        self.plan = Plan(
            str(folder),
            seed,
            self._kind.hosts,
            chance.randrange(1, 4) if threads else 2,
            chance.choice(("python", "auto")) if self._kind.hosts in (THREADS, "processes") else "python",
            chance.choice((0.05, 0.3)) if filled < 1000 else chance.choice((0.5, 2.0)),
            filled,
        )
        self._driver: Driver | None = None
        self._applications: set[str] = set()

    def tell(self) -> Told:
        try:
            self._run()
        finally:
            left = kill_all(self._token)
            self._bury()
            self._clean()
        if left:
            raise Failed(f"{len(left)} processes were left: {', '.join(p.command[:80] for p in left)}")
        return self.told

    # -- the run ------------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        self._start()
        while self.told.counts["kills"] < self._kills:
            self._kill_at(self._next_moment())
        try:
            self._end_in_peace()
        except Ended:  # of an earlier kill, which it need not survive
            if self._kind.goes_on:
                raise
            self._bury()
            self._start()
            self._end_in_peace()
        self._open_here()

    def _next_moment(self) -> str:
        if not self.plan.is_filled.exists():
            return FILLING if self._chance.random() < 0.3 else self._chance.choice(RUNNING)
        return self._chance.choice(RUNNING)

    def _kill_at(self, moment: str) -> None:
        driver = self._the_driver()
        if moment == FILLING:
            driver.wait_for("started", LATE)
            time.sleep(self._chance.uniform(0.0, 0.5 + self.plan.filled / 20_000))
        else:
            driver.wait_for("ready", LATE)
            if moment == MOVING and driver.wait_for_a_move(PATIENCE):
                time.sleep(self._chance.choice((0.0, 0.01, 0.1, 0.5)))
            else:
                moment = DELAY if moment == MOVING else moment
                moment = wait_for(moment, self.plan.location, self._chance, lambda: driver.lives)
        victims = self._kill(moment)
        if self._kind.goes_on:
            if self._chance.random() < 0.3 and self.told.counts["kills"] < self._kills:
                time.sleep(self._chance.uniform(0.1, 1.5))
                self._kill(RESTORING)
            driver.wait_for("ready", LATE)
            self._wait_for_answers()
        elif self._has_ended(victims):
            self._start_again()

    def _kill(self, moment: str) -> list[Process]:
        victims = self._kind.choose(self._token, self._chance)
        kill(victims)
        if victims:
            self.told.counts["kills"] += 1
            self.told.counts[f"kills: {moment}"] += 1
            named = Counter(map(str, victims))
            self._step(f"{moment}: killed {', '.join(f'{n} {name}' for name, n in named.items())}")
        return victims

    def _has_ended(self, victims: list[Process]) -> bool:
        """A kill that the app need not survive: it ends and says why, or goes on and answers."""
        driver = self._the_driver()
        if driver.pid in {p.pid for p in victims}:
            return True
        try:
            driver.wait_for("ready", LATE)
            self._wait_for_answers()
        except Ended as error:
            self._step(f"the run ended: {error}")
            self.told.counts["runs that ended and said why"] += 1
            return True
        return False

    def _wait_for_answers(self) -> None:
        """Every client gets answers to what it asks from now on."""
        driver = self._the_driver()
        before, end = self._answered(), time.monotonic() + LATE
        while any(now < was + 2 for was, now in zip(before, self._answered(), strict=True)):
            if not driver.lives or time.monotonic() > end:
                raise driver.failure(f"not answered within {LATE:g} s")
            time.sleep(0.05)

    def _answered(self) -> list[int]:
        """By client."""
        return [path.read_bytes().count(b"answered") for path in sorted(self.plan.home.glob("client-*"))]

    def _start_again(self) -> None:
        """Without waiting for what the old driver has left: it must do no harm."""
        self._bury()
        if self.told.counts["kills"] >= self._kills and self._damages:
            left = wait_for_end(self._token, ORPHANS)
            if left:
                raise Failed(f"orphans do not end: {', '.join(p.command[:80] for p in left)}")
            self._damage()
        self._start()
        if self._chance.random() < 0.25 and self.told.counts["kills"] < self._kills:
            time.sleep(self._chance.uniform(0.5, 3.0 if not self.plan.on_spark else 15.0))
            if self._the_driver().pid in {p.pid for p in self._kill(RESTORING)}:
                self._start_again()

    # -- the driver ---------------------------------------------------------------------------------------------------

    def _start(self) -> None:
        self._driver = Driver(self.plan, self._token)

    def _the_driver(self) -> Driver:
        assert self._driver is not None
        return self._driver

    def _end_in_peace(self) -> None:
        driver = self._the_driver()
        driver.wait_for("ready", LATE)
        driver.ends()
        driver.wait_for("equal", LATE)
        if code := driver.bury(LATE):
            raise Failed(f"it ended with {code}{driver.story()}")
        left = wait_for_end(self._token, ORPHANS)
        if left:
            raise Failed(f"left after its end: {', '.join(p.command[:80] for p in left)}")

    def _bury(self) -> None:
        driver = self._driver
        if driver is not None:
            driver.bury(LATE)
            driver.close()
            self.told.counts.update(driver.settled)
            self.told.counts["moves"] += driver.moves
            if driver.application:
                self._applications.add(driver.application)
            self._driver = None

    def _open_here(self) -> None:
        """Once more, on threads of this process."""
        clients = recall(self.plan.home, self.plan.seed, self.plan.filled, self.plan.on_spark)
        batches = len(list(self.plan.files.glob("*.json"))) if self.plan.on_spark else 0
        wanted = expected(clients, self.plan.seed, self.plan.filled, batches)
        self.told.counts["answers compared"] += sum(client.answered for client in clients)
        if self._damages and not self.told.counts["files damaged"]:
            self._damage()
        workers = self._chance.randrange(1, 4)
        with ab.run(Store(), workers=workers, tier="python", checkpoint=self.plan.location) as app:
            compare(app, wanted)
        self._step(f"{sum(c.answered for c in clients)} answers, opened with {workers} workers: equal")

    def _damage(self) -> None:
        for what in damage_files(self.plan, self._chance, self._damages):
            self.told.counts["files damaged"] += 1
            self.told.counts[f"damage: {what.outcome}"] += 1
            self._step(str(what))
            if what.refusal:
                self.told.refused.append(f"{what.file}, {what.how}: {what.refusal}")

    def _clean(self) -> None:
        """What executors of a cluster leave."""
        for application in self._applications:
            shutil.rmtree(Path(pyspark.__file__).parent / "work" / application, ignore_errors=True)

    def _step(self, what: str) -> None:
        self.told.steps.append(what)
