"""The coordinator: makes epochs of requests, decides which version is committed, and brings workers back to it.

Laws: one epoch is in flight; an epoch is committed when every worker that took part has finished the same attempt; a
request is answered once, after its epoch is committed; no epoch begins while a worker is lost or has not yet settled.

An attempt ends in one of three ways. It is committed. Or a request in it fails: the epoch is dissolved, its requests go
on alone, and one that fails alone runs fused, which says exactly what a plain run says. Or a worker is lost or
something stalls: its requests go back to the head of the queue.

Meanwhile what only reads is answered, where the workers that have settled hold all that it touches: it stays in the
queue, and is tried beside it on copies of what is committed. Its place in the order is after what is committed and
before all that waits; a try that comes to nothing, or too late, leaves no trace.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from anabranch.lang.entry import add_note
from anabranch.lang.errors import MemoryFull
from anabranch.runtime.backlog import Backlog, Chosen, Waiting, number_of
from anabranch.runtime.meanwhile import Meanwhile
from anabranch.runtime.messages import (
    DRIVER,
    NOTHING_YET,
    UNKNOWN,
    AtWorkers,
    Begin,
    BeginColumns,
    BeginFused,
    Boxed,
    Collect,
    Committed,
    CoordinatorCommand,
    CoordinatorEvent,
    Failed,
    Finished,
    FinishedFused,
    FinishedReads,
    Grant,
    Hold,
    IllegalTransition,
    Joined,
    Lost,
    Outcome,
    Placed,
    Raised,
    Ran,
    Release,
    Reply,
    Request,
    Results,
    Row,
    RowsLost,
    RowsMoved,
    Seen,
    Settle,
    Settled,
    Stalled,
    Submit,
    ToWorker,
    Version,
    Withdraw,
    Withdrawn,
    law,
)
from anabranch.runtime.rows import Start

Commands = list[CoordinatorCommand]
Split = Callable[[Placed], Sequence[Placed]]
MOVED = "there are other workers since the rows were brought"


class Epoch:
    """The requests of the epoch in flight, and what has been said of this attempt at it."""

    def __init__(self, chosen: Chosen, sequence: int) -> None:
        self.waiting, self.plan, self.columns = chosen.waiting, chosen.plan, chosen.columns
        placed = []
        for item in chosen.waiting:
            placed.append(Placed(item.request, sequence))
            sequence += len(item.request.rows)
        self.placed = tuple(placed)
        self.end = sequence
        self.finished: set[int] = set()
        self.results: dict[int, Any] = {}
        self.boxes: list[Any] = []
        self.writers: set[str] = set()
        self.collected: tuple[Outcome, ...] | None = None  # what a collector says of its requests

    def outcomes(self) -> tuple[Outcome, ...]:
        if self.columns:
            return tuple(Results(Boxed(p.sequence, len(p.request.rows), tuple(self.boxes))) for p in self.placed)
        return tuple(
            Results(tuple([self.results[p.sequence + i] for i in range(len(p.request.rows))])) for p in self.placed
        )


def _ran(placed: Sequence[Placed], outcomes: Sequence[Outcome], version: Version) -> tuple[Ran, ...]:
    return tuple(
        [
            Ran(p.request, p.sequence, version.epoch, isinstance(o, Raised), _kept(p.request, o))
            for p, o in zip(placed, outcomes, strict=True)
            # Withdrawn on the way, or refused for a reason that no repetition has.
            if not (isinstance(o, Raised) and isinstance(o.error, KeyboardInterrupt | MemoryFull))
        ]
    )


def _kept(request: Request, outcome: Outcome) -> Any:
    return outcome.values if request.mark is not None and isinstance(outcome, Results) else None


class Coordinator:
    def __init__(
        self,
        workers: int,
        backlog: Backlog,
        starts: Mapping[str, Start],
        apart: bool = False,
        split: Split | None = None,
        committed: Version = NOTHING_YET,
        sequence: int = 0,
    ) -> None:
        """`apart` if each worker has an address space to itself: then all of them are still to join.

        `committed` is what they start from, with the sequence number of the next row.
        `split` says which rows of a request in columns each worker gets; else each gets all, and takes its own.
        """
        self._split = split or (lambda placed: [placed] * workers)
        self.workers = frozenset(range(workers))
        self.apart = apart
        self.backlog, self.starts = backlog, starts
        self.routing = 0  # the version of that by which rows come
        self.committed = committed
        self.latest = committed  # the newest version that any worker was told of
        self.sequence = sequence  # of the next row
        self.epoch: Epoch | None = None
        self.lost: set[int] = set(self.workers) if apart else set()
        self.unsettled: set[int] = set()  # workers that have not yet said that they hold what is committed
        self.leader: int | None = None  # the worker that may be at a fused run, and so at the instances of all others
        self.held: int | None = None
        self.spoiled = False  # has a worker been lost since it was given to them?
        self.reserved = NOTHING_YET  # the version of what the client that holds the state may write
        self.meanwhile = Meanwhile(backlog, starts)

    def switch(self, routing: int, workers: int, starts: Mapping[str, Start], split: Split | None = None) -> Commands:
        """From now on these workers run epochs, all of which hold what is committed, under the routing of this version;
        for a client that holds it. What was staged at the workers that were is given back.
        """
        if self.held is None or self.lost or self.unsettled:
            raise IllegalTransition(f"workers change while something runs: {self!r}")
        self._split = split or (lambda placed: [placed] * workers)
        self.routing, self.workers, self.starts = routing, frozenset(range(workers)), starts
        self.meanwhile.switch(starts)
        return self._give_back_staged(RowsMoved(MOVED))

    @property
    def running(self) -> bool:
        return self.epoch is not None

    @property
    def idle(self) -> bool:
        """Would a request begin at once, and alone?"""
        return not (len(self.backlog) or self.epoch or self.lost or self.unsettled) and self.held is None

    def handle(self, event: CoordinatorEvent) -> Commands:
        match event:
            case Submit(request):
                if isinstance(request.rows, AtWorkers) and request.rows.routing != self.routing:
                    return [Reply(request.number, Raised(RowsMoved(MOVED)))]
                self.backlog.add(request)
                return self._advance()
            case Hold():
                self.backlog.add(event)
                return self._advance()
            case Release():
                return self._release(event)
            case Finished() | FinishedFused():
                return self._finished(event)
            case FinishedReads():
                return self._have_read(event)
            case Failed(_, version):
                return self._dissolve(event) if self._is_current(version) else []
            case Settled():
                return self._settled(event)
            case Withdraw(number):
                return self._withdraw(number)
            case Lost(worker) if worker not in self.workers:
                return []  # it was one before state moved
            case Lost(worker):
                self.lost.add(worker)
                self.spoiled = self.spoiled or self.held is not None
                gone = RowsLost("the worker that had some of the rows is gone")
                return [*self._give_back_staged(gone), *self._abort(())]
            case Joined(worker):
                self.lost.discard(worker)
                return self._abort({worker})
            case Stalled():
                return self._abort(())

    # -- begin --------------------------------------------------------------------------------------------------

    def _advance(self) -> Commands:
        """Begin what can be begun."""
        if self.epoch is not None or self.held is not None:
            return []
        if self.lost or self.unsettled:
            return self._read()
        stopped = self._stop_driver() if self.meanwhile.over() else []
        chosen = self.backlog.choose()
        if chosen is None:
            return stopped
        if isinstance(chosen, Hold):
            self.held = chosen.number
            self.reserved = self._new_version()
            return [*stopped, Grant(chosen.number)]
        self.epoch = Epoch(chosen, self.sequence)
        return [*stopped, *self._begin(self.epoch)]

    def _begin(self, epoch: Epoch) -> Commands:
        version = self._new_version()
        if epoch.plan is None and self.apart:
            here = any(w.fused or isinstance(w.request.rows, AtWorkers) for w in epoch.waiting)
            collector = DRIVER if here else version.epoch % len(self.workers)
            return [ToWorker(collector, Collect(version, self.committed, epoch.placed))]
        if epoch.plan is None:
            self.leader = version.epoch % len(self.workers)
            return [ToWorker(self.leader, BeginFused(version, self.committed, epoch.placed))]
        if epoch.columns:
            (placed,) = epoch.placed
            return [
                ToWorker(worker, BeginColumns(version, self.committed, epoch.plan, own))
                for worker, own in enumerate(self._split(placed))
            ]
        rows: dict[int, list[Row]] = {worker: [] for worker in sorted(self.workers)}
        for placed in epoch.placed:
            start = self.starts[placed.request.entry]
            worker_of = start.routing.worker_of
            for i, values in enumerate(placed.request.rows):
                for row in start.rows(placed.sequence + i, values):
                    rows[worker_of(row.instance)].append(row)
        return [
            ToWorker(worker, Begin(version, self.committed, epoch.plan, tuple(own))) for worker, own in rows.items()
        ]

    def _new_version(self) -> Version:
        epoch = self.committed.epoch + 1
        self.latest = Version(epoch, self.latest.attempt + 1 if self.latest.epoch == epoch else 0)
        return self.latest

    # -- end ----------------------------------------------------------------------------------------------------

    def _is_current(self, version: Version) -> bool:
        return self.running and version == self.latest

    def _finished(self, event: Finished | FinishedFused) -> Commands:
        epoch = self.epoch
        if epoch is None or not self._is_current(event.version):
            return []
        if isinstance(event, FinishedFused):
            epoch.collected = event.outcomes
            return self._commit(epoch, event.outcomes) if not self.apart or epoch.finished == self.workers else []
        if event.worker in epoch.finished:
            return []
        epoch.finished.add(event.worker)
        epoch.boxes += event.boxes
        if event.writer:
            epoch.writers.add(event.writer)
        for sequence, result in event.results:
            if sequence in epoch.results:
                raise IllegalTransition(f"row {sequence} of epoch {event.version} has two results")
            epoch.results[sequence] = result
        if epoch.finished < self.workers:
            return []
        if epoch.plan is not None:
            return self._commit(epoch, epoch.outcomes())
        return self._commit(epoch, epoch.collected) if epoch.collected is not None else []

    def _commit(self, epoch: Epoch, outcomes: tuple[Outcome, ...]) -> Commands:
        self.committed, self.sequence = self.latest, epoch.end
        self.epoch, self.leader = None, None
        ran = _ran(epoch.placed, outcomes, self.committed)
        replies = [Reply(p.request.number, o) for p, o in zip(epoch.placed, outcomes, strict=True)]
        committed = Committed(self.committed, ran, epoch.plan.stages if epoch.plan else 1, tuple(sorted(epoch.writers)))
        return [committed, *replies, *self._advance()]

    # -- one request at once, without messages: for a host that has all machines in its hands and finds them idle ------

    def alone(self, request: Request) -> tuple[Version, Placed]:
        """Begin it; nothing else may be told to the coordinator before `alone_done`."""
        if not self.idle:
            raise IllegalTransition(f"{request.number} would not run alone: {self!r}")
        return self._new_version(), Placed(request, self.sequence)

    def alone_done(self, placed: Placed, outcome: Outcome) -> Committed:
        self.committed, self.sequence = self.latest, placed.sequence + len(placed.request.rows)
        return Committed(self.committed, _ran((placed,), (outcome,), self.committed), 1)

    def _dissolve(self, failed: Failed) -> Commands:
        """A request has failed: none of them shares an epoch again, and one that was alone runs fused.

        For one that has found memory full twice, the second time alone, there is none.
        """
        assert self.epoch is not None
        waiting = self.epoch.waiting
        alone = len(waiting) == 1
        replies: Commands = []
        if failed.full and alone and waiting[0].alone:
            replies.append(Reply(waiting[0].request.number, Raised(self._full(self.epoch.placed[0], failed))))
            self.epoch.waiting = ()
        else:
            fused = alone and not failed.full
            self.epoch.waiting = tuple([Waiting(w.request, True, w.fused or fused) for w in waiting])
        return [*replies, *self._abort(())]

    def _full(self, placed: Placed, failed: Failed) -> MemoryFull:
        error = MemoryFull(failed.full)
        row = "" if failed.sequence == UNKNOWN else f", row {failed.sequence - placed.sequence}"
        add_note(error, f"in entry {placed.request.entry!r}{row}")
        return error

    # -- back to what is committed ------------------------------------------------------------------------------

    def _abort(self, others: Iterable[int]) -> Commands:
        """Let all that took part, and these others, go back to what is committed; what ran waits again."""
        self.unsettled |= set(self.workers if self.running else others) | set(others)
        self.unsettled -= self.lost
        if self.epoch is not None:
            self.backlog.put_back(self.epoch.waiting)
            self.epoch = None
        # A version that nothing was begun for: what a worker said before it was asked now is not the answer.
        self._new_version()
        if self.leader in self.lost:
            self.leader = None
        return [*self._stop_driver(), *self._ask_to_settle(), *self._advance()]

    def _stop_driver(self) -> Commands:
        self.meanwhile.give_up()
        return [ToWorker(DRIVER, Settle(self.committed, self.latest))] if self.apart else []

    def _give_back_staged(self, error: RowsLost) -> Commands:
        """Rows that were staged were at all workers, and so at the one that is lost."""
        waiting = self.backlog.take_staged()
        if self.epoch is not None:
            staged = [w for w in self.epoch.waiting if isinstance(w.request.rows, AtWorkers)]
            self.epoch.waiting = tuple([w for w in self.epoch.waiting if w not in staged])
            waiting = [*staged, *waiting]
        return [Reply(w.request.number, Raised(error)) for w in waiting]

    def _ask_to_settle(self) -> Commands:
        """The leader of a fused run first: until it has stopped it may write to what the others would settle."""
        asked = self.unsettled if self.leader is None else {self.leader}
        settle = Settle(self.committed, self.latest)
        return [ToWorker(worker, settle) for worker in sorted(asked)]

    def _settled(self, event: Settled) -> Commands:
        if (event.committed, event.latest) != (self.committed, self.latest) or event.worker not in self.unsettled:
            return []
        self.unsettled.discard(event.worker)
        if event.worker == self.leader:
            self.leader = None
            return self._ask_to_settle() or self._advance()
        return self._advance()

    # -- reads meanwhile ----------------------------------------------------------------------------------------

    @property
    def there(self) -> frozenset[int]:
        """The workers that hold what is committed."""
        return self.workers - self.lost - self.unsettled

    def _read(self) -> Commands:
        read = self.meanwhile.read(self.there, self.latest, self.committed, self.sequence) if self.apart else None
        return [] if read is None else [ToWorker(DRIVER, read)]

    def _have_read(self, done: FinishedReads) -> Commands:
        answered = self.meanwhile.take(done)
        placed = [(item, outcome) for item, outcome in answered if isinstance(item, Placed)]
        if placed:
            self.sequence = placed[-1][0].sequence + len(placed[-1][0].request.rows)
        ran = _ran([p for p, _ in placed], [o for _, o in placed], self.committed)
        seen = [Seen(self.committed, ran)] if ran else []
        return [*seen, *(Reply(number_of(item), outcome) for item, outcome in answered), *self._advance()]

    # -- clients ------------------------------------------------------------------------------------------------

    def _withdraw(self, number: int) -> Commands:
        if self.backlog.withdraw(number):
            return [Withdrawn(number)]
        if self.epoch is None or all(w.request.number != number for w in self.epoch.waiting):
            return []  # answered already
        self.epoch.waiting = tuple([w for w in self.epoch.waiting if w.request.number != number])
        return [Withdrawn(number), *self._abort(())]

    def _release(self, given: Release) -> Commands:
        if self.held != given.number:
            raise IllegalTransition(f"client {given.number} gives back what {self.held} holds")
        self.held = None
        spoiled, self.spoiled = self.spoiled, False
        if spoiled and not given.keeps:  # what was written is in part gone: nobody keeps it
            return self._abort(self.workers)
        if not given.wrote:
            return self._advance()
        self.committed, self.latest = self.reserved, max(self.latest, self.reserved)
        return [
            Committed(self.committed, (), 0, given.writers),
            *(self._abort(self.workers) if spoiled else self._advance()),
        ]

    def validate(self) -> None:
        """What always holds."""
        law(self.committed <= self.latest, self, "nothing is committed that was not begun")
        law(not (self.running and (self.lost or self.unsettled)), self, "an epoch runs on workers that have settled")
        law(not self.running or self.latest.epoch == self.committed.epoch + 1, self, "the next epoch runs")
        law(not self.running or self.held is None, self, "no epoch runs while a client holds the state")
        read = self.meanwhile.reading
        law(read is None or read.there <= self.there < self.workers, self, "what is read is of workers that are there")
        law(read is None or not self.running, self, "reads are tried while nothing runs")
        law(read is None or self.held is None, self, "reads are tried while nobody holds the state")
        law(read is None or read.committed == self.committed, self, "what is read is what is committed")
        law(not self.lost & self.unsettled, self, "a lost worker cannot settle")
        law(self.leader is None or self.running or self.leader in self.unsettled, self, "a leader runs or is stopped")
        numbers = self.backlog.numbers() + [p.request.number for p in (self.epoch.placed if self.epoch else ())]
        law(len(numbers) == len(set(numbers)), self, "a request waits or runs once")

    def __repr__(self) -> str:
        running = [p.request.number for p in self.epoch.placed] if self.epoch else None
        return (
            f"Coordinator(committed={self.committed}, latest={self.latest}, epoch={running}, running={self.running}, "
            f"lost={self.lost}, unsettled={self.unsettled}, leader={self.leader}, held={self.held}, "
            f"waiting={self.backlog.numbers()})"
        )
