"""Mistakes on purpose in how state is saved. Each must be caught by a story of several runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from anabranch.drivers.durable import opening, saver, snapshots
from anabranch.drivers.durable import worker as working
from anabranch.state.checkpoint import collection, found, log
from anabranch.state.checkpoint import snapshots as files
from anabranch.state.checkpoint.generations import Generation
from anabranch.state.checkpoint.log import Frame, Log
from tests.simulation import saved

Patch = pytest.MonkeyPatch


def acknowledge_before_sync(patch: Patch) -> None:
    """The answer is given when the commit is in the log, not when that is on disk."""

    def wait(self: saver.Saver, ticket: int) -> None:
        self.generation.check()

    patch.setattr(saver.Saver, "wait", wait)


def skip_the_fence(patch: Patch) -> None:
    """A run does not look whether another has opened the location since."""
    patch.setattr(Generation, "check", lambda self: None)


def read_before_the_claim(patch: Patch) -> None:
    """What the run before acknowledges between the two is not seen."""
    right = opening._find
    seen: dict[Any, Any] = {}

    def find(location: Any, *args: Any) -> Any:
        if location not in seen:
            seen[location] = right(location, *args)
            _take_time(location)
        return seen[location]

    patch.setattr(opening, "_find", find)


def say_finished_before_sync(patch: Patch) -> None:
    """A worker tells that it has finished before its own log is on disk."""
    right = working.WorkerSaver.epoch

    def epoch(self: working.WorkerSaver, version: Any) -> str:
        self._always, always = False, self._always
        try:
            return right(self, version)
        finally:
            self._always = always

    patch.setattr(working.WorkerSaver, "epoch", epoch)


def collect_pieces_in_use(patch: Patch) -> None:
    """What was logged before a snapshot was finished goes, also if it was logged after that was begun."""
    right = collection._unneeded

    def unneeded(location: Any, past: Any, kept: Any, *rest: Any) -> Iterator[str]:
        if kept:
            pieces = {piece.writer: piece.number + 1 for piece in collection.pieces(location)}
            kept = [*kept[:-1], replace(kept[-1], first_pieces=pieces)]
        yield from right(location, past, kept, *rest)

    patch.setattr(collection, "_unneeded", unneeded)


def keep_no_manifest(patch: Patch) -> None:
    """Old manifests go, and the newest is old too."""
    right = collection._unneeded

    def unneeded(location: Any, past: Any, kept: Any, *rest: Any) -> Iterator[str]:
        newest = replace(kept[0], version=kept[0].version + 1) if kept else None
        yield from right(location, past, newest and [newest], *rest)

    patch.setattr(collection, "_unneeded", unneeded)


def skip_the_last_frame(patch: Patch) -> None:
    """A restore leaves out the effects of the last epoch."""
    right = found.Found.frames

    def frames(self: found.Found, *args: Any) -> Iterator[Frame]:
        yield from list(right(self, *args))[:-1]

    patch.setattr(found.Found, "frames", frames)


def restore_what_was_not_committed(patch: Patch) -> None:
    """All that workers have logged is applied, whatever attempt was committed, and whether one was."""

    def of_writer(self: found.Found, span: Any, writer: str) -> Iterator[Frame]:
        yield from found.read_log(self.location, span.generation, writer, span.first_pieces.get(writer, 0))

    patch.setattr(found.Found, "_of_writer", of_writer)


def come_back_with_the_version_before(patch: Patch) -> None:
    """A worker that comes back lacks the last epoch."""
    right = working.find

    def find(location: Any, to_version: int) -> Any:
        return right(location, to_version=to_version - 1)

    patch.setattr(working, "find", find)


def copy_while_epochs_run(patch: Patch) -> None:
    """A slice of a snapshot is taken while an epoch writes, and what that wrote may be taken back later."""

    @contextmanager
    def hold(self: saved.Run) -> Iterator[None]:
        assert self.world is not None
        journals = self.world.memory.journals
        self.ages.fibers.pause(lambda: any(len(journal) for journal in journals) or not self.open)
        yield

    patch.setattr(saved.Run, "hold", hold)


def begin_the_log_after_the_snapshot(patch: Patch) -> None:
    """The effects since its first slice are not counted to a snapshot, only those since its last."""
    right = snapshots.write_manifest

    def write(location: Any, manifest: Any) -> str:
        return right(location, replace(manifest, begun=manifest.version + 1))

    patch.setattr(snapshots, "write_manifest", write)


def write_the_manifest_first(patch: Patch) -> None:
    """A manifest is there before the files that it names are on disk."""
    patch.setattr(files._Sink, "sync", lambda self: self._put([bytes(self._waiting)]))


def forget_what_was_not_synced(patch: Patch) -> None:
    """A log that could not be written goes on with what comes next."""
    right = Log._lead

    def lead(self: Log) -> None:
        try:
            right(self)
        except OSError:
            self._broken, self._file, self._number = None, None, -1
            self._piece += 1
            self._synced = self._ticket

    patch.setattr(log.Log, "_lead", lead)


def _take_time(location: Any) -> None:
    """Let others do something meanwhile."""
    for _ in range(10):
        location.exists("generations/00000000")


HERE: list[tuple[str, Callable[[Patch], None]]] = [
    ("crashes", acknowledge_before_sync),
    ("rivals", skip_the_fence),
    ("rivals", read_before_the_claim),
    ("crashes", collect_pieces_in_use),
    ("crashes", keep_no_manifest),
    ("crashes", skip_the_last_frame),
    ("anything", copy_while_epochs_run),
    ("crashes", begin_the_log_after_the_snapshot),
    ("crashes", write_the_manifest_first),
    ("anything", forget_what_was_not_synced),
]
APART: list[tuple[str, Callable[[Patch], None]]] = [
    ("crashes", say_finished_before_sync),
    ("crashes", restore_what_was_not_committed),
    ("crashes", come_back_with_the_version_before),
]
"""With the mood of the stories that show it soonest."""
