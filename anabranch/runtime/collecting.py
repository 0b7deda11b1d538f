"""Requests one after the other where state is spread over address spaces: collect what they touch, then write back.

The collector runs its requests on copies that hold what it has fetched. A row that touches something else stops there.
The rows behind it run on a guess, to find what they will ask for: on a state that lacks what that row would write. What
all of them lack is asked for at once, what the guess wrote is taken back, and the row that stopped runs again.

Laws: only a row that lacked nothing, behind rows that lacked nothing, has a result and effects; a guess ends, whatever
the state on which it runs, and so does a round of them. So what ends as a plain run ends here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from anabranch.graph.nodes import Graph
from anabranch.kernels.allowance import Allowance, Spent
from anabranch.lang import Program
from anabranch.runtime.fused import raised
from anabranch.runtime.messages import (
    DRIVER,
    Apply,
    Collect,
    Entries,
    Failed,
    Fetch,
    FinishedFused,
    Outcome,
    Raised,
    Results,
    ToCoordinator,
    ToWorker,
    Version,
    WorkerCommand,
)
from anabranch.runtime.routing import Routing
from anabranch.runtime.rows import Runner
from anabranch.state.collected import Collected, NotHere, Want

if TYPE_CHECKING:
    from anabranch.runtime.worker import Worker


class Copies(Collected):
    """What a collector has of the states of all instances."""

    def __init__(self, graph: Graph, program: Program, routing: Routing) -> None:
        super().__init__(graph, program, routing.instances, routing.owner)
        self.routing = routing


def questions(
    worker: Worker, version: Version, committed: Version, wants: Iterable[Want]
) -> tuple[list[WorkerCommand], set[int]]:
    """Ask the owners of all that is wanted, as `committed` left it: the messages, and who has to answer."""
    worker.questions += 1
    by_worker: dict[int, list[Want]] = {}
    for want in wants:
        by_worker.setdefault(worker.runner.routing.worker_of(want.instance), []).append(want)
    commands: list[WorkerCommand] = [
        ToWorker(w, Fetch(version, committed, worker.number, worker.questions, tuple(own)))
        for w, own in by_worker.items()
    ]
    return commands, set(by_worker)


class Guess:
    """Rows behind one that could not run: which pieces of state would they touch?

    The loops of a row have so many turns, and all rows of a round have. A row that spends its turns and finds nothing
    halves what is left of the round, a round that finds nothing halves the next.
    """

    ROW, TURNS = 5, 1_000  # turns that a row costs, and that it has
    MOST, LEAST = 50_000, 500  # that a round has

    def __init__(self, runner: Runner, copies: Copies) -> None:
        self._allowance = Allowance()
        self._runner, self._copies = runner.elsewhere(copies, self._allowance), copies
        self._round = self._left = self.MOST

    def begin(self) -> None:
        """A round starts."""
        self._left = self._round

    @property
    def spent(self) -> bool:
        return self._left <= 0

    def end(self, found: bool) -> None:
        """The round is over, and has found pieces or not."""
        if self._left < self._round:
            self._round = self.MOST if found else max(self.LEAST, self._round // 2)

    def run(self, entry: str, sequence: int, row: tuple[Any, ...]) -> dict[Want, None]:
        """What the row lacks. What it writes stays, unless it has lacked something or raised."""
        before = self._copies.mark()
        turns = min(self.TURNS, self._left)
        self._allowance.grant(turns)
        ended = False
        try:
            self._runner.alone(entry, sequence, row)
            ended = not self._copies.wanted
        except Spent:
            if not self._copies.wanted:
                self._left //= 2
        except (Exception, NotHere):  # of a state that never was
            pass
        finally:
            self._left -= self.ROW + turns - max(0, self._allowance.left)
            wanted = dict(self._copies.wanted)
            if not ended:
                self._copies.rollback(before)
        return wanted


class Collecting:
    """An epoch of collected requests, at the worker that collects for it, or beside the coordinator."""

    def __init__(self, worker: Worker, begin: Collect) -> None:
        self.worker, self.version, self.committed, self.placed = worker, begin.version, begin.committed, begin.placed
        assert worker.copies is not None, f"worker {worker.number} has all state at hand and collects"
        self.copies = worker.copies
        self.copies.clear()
        self.runner = worker.runner.elsewhere(self.copies)
        self.interrupted: dict[int, Raised] = {}  # requests that their caller has cut short
        self.round = 0
        self.asked: set[int] = set()  # workers that have not answered yet
        self.wants: dict[Want, None] = {}
        self.lacked = 0  # of them, by the row that has to run next
        self.ahead: Iterator[tuple[int, int]] | None = None  # requests and rows that run on a guess
        self.outcomes: list[Outcome] = []
        self.results: list[object] = []  # of the request at hand
        self.beginning = self.marks = self.copies.mark()  # of the row at hand, of the request at hand

    @property
    def busy(self) -> bool:
        return not self.asked

    def step(self) -> list[WorkerCommand]:
        for _ in range(self.worker.pace.slice):
            if self.ahead is not None:
                row = None if self.worker.guess.spent else next(self.ahead, None)
                if row is None:
                    return self._fetch()
                self._guess(*row)
            elif len(self.outcomes) == len(self.placed):
                return self._finish()
            elif self._run_row() and self.worker.number != DRIVER:
                # An exception does not travel: the request alone, beside the coordinator, says which one it is.
                self.worker.job = None
                return [ToCoordinator(Failed(self.worker.number, self.version, self.placed[0].sequence))]
        return []

    def _run_row(self) -> bool:
        """Go on by a row, or to the next request; gives whether a request has failed."""
        at, done = len(self.outcomes), len(self.results)
        request, sequence = self.placed[at]
        if at in self.interrupted:
            self.copies.rollback(self.marks)
            self._next(self.interrupted[at])
        elif done == len(request.rows):
            self._next(Results(tuple(self.results)))
        else:
            self.beginning = self.copies.mark()
            try:
                result = self.runner.alone(request.entry, sequence + done, request.rows[done])
                if self.copies.wanted:  # the user's code has swallowed what said so
                    self._lacks(at, done)
                else:
                    self.results.append(result)
            except NotHere:
                self._lacks(at, done)
            except BaseException as error:
                if self.copies.wanted and isinstance(error, Exception):  # of a state that never was
                    self._lacks(at, done)
                    return False
                self.copies.rollback(self.marks)
                self._next(raised(self.runner, request.entry, done, error))
                return True
        return False

    def _next(self, outcome: Outcome) -> None:
        self.outcomes.append(outcome)
        self.results, self.marks = [], self.copies.mark()

    # -- what is not here -----------------------------------------------------------------------------------------

    def _lacks(self, at: int, done: int) -> None:
        """A row has touched what is not here: it has not run. Those behind it run on a guess."""
        self.wants = dict(self.copies.wanted)
        self.copies.rollback(self.beginning)
        self.lacked = len(self.wants)
        self.ahead = self._behind(at, done)
        self.worker.guess.begin()

    def _behind(self, at: int, done: int) -> Iterator[tuple[int, int]]:
        """The requests and rows behind a row."""
        for number in range(at, len(self.placed)):
            for row in range(done + 1 if number == at else 0, len(self.placed[number].request.rows)):
                if number in self.interrupted:
                    break
                yield number, row

    def _guess(self, at: int, done: int) -> None:
        request, sequence = self.placed[at]
        try:
            self.wants |= self.worker.guess.run(request.entry, sequence + done, request.rows[done])
        except BaseException as error:
            self.interrupted[at] = raised(self.runner, request.entry, done, error)

    def _fetch(self) -> list[WorkerCommand]:
        self.worker.guess.end(len(self.wants) > self.lacked)
        commands, self.asked = questions(self.worker, self.version, self.committed, self.wants)
        self.round = self.worker.questions
        self.copies.rollback(self.beginning)
        return commands

    def receive(self, entries: Entries) -> None:
        if entries.round != self.round or entries.worker not in self.asked:
            return
        self.asked.discard(entries.worker)
        for want, found in entries.found:
            self.copies.fill(want, found)
        if not self.asked:
            self.ahead = None

    def _finish(self) -> list[WorkerCommand]:
        worker, routing = self.worker, self.runner.routing
        worker.job = None
        effects = self.copies.effects()
        commands: list[WorkerCommand] = []
        for peer in range(routing.workers):
            own = tuple((i, tuple(effects[i])) for i in routing.hosted(peer) if effects[i])
            commands.append(ToWorker(peer, Apply(self.version, self.committed, own)))
        commands.append(ToCoordinator(FinishedFused(worker.number, self.version, tuple(self.outcomes))))
        return commands

    @property
    def progress(self) -> float:
        return len(self.outcomes) / max(1, len(self.placed)) if self.busy else 0.0
