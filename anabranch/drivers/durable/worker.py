"""How a worker in a process of its own is saved: it writes what it changes itself, and reads it back itself.

Laws: it says that it has finished an epoch when what that changed here is on disk; each worker that is started writes
to a log of its own name, so that one which is thought lost and goes on can do no harm.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Sequence
from queue import Queue
from time import monotonic

from anabranch.drivers.durable.copying import Copying
from anabranch.drivers.durable.labels import Labels
from anabranch.drivers.durable.owns import Owns
from anabranch.drivers.durable.restoring import restore
from anabranch.drivers.host_messages import Copied, Copy, Keep, Kept, SavedAt
from anabranch.drivers.kernels import Kernels
from anabranch.graph.nodes import Graph
from anabranch.lang import Program
from anabranch.lang.distribution import Distribution
from anabranch.runtime.memory import Memory
from anabranch.runtime.messages import Version
from anabranch.state.changes import Change, schema_of
from anabranch.state.checkpoint.location import open_location
from anabranch.state.checkpoint.log import Frame, Log
from anabranch.state.checkpoint.recovery import find
from anabranch.state.checkpoint.snapshots import SnapshotWriter

AHEAD = 4  # slices that wait to be written


class WorkerSaver:
    """All but `keep` happens on the thread of the machine."""

    def __init__(self, at: SavedAt, number: int, graph: Graph, program: Program, memory: Memory) -> None:
        self._graph, self._program, self._memory = graph, program, memory
        self._hosted = memory.routing.hosted(number)
        self._number, self._labels = number, Labels(graph, at.instance_of_bucket, memory.routing)
        self._own = Owns(graph)
        self._location = open_location(list(at.where) if len(at.where) > 1 else at.where[0], at.fence)
        self._generation, self._always = at.generation, at.always
        self._logging = at.always
        self.writer = f"w{number}.{secrets.token_hex(4)}"
        self._log = Log(self._location, at.generation, self.writer, {s.name: schema_of(s) for s in graph.states})
        self._ticket = 0
        self._snapshot: _Snapshot | None = None

    def epoch(self, version: Version) -> str:
        """Put what an epoch has changed here on disk; gives the name of the log that has it, if there was anything."""
        if not self._logging:
            return ""
        changes = self._memory.changes(self._hosted, self._own)
        if not changes:
            return ""
        return self._append(version, self._labels.changes(changes))

    def _append(self, version: Version, changes: Sequence[Change]) -> str:
        self._ticket = self._log.append(Frame(version.epoch, version.attempt, {}, tuple(changes)))
        if self._always:
            self._log.sync(self._ticket)
        return self.writer

    def switch(self, memory: Memory) -> None:
        """From now on state is there."""
        self._memory, self._hosted = memory, memory.routing.hosted(self._number)
        self._labels.routing = memory.routing

    def begun(self, version: Version, before: int) -> str:
        """Log what new partial instances start from; gives the name of the log, if there are any here."""
        new = [i for i in self._hosted if i >= before]
        if not new or not self._logging:
            return ""
        changes = [*Copying(self._graph, self._memory, self._own, new).all_of(Distribution.PARTIAL)]
        return self._append(version, changes) if changes else ""

    def restore(self, version: Version, stands_on: int, kernels: Kernels) -> None:
        """`stands_on` is the generation whose history has it: others may have begun since."""
        found = find(self._location, to_version=version.epoch, newest=stands_on)
        assert found is not None, f"{self._location.name} has nothing of version {version}"
        restore(found, version, self._graph, self._program, self._memory, self._own, kernels, self._hosted)

    # -- snapshots ----------------------------------------------------------------------------------------------------

    def copy(self, order: Copy) -> Copied:
        """A slice more of a snapshot, between two epochs."""
        snapshot = self._snapshot
        if snapshot is None or snapshot.number != order.snapshot:
            self._logging = True
            named = f"{self.writer}.{order.number}"  # what was given up under another may still be there
            writer = SnapshotWriter(self._location, self._generation, order.snapshot, named)
            copying = Copying(self._graph, self._memory, self._own, self._hosted, brief=True)
            snapshot = self._snapshot = _Snapshot(order.snapshot, copying, writer, self._labels, self._log.cut())
        more = snapshot.copy()
        if not more:
            self._logging = self._always
        return Copied(order.number, more, self.writer, snapshot.piece, spent=snapshot.spent)

    def keep(self, order: Keep, tell: Callable[[Kept], None]) -> None:
        """Put the files, and the log, on disk, or give them up: on a thread of its own, and then tell."""
        snapshot, self._snapshot = self._snapshot, None
        if snapshot is None or snapshot.number != order.snapshot:
            tell(Kept(order.number, (), "it was not begun here"))
            return
        if not order.wanted:
            self._logging = self._always

        def finish() -> None:
            chunks = snapshot.finish(order.wanted)
            if order.wanted and self._ticket:
                self._log.sync(self._ticket)
                self._log.open_piece()  # the one before may be removed once the manifest is there
            tell(Kept(order.number, tuple(chunks)))

        def told() -> None:
            try:
                finish()
            except Exception as error:
                tell(Kept(order.number, (), f"{type(error).__name__}: {error}"))

        threading.Thread(target=told, name="anabranch-snapshot-end", daemon=True).start()

    def close(self) -> None:
        self._log.close()


class _Snapshot:
    """Slices go to a thread that writes them."""

    def __init__(self, number: int, copying: Copying, writer: SnapshotWriter, labels: Labels, piece: int) -> None:
        self.number, self.piece = number, piece
        self.spent = 0.0  # seconds of writing
        self._copying, self._writer, self._labels = copying, writer, labels
        self._queue: Queue[bool] = Queue(AHEAD)
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._write, name="anabranch-snapshot", daemon=True)
        self._thread.start()

    def copy(self) -> bool:
        more = self._copying.copy()
        self._queue.put(more)
        return more

    def _write(self) -> None:
        while True:
            more = self._queue.get()
            try:
                if self._error is None:
                    start = monotonic()
                    self._copying.write(self._writer, self._labels)
                    self.spent += monotonic() - start
            except Exception as error:
                self._error = error
            if not more:
                return

    def finish(self, wanted: bool) -> list[tuple[str, int, str, int, int, int]]:
        if not wanted:
            self._queue.put(False)
        self._thread.join()
        if self._error is not None or not wanted:
            self._writer.abandon()
            if self._error is not None:
                raise self._error
            return []
        return [(c.state, c.instance, c.file, c.rows, c.bytes, c.crc) for c in self._writer.finish()]
