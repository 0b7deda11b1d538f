"""A story of several runs on one disk: each goes on from what the one before has left.

At every step a run does something, or something happens to all of one: it is killed, the power is lost, the disk is
full for a while, or another run is started beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from anabranch.lang.distribution import Distribution
from anabranch.lang.marks import is_builtin
from tests.simulation.cases import Case
from tests.simulation.clients import Client, Stuck
from tests.simulation.fibers import Dead
from tests.simulation.saved import Process, Run
from tests.simulation.seams import Threads
from tests.state.checkpoint.disk import SimulatedDisk

MOST_STEPS = 20_000
READS = ("read", "list", "exists")
MOODS = {
    "anything": "kill power fill light light light second second",
    "crashes": "kill power light light light",
    "rivals": "second",
}


class Ages:
    """`runs` are all there were, those that have restored something by their generations in `by_generation`."""

    def __init__(self, case: Case, threads: Threads, mood: str | None = None, scaling: Random | None = None) -> None:
        """With `scaling` runs are scaled while they run, where their states can be spread anew."""
        self.case, self.rng, self.threads = case, case.rng, threads
        self.story: list[str] = []
        self.now = 0
        self.disk = SimulatedDisk(Random(self.rng.random()))
        self.fibers = threads.fibers
        self.clients = [Client(n, list(todo)) for n, todo in enumerate(case.clients)]
        self.numbers = iter(range(1, 1_000_000))
        self.keep = 2
        self.runs: list[Run] = []
        self.by_generation: dict[int, Run] = {}
        mood = mood or self.rng.choice(tuple(MOODS))
        self._disasters = [getattr(self, f"_{name}") for name in MOODS[mood].split()]
        self.disasters = self.rng.randint(1, 7)
        self.often = self.rng.choice((0.005, 0.02, 0.05))
        self.slow = self.rng.choice((0.0, 0.1, 0.5) if mood != "rivals" else (0.3, 0.6))
        self.waits = (0, 0, 0, 5, 25) if mood != "rivals" else (0, 5, 25, 60)  # steps for which the disk lets others go
        self.prompt = self.rng.choice((1.0, 0.2, 0.05))  # how likely those who were answered come to the disk
        self.fuse: tuple[int, str] | None = None  # operations until one of them is the last
        self.full = 0  # steps for which the disk is full
        self.doomed: dict[Run, int] = {}  # runs that were replaced, and how long they go on
        own = [s for s in case.graph.states if s.distribution is Distribution.PARTITIONED and not is_builtin(s.cls)]
        self._workers, self._changes = self.rng.randint(1, 4), not own  # what only its own code can spread stays
        self.scaling = None if own else scaling
        self.restless = 0.0 if scaling is None else scaling.choice((0.1, 0.5, 1.0))  # how likely a run is scaled soon

    def mishaps_of_a_run(self) -> int:
        return self.case.faults.budget // 3

    # -- the scheduler ------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Until all clients have asked all, and once more: what is left then is what was acknowledged."""
        self._go_on_until(lambda: not any(c.todo or c.waiting for c in self.clients))
        self.disasters, self.fuse, self.full, self.disk.full = 0, None, 0, False
        if self.rng.random() < 0.5:
            self._power()
        for run in self.living:
            run.die("KILL, at the end")
        self._start()
        self._go_on_until(lambda: self.runs[-1].open)

    def _go_on_until(self, done: Callable[[], bool]) -> None:
        for _ in range(MOST_STEPS):
            if done():
                return
            self.tick()
        raise Stuck(f"after {MOST_STEPS} steps clients still wait: {self.runs[-1].world}")

    @property
    def living(self) -> list[Run]:
        return [run for run in self.runs if run.alive]

    def tick(self) -> None:
        self.now += 1
        self.full = max(0, self.full - 1)
        self.disk.full = self.full > 0
        try:
            if self.disasters and self.rng.random() < self.often:
                self.disasters -= 1
                self.rng.choice(self._disasters)()
                return
            for run in [run for run, steps in self.doomed.items() if steps <= 0 and run.alive]:
                run.die("KILL, of one that was replaced")
            living = self.living
            if not [run for run in living if run not in self.doomed]:
                self._start()
                return
            chosen = self.rng.choice(living)
            if chosen in self.doomed:
                self.doomed[chosen] -= 1
            chosen.tick()
        except Dead:
            pass

    def _start(self) -> None:
        """With another number of workers than the one before, or with the same."""
        self.story.append("A RUN IS STARTED")
        if self._changes and self.rng.random() < 0.5:
            self._workers = self.rng.randint(1, 4)
        self.runs.append(Run(self, self._workers))

    def begun(self, run: Run) -> None:
        self.by_generation[run.generation] = run

    # -- disasters ----------------------------------------------------------------------------------------------

    def _kill(self) -> None:
        """Processes end; what they wrote is as it is."""
        for run in self.living[-1:]:
            run.die("KILL")

    def _power(self) -> None:
        """All processes end, and what was not on disk is gone."""
        for run in self.living:
            run.die("POWER LOSS")
        self.disk.crash()

    def _light(self) -> None:
        """The same in the middle of what is written."""
        self.fuse = self.rng.randint(1, 12), self.rng.choice(("kill", "power"))

    def _fill(self) -> None:
        self.full = self.rng.randint(3, 60)
        self.story.append(f"THE DISK IS FULL for {self.full} steps")

    def _second(self) -> None:
        """Another run is started while one is alive."""
        for run in self.living:
            self.doomed.setdefault(run, self.rng.randint(5, 150))
        self.story.append("A SECOND RUN")
        self._start()

    def touch(self, run: Run, process: Process, operation: str, name: str) -> None:
        """A process is about to do something on the disk."""
        if not process.alive:
            raise Dead
        if self.fuse is not None and operation not in READS:
            left, how = self.fuse
            self.fuse = (left - 1, how) if left > 1 else None
            if self.fuse is None:
                self.story.append(f"[{run.generation}] before {operation} {name}:")
                if how == "power":
                    self._power()
                else:
                    run.die("KILL")
                raise Dead
        if self.fibers.current is not None and self.rng.random() < self.slow:
            then = self.now + self.rng.choice(self.waits)
            self.fibers.pause(lambda: self.now >= then)
            if not process.alive:
                raise Dead

    def close(self) -> None:
        for run in self.living:
            run.die("the end")
