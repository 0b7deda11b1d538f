"""What a snapshot copies from memory, slice by slice, and writes to files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from anabranch.drivers.durable.labels import Labels
from anabranch.graph.nodes import Graph, State
from anabranch.lang.distribution import Distribution
from anabranch.runtime.memory import Memory
from anabranch.state.changes import Change, OwnCodec, slices
from anabranch.state.checkpoint.snapshots import SnapshotWriter

SLICE = 2_000  # rows of plain state between two epochs
FLAT_SLICE = 1 << 18  # entries of flat memory
BRIEF_SLICE = 1 << 16  # the same, where nobody is in a hurry: a millisecond or less, in which nobody is answered


class Copying:
    """One snapshot of these instances. `copy` is called between epochs, `write` at any time, on one thread."""

    def __init__(
        self, graph: Graph, memory: Memory, own: OwnCodec, instances: Sequence[int], brief: bool = False
    ) -> None:
        self._graph, self._memory, self._own, self._instances, self._brief = graph, memory, own, instances, brief
        self._slices = self._walk()
        self._waiting: list[tuple[str, int, Any]] = []

    def copy(self) -> bool:
        """A slice more; False if that was all."""
        found = next(self._slices, None)
        if found is not None:
            self._waiting.append(found)
        return found is not None

    def write(self, writer: SnapshotWriter, labels: Labels) -> None:
        """To files, what was copied so far."""
        for name, instance, rows in self.take():
            for label, own in labels.rows(name, instance, rows):
                writer.add(name, label, own)

    def take(self) -> Iterator[tuple[str, int, Any]]:
        """What was copied so far: rows of a state of an instance."""
        while self._waiting:
            yield self._waiting.pop(0)

    def all_of(self, distribution: Distribution) -> Iterator[Change]:
        """All that states of a distribution hold, at once."""
        before = None
        for name, instance, rows in self._walk():
            if self._graph.state(name).distribution is distribution:
                yield Change(name, instance, before != (name, instance), rows)
                before = name, instance

    def _walk(self) -> Iterator[tuple[str, int, Any]]:
        """All copies of replicated state are alike: that of instance 0 is taken."""
        flat = BRIEF_SLICE if self._brief else FLAT_SLICE
        for state in self._graph.states:
            for instance in self._instances:
                if state.distribution is Distribution.REPLICATED and instance:
                    continue
                part = self._memory.of_instance[instance][state.name]
                for rows in rows_in(state, part, self._own, SLICE, flat):
                    yield state.name, instance, rows


def rows_in(state: State, part: Any, own: OwnCodec, some: int, flat: int) -> Iterator[Any]:
    """All that a part holds: some rows at a time if it is a plain one, so many entries of flat memory."""
    if not hasattr(part, "store"):
        yield from slices(state, part, own, some)
        return
    from anabranch.kernels.native.saving import Slices

    walk = Slices(part)
    while (rows := walk.take(flat)) is not None:
        yield rows
