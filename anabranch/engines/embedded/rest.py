"""State between two epochs, where all of it is in this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from anabranch.drivers.threads import Threads
from anabranch.graph.nodes import State
from anabranch.runtime.memory import Memory
from anabranch.runtime.messages import NOTHING_YET, Version
from anabranch.runtime.routing import Routing
from anabranch.runtime.rows import Held

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T")
LOADING = Version(-1, 0)  # opens the journals for a change; no epoch has it


class Rest(Protocol):
    """Reads and writes of all state, while nothing runs. What is given to it may run more than once."""

    routing: Routing

    def look(self, read: Callable[[Held], T]) -> T: ...
    def change(self, steps: Sequence[Callable[[Held], None]], check: Callable[[Held], None]) -> None: ...
    def rows(self, state: State) -> list[pa.RecordBatch]:
        """All entries, of all instances, in the columns in which they are saved."""

    def sizes(self) -> dict[str, int]: ...


class Before:
    """State as it was: it changes no more."""

    def __init__(self, memory: Memory, size: Callable[[Any], int]) -> None:
        self._memory, self._size = memory, size
        self.routing = memory.routing

    def look(self, read: Callable[[Held], T]) -> T:
        return read(self._memory)

    def change(self, steps: Sequence[Callable[[Held], None]], check: Callable[[Held], None]) -> None:
        raise TypeError("this is the state of an earlier version, which does not change: load into app.state.NAME")

    def rows(self, state: State) -> list[pa.RecordBatch]:
        return _rows(self._memory, state)

    def sizes(self) -> dict[str, int]:
        return {name: sum(map(self._size, parts)) for name, parts in self._memory.parts.items()}


class RestHere:
    """Law: a change is one epoch, committed when the state is given back, or leaves no trace."""

    def __init__(self, memory: Memory, driver: Threads, size: Callable[[Any], int]) -> None:
        self._memory, self._driver, self._size = memory, driver, size
        self.routing = memory.routing

    def switch(self, memory: Memory) -> None:
        """For whoever holds the state: from now on it is there."""
        self._memory, self.routing = memory, memory.routing

    def look(self, read: Callable[[Held], T]) -> T:
        with self._driver.hold():
            return read(self._memory)

    def change(self, steps: Sequence[Callable[[Held], None]], check: Callable[[Held], None]) -> None:
        with self._driver.hold(writes=True) as interrupts:
            memory, instances = self._memory, range(self.routing.instances)
            memory.open(instances, LOADING)
            try:
                for step in steps:
                    interrupts.relent()
                    step(memory)
                    memory.refuse_excess()
                check(memory)
            except BaseException:
                memory.settle(instances, NOTHING_YET, LOADING)
                raise

    def rows(self, state: State) -> list[pa.RecordBatch]:
        with self._driver.hold():
            return _rows(self._memory, state)

    def sizes(self) -> dict[str, int]:
        with self._driver.hold():
            return {name: sum(map(self._size, parts)) for name, parts in self._memory.parts.items()}


def _rows(memory: Memory, state: State) -> list[pa.RecordBatch]:
    from anabranch.drivers.showing import shown_here

    return shown_here(memory.graph, state, memory.parts[state.name])
