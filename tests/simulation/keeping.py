"""What hosts do to keep state: the simulator's own memory, which nothing ever loses."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Protocol

from anabranch.lang.marks import copy_state
from anabranch.runtime.memory import Memory
from anabranch.runtime.messages import (
    NOTHING_YET,
    Committed,
    Finished,
    FinishedFused,
    Joined,
    Loaded,
    Lost,
    Outcome,
    Version,
)
from anabranch.runtime.worker import Worker
from tests.simulation.clients import Content

if TYPE_CHECKING:
    from tests.simulation.world import World


class Keeping(Protocol):
    """What the hosts of a world do beside carrying messages. `open` says whether clients may ask, `scales` whether
    there are other workers from time to time.
    """

    open: bool
    now: int
    scales: bool

    def started(self, machine: Worker) -> None: ...
    def lost(self, machine: Worker, gone: bool) -> None: ...
    def heard(self, event: Joined | Lost) -> None: ...
    def tell(self, machine: Worker, message: Any) -> None: ...
    def committed(self, done: Committed) -> None: ...
    def reply(self, number: int, outcome: Outcome) -> None: ...
    def granted(self, number: int) -> bool: ...
    def load(self, machine: Worker, version: Version) -> None: ...
    def busy(self, machine: Worker) -> bool: ...
    def actions(self) -> list[Callable[[], None]]: ...
    def stalled(self) -> None: ...


class InMemory:
    """Every version that a worker has finished is copied at once, and a worker that was lost gets its copy back."""

    open, now, scales = True, 0, False

    def __init__(self, world: World) -> None:
        self.world = world
        self.versions: dict[Version, dict[int, Content]] = {}
        self._save(NOTHING_YET, range(world.case.routing.instances), world.memory)

    def _save(self, version: Version, instances: Iterable[int], memory: Memory) -> None:
        saved = self.versions.setdefault(version, {})
        for i in instances:
            saved[i] = {name: copy_state(part) for name, part in memory.of_instance[i].items()}

    def started(self, machine: Worker) -> None:
        """It starts with nothing."""

    def lost(self, machine: Worker, gone: bool) -> None:
        """What it had finished is here."""

    def heard(self, event: Joined | Lost) -> None:
        """The coordinator hears it too."""

    def tell(self, machine: Worker, message: Any) -> None:
        world = self.world
        if isinstance(message, Finished):
            self._save(message.version, machine.instances, machine.memory)
        elif isinstance(message, FinishedFused) and not world.case.apart:
            self._save(message.version, range(world.case.routing.instances), world.memory)
        world.tell_coordinator(machine, message)

    def committed(self, done: Committed) -> None:
        if not done.stages:  # a client has written, and nobody works
            for memory, instances in self.world.memories():
                memory.commit(done.version)
                self._save(done.version, instances, memory)
        self.versions = {v: saved for v, saved in self.versions.items() if v == done.version}

    def reply(self, number: int, outcome: Outcome) -> None:
        self.world.answer(number, outcome, False)

    def granted(self, number: int) -> bool:
        return False

    def load(self, machine: Worker, version: Version) -> None:
        if version not in self.versions:
            return  # it asked before the version it will be told of next was decided
        self.world.tell(f"worker {machine.number} loads version {version}")
        for i in machine.instances:
            kept = self.versions[version][i]
            machine.memory.put(i, {name: copy_state(part) for name, part in kept.items()}, version)
        self.world.obey(machine, machine.handle(Loaded(version)))

    def busy(self, machine: Worker) -> bool:
        return False

    def actions(self) -> list[Callable[[], None]]:
        return []

    def stalled(self) -> None:
        """Nobody waits for a host."""
