"""The log of a run: what was committed.

Laws: an epoch is answered when what it changed is on disk, and nobody else had opened the location when it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from anabranch.drivers.durable.marks import Mark
from anabranch.drivers.durable.settings import Saving
from anabranch.graph.nodes import Graph
from anabranch.runtime.messages import Version
from anabranch.state.changes import Change, schema_of
from anabranch.state.checkpoint.generations import End, Generation
from anabranch.state.checkpoint.location import Location
from anabranch.state.checkpoint.log import Frame, Log
from anabranch.state.checkpoint.manifests import SavedState

COORDINATOR = "c"  # who writes the log of what is committed


class Saver:
    """`commit` is called by whoever commits, `wait` by whoever has been answered and is about to tell it."""

    def __init__(self, saving: Saving, location: Location, generation: Generation, graph: Graph) -> None:
        self.saving, self.location, self.generation, self.graph = saving, location, generation, graph
        schemas = {state.name: schema_of(state) for state in graph.states}
        self.log = Log(location, generation.number, COORDINATOR, schemas)
        self.always = saving.durability == "epoch"
        self.logging = self.always  # else only while there is a snapshot that needs it
        self.ticket = 0
        self.changed = 0  # the last epoch that may have changed anything
        self.logged: tuple[Version, int] | None = None  # the last that is in the log, and the next sequence number

    def commit(
        self,
        version: Version,
        sequence: int,
        changes: Sequence[Change],
        writers: Sequence[str] = (),
        marks: Sequence[Mark] = (),
        instances: int = 0,
    ) -> None:
        """Log that an epoch is committed: what it changed, or in whose logs that is, and what is to be remembered; and
        how many instances there are, if there are more since.
        """
        if not self.logging:
            self.changed = version.epoch
        elif changes or writers or marks or instances:
            before, self.changed, self.logged = self.changed, version.epoch, (version, sequence)
            head: dict[str, Any] = {"commit": True, "sequence": sequence}
            head["writers"] = [*writers, *([COORDINATOR] if changes else [])]
            if instances:
                head["instances"] = instances
            if marks:
                head["marks"] = [list(mark) for mark in marks]
            if not self.always:
                head["after"] = before  # what is between is in no log: this counts only where that was reached
            self.ticket = self.log.append(Frame(version.epoch, version.attempt, head, tuple(changes)))
            self.log.flush()

    def keep_snapshot(self, name: str, version: int) -> None:
        """Note that a snapshot is there, durably: its loss is missed then, also where no log has what it holds."""
        self.log.sync(self.log.note({"snapshot": name, "version": version}))

    def end(self) -> None:
        """Note where the log ends."""
        piece, size, _ = self.log.end
        epoch = self.logged[0].epoch if self.always and self.logged is not None else 0
        self.generation.end(End(piece, size, epoch))

    def wait(self, ticket: int) -> None:
        """Until that is on disk, and nobody else has opened the location meanwhile."""
        if self.always:
            if ticket:
                self.log.sync(ticket)
            self.generation.check()


def described(graph: Graph) -> dict[str, SavedState]:
    """What a manifest says of each state."""
    return {s.name: SavedState(str(s.type), s.distribution.value, schema_of(s), s.axis) for s in graph.states}
