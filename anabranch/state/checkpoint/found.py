"""The state after a version: a snapshot, and the frames of what was committed since."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from heapq import merge
from typing import NamedTuple

from anabranch.state.checkpoint.errors import Damaged
from anabranch.state.checkpoint.frames import Frame
from anabranch.state.checkpoint.generations import Base
from anabranch.state.checkpoint.history import History
from anabranch.state.checkpoint.location import Location
from anabranch.state.checkpoint.manifests import Manifest
from anabranch.state.checkpoint.reading import Piece, pieces, read_log

COORDINATOR = "c"
"""The writer whose frames commit epochs.

Their heads have "commit": true, "sequence" and "writers"; and "instances" where there are more of them since. Where not
every epoch is logged, they also have "after": the last epoch before that may have changed anything. A commit after one
that is not restored does not count.
"""


class Commit(NamedTuple):
    """An epoch that is committed. `writers` have one frame each in it; None: whoever has one. Where there are more
    instances of partial state since, it says how many.
    """

    epoch: int
    attempt: int
    sequence: int
    writers: frozenset[str] | None
    instances: int = 0


class Span(NamedTuple):
    """The commits of a generation that count, after the snapshot."""

    generation: int
    first_pieces: dict[str, int]
    commits: tuple[Commit, ...]


@dataclass(frozen=True, slots=True)
class Found:
    """The state after `version`: the snapshot of the manifest (None: nothing), then `frames` in their order."""

    location: Location
    history: History
    name: str | None
    manifest: Manifest | None
    version: int
    attempt: int
    sequence: int
    spans: tuple[Span, ...]
    chain: tuple[tuple[int, int], ...]
    notes: tuple[str, ...]

    @property
    def snapshot(self) -> Manifest:
        """The manifest of a location whose runs begin with one, as all of ours do."""
        if self.manifest is None:
            raise Damaged("manifests", 0, None, "no snapshot is left that is whole; " + "; ".join(self.notes))
        return self.manifest

    @property
    def instances(self) -> int:
        """How many there are of partial state."""
        return max([self.snapshot.instances, *(c.instances for span in self.spans for c in span.commits)])

    def base(self, writers: Collection[str] = (), logs: Collection[str] = ()) -> Base:
        """Where the next generation begins that goes on from here."""
        return Base(self.name, self.chain, self.version, self.attempt, self.sequence, tuple(writers), tuple(logs))

    def frames(self, writers: Collection[str] | None = None) -> Iterator[Frame]:
        """The frames of all committed epochs from the manifest's `begun` on, in the order of epochs.

        With `writers`, only theirs. A frame that a commit names and that is not there is `Damaged`.
        """
        there = pieces(self.location)
        for span in self.spans:
            if not span.commits:
                continue
            names = {p.writer for p in there if p.generation == span.generation}
            names.update(*(c.writers for c in span.commits if c.writers is not None))
            chosen = sorted(names if writers is None else names & set(writers), key=lambda w: (w == COORDINATOR, w))
            yield from merge(*(self._of_writer(span, w) for w in chosen), key=lambda f: f.epoch)

    def _of_writer(self, span: Span, writer: str) -> Iterator[Frame]:
        """The frames of a writer that count. What is damaged behind the last that a commit names does not matter."""
        commits = {c.epoch: c for c in span.commits}
        last = span.commits[-1].epoch
        named = [c.epoch for c in span.commits if c.writers is not None and writer in c.writers]
        open_ended = any(c.writers is None for c in span.commits)
        first = span.first_pieces.get(writer, 0)
        done = 0  # of `named`
        try:
            for frame in read_log(self.location, span.generation, writer, first):
                if frame.epoch > last:
                    break
                commit = commits.get(frame.epoch)
                if commit is None or commit.attempt != frame.attempt:
                    continue
                if done < len(named) and named[done] < frame.epoch:
                    break  # it is missing
                done += done < len(named) and named[done] == frame.epoch
                yield frame
        except Damaged as error:
            if done < len(named) or open_ended:
                epoch = named[done] if done < len(named) else (error.last_good or (0, 0))[0]
                raise Damaged(error.file, error.offset, self._before(epoch), error.why) from error
        if done < len(named):
            there = [p.file for p in pieces(self.location) if p[:2] == (span.generation, writer)]
            file = there[-1] if there else Piece(span.generation, writer, first).file
            why = f"epoch {named[done]} is committed, and the frame of writer {writer} in it is missing"
            raise Damaged(file, 0, self._before(named[done]), why)

    def _before(self, epoch: int) -> tuple[int, int] | None:
        """The last version before an epoch, if it can be restored from here."""
        good = [(c.epoch, c.attempt) for span in self.spans for c in span.commits if c.epoch < epoch]
        if self.manifest is None:
            return good[-1] if good else None
        good = [(self.manifest.version, self.manifest.attempt), *(g for g in good if g[0] > self.manifest.version)]
        return good[-1] if self.manifest.version < epoch else None
