"""Snapshots, made while the run goes on.

One is taken in slices, between epochs, and each slice shows the state of its own moment. That does no harm: the log
says what every entry has become since the first slice, so that slices and log together are the state at the moment of
the last one, and at every epoch after it.

Laws: a snapshot counts once its manifest is there, and that is written after all its files and the log up to its last
slice are on disk; between two slices epochs run. One that nobody asked for rests between slices, as what it takes from
disk and processors is not there for epochs; when somebody waits for it, it goes on without rests.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Protocol

from anabranch.drivers.callers import Stopped
from anabranch.drivers.clock import Clock
from anabranch.drivers.durable.copying import Copying
from anabranch.drivers.durable.labels import Labels
from anabranch.drivers.durable.marks import Marks, as_json
from anabranch.drivers.durable.saver import COORDINATOR, Saver, described
from anabranch.runtime.memory import Memory
from anabranch.runtime.messages import Version
from anabranch.state.changes import OwnCodec
from anabranch.state.checkpoint.manifests import Manifest, write_manifest
from anabranch.state.checkpoint.recovery import collect
from anabranch.state.checkpoint.snapshots import Chunk, SnapshotWriter

log = logging.getLogger(__name__)

REST = 3.0
"""How long one that nobody waits for rests after a slice, in times that the slice took: it has a quarter of the disk.
With half of it, epochs that had to wait had not caught up before the next slice."""

Hold = Callable[[], AbstractContextManager[Any]]
Now = Callable[[], tuple[Version, int]]


class Source(Protocol):
    """Whoever has the state. `begin` and `copy` are called while no epoch runs, the others at any time.

    `write` gives the seconds that others have written meanwhile.
    """

    def begin(self, epoch: int) -> None: ...
    def copy(self) -> bool: ...
    def write(self) -> float: ...
    def finish(self) -> tuple[list[Chunk], dict[str, int]]: ...
    def abandon(self) -> None: ...


class Here:
    """All state is in this process."""

    def __init__(self, saver: Saver, memory: Memory, own: OwnCodec, labels: Labels) -> None:
        self._saver, self._memory, self._own, self._labels = saver, memory, own, labels

    def begin(self, epoch: int) -> None:
        saver, instances = self._saver, range(self._memory.routing.instances)
        self._copying = Copying(saver.graph, self._memory, self._own, instances, brief=True)
        self._writer = SnapshotWriter(saver.location, saver.generation.number, epoch)

    def copy(self) -> bool:
        return self._copying.copy()

    def write(self) -> float:
        self._copying.write(self._writer, self._labels)
        return 0.0

    def finish(self) -> tuple[list[Chunk], dict[str, int]]:
        return self._writer.finish(), {}

    def abandon(self) -> None:
        self._writer.abandon()


class Snapshots:
    """Makes them: when asked, and by itself from time to time, on a thread of its own."""

    def __init__(
        self,
        saver: Saver,
        source: Source,
        labels: Labels,
        program: str,
        fingerprint: str,
        hold: Hold,
        now: Now,
        marks: Marks,
        clock: Clock,
    ) -> None:
        """`hold` keeps epochs away; `now` is the committed version and the next sequence number."""
        self._saver, self.source, self._labels = saver, source, labels
        self._program, self._fingerprint = program, fingerprint
        self._hold, self._now, self._marks, self._clock = hold, now, marks, clock
        self._one = threading.Lock()  # of whoever makes one, or keeps others from it
        self._hurry = threading.Event()  # somebody waits for it
        self._end = threading.Event()
        self._taken = 0  # the epoch of the last
        self._bytes = 0  # of the log when it was taken
        self._when = clock.now()
        self._thread: threading.Thread | None = None

    def start(self, taken: int) -> None:
        """`taken` is the epoch that is saved already."""
        self._taken = taken
        if self._saver.saving.durability != "none":
            self._thread = self._clock.start(self._watch, "anabranch-snapshots")

    def _watch(self) -> None:
        saver, clock = self._saver, self._clock
        pulse = min(1.0, saver.saving.every / 4)
        while not clock.wait(self._end, pulse):
            late = clock.now() - self._when >= saver.saving.every
            long = saver.log.bytes - self._bytes >= saver.saving.size
            if (late or long) and saver.changed > self._taken:
                try:
                    with self._one:
                        self._save(rests=True)
                except Stopped:
                    return
                except Exception:
                    log.exception("no snapshot could be made; the log goes on, and it is tried again")
                    self._when = clock.now()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """While no snapshot is made. One that is under way goes on without rests."""
        self._hurry.set()
        with self._one:
            self._hurry.clear()
            yield

    def take(self) -> int:
        """Save all state; gives the epoch after which it is saved."""
        with self.alone():
            self._save()
            return self._taken

    def _save(self, rests: bool = False) -> None:
        """If anything has changed since the last. What is no longer needed goes."""
        saver = self._saver
        if saver.changed > self._taken:
            self._take(rests)
            collect(saver.location, saver.saving.keep, generation=saver.generation.number)

    def first(self) -> str:
        """Save what a run starts from, before it starts; gives the name of the manifest, which its base keeps."""
        return self._take(begins=True)

    def _take(self, rests: bool = False, begins: bool = False) -> str:
        saver, source, clock = self._saver, self.source, self._clock
        stopped = saver.saving.mode == "sync"
        with self._hold() if stopped else nullcontext():
            hold: Hold = nullcontext if stopped else self._hold
            with hold():
                begun, sequence = self._now()
                saver.logging = True
                piece = saver.log.cut()
                source.begin(begun.epoch)
            try:
                saver.log.open_piece()  # the manifest will say that it is there
                more = True
                while more:
                    if self._end.is_set():
                        raise Stopped("the app was stopped while a snapshot was made")
                    with hold():
                        start = clock.now()  # to wait for the end of an epoch is no work
                        more = source.copy()
                        ticket, logged, marks = saver.ticket, saver.logged, self._marks.all()
                        if not more:
                            saver.logging = saver.always
                    beside = source.write()  # goes on while this rests: so much of the rest is none
                    rest = REST * (clock.now() - start) + (1 + REST) * beside
                    if rests and more and not stopped and rest > 0:
                        clock.wait(self._hurry, rest)
                chunks, pieces = source.finish()
                if ticket:
                    saver.log.sync(ticket)
                saver.generation.check()
            except BaseException:
                saver.logging = saver.always
                try:
                    source.abandon()
                except Exception:  # what went wrong first is what is raised
                    log.warning("what was written of a snapshot could not be removed", exc_info=True)
                raise
            version = begun
            if logged is not None and logged[0] > begun:
                version, sequence = logged  # and not what only read: the log does not know of that
            instances, of_bucket = self._labels.manifest()
            manifest = Manifest(
                generation=saver.generation.number,
                begun=begun.epoch + 1,
                version=version.epoch,
                attempt=version.attempt,
                sequence=sequence,
                program=self._program,
                fingerprint=self._fingerprint,
                instances=instances,
                instance_of_bucket=of_bucket,
                states=described(saver.graph),
                chunks=tuple(chunks),
                first_pieces={COORDINATOR: piece, **pieces},
                extra={"marks": as_json(marks)},
                logs=(COORDINATOR,),
            )
            name = write_manifest(saver.location, manifest)
            if not begins:
                saver.keep_snapshot(name, version.epoch)
        self._taken, self._bytes, self._when = version.epoch, saver.log.bytes, self._clock.now()
        return name

    def stop(self, in_peace: bool) -> None:
        """Let the thread end; what it has not finished is given up. Where nothing else saves epochs, save the last."""
        self._end.set()
        self._hurry.set()
        if self._thread is not None:
            self._thread.join()
        if in_peace and self._saver.saving.durability == "snapshot" and self._saver.changed > self._taken:
            self._end.clear()
            self.take()
