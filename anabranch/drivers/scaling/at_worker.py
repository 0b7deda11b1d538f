"""A move, at a worker: what it sends of what it has, and what it will have.

Laws: what is sent before all workers have begun the move does not exist; what comes of another move is dropped; what
one has sent is placed in that order, though what was on a connection that broke may come after what is on the next; a
worker has all if it has as many messages of each as that has sent; a move that is given up leaves no trace.
"""

from __future__ import annotations

import logging
import threading
import traceback
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

import pyarrow as pa

from anabranch.drivers.durable.owns import Owns
from anabranch.drivers.host_messages import AllMoved, CatchUp, Done, Flush, Grow, MovedRows, Slice, Switch
from anabranch.drivers.kernels import Kernels
from anabranch.drivers.moving import Moved, Source, Successor
from anabranch.graph.nodes import Graph
from anabranch.lang import Program
from anabranch.lang.errors import MemoryFull
from anabranch.runtime.memory import Memory
from anabranch.runtime.messages import Version
from anabranch.runtime.routing import Routing
from anabranch.runtime.worker import Worker
from anabranch.state.changes import schema_of

log = logging.getLogger(__name__)


class Late(Exception):
    """It is an order of another move than the one at hand."""


class Holder(Protocol):
    """Whoever has the machine of a worker."""

    @property
    def worker(self) -> Worker: ...
    def go_over(self, memory: Memory, kernels: Kernels, version: Version) -> None:
        """Go on with this memory, which holds the version, and under its routing."""

    def begun(self, version: Version, before: int) -> str:
        """Save what partial instances start from that there are more of than before; gives the log that has it."""


class Moves:
    """The move at hand. `post` sends to a worker, this one too; `tell` to the coordinator."""

    def __init__(
        self,
        number: int,
        graph: Graph,
        program: Program,
        post: Callable[[int, Any], None],
        tell: Callable[[Any], None],
        holder: Holder,
    ) -> None:
        self._number, self._graph, self._program, self._post, self._tell = number, graph, program, post, tell
        self._holder = holder
        self._own = Owns(graph)
        self._schemas = {state.name: schema_of(state) for state in graph.states}
        self._at: _Move | None = None

    def obey(self, order: Grow | Slice | CatchUp | Flush | Switch) -> None:
        """On the machine's thread, but for `CatchUp` while no epoch runs; the answer is told."""
        worker, more, writer = self._holder.worker, False, ""
        try:
            if isinstance(order, CatchUp):
                self._catch_up(order)  # which answers
                return
            if not isinstance(order, Switch) and worker.instances and not worker.rest(order.version, order.committed):
                raise Late(order.move)
            match order:
                case Grow():
                    self._begin(order, worker.memory, worker.instances)
                case Slice():
                    more = self._slice(order)
                case Flush():
                    self._flush(order)  # which answers
                    return
                case Switch():
                    writer = self._switch(order)
        except Late:
            self._tell(Done(order.number, late=True))
        except Exception as error:
            log.exception("state could not be moved")
            self._tell(Done(order.number, problem="".join(traceback.format_exception_only(error)).strip()))
        else:
            self._tell(Done(order.number, more, writer))

    def _begin(self, order: Grow, memory: Memory, hosted: Sequence[int]) -> None:
        self.give_up()
        routing = Routing(order.instance_of_bucket, order.worker_of_instance, order.routing)
        move = self._at = _Move(order.move, routing, order.sources)
        if self._number < routing.workers:
            fresh = Memory(self._graph, None, routing, memory.budget)
            args = self._graph, self._program, memory.routing, fresh, self._own
            move.successor = Successor(*args, routing.hosted(self._number))
            threading.Thread(target=move.grow, args=(order.entries,), name="anabranch-grow", daemon=True).start()
        if self._number in order.sources:
            send = partial(self._send, order.move)
            move.source = Source(self._graph, self._program, memory, hosted, routing, self._own, send)

    def _send(self, number: int, worker: int, moved: Moved) -> None:
        move = self._of(number)
        turn = move.sent.get(worker, 0)
        move.sent[worker] = turn + 1
        if worker == self._number:
            self._take(number, worker, turn, moved)
        else:
            rows = moved.rows.serialize().to_pybytes()
            self._post(worker, MovedRows(number, turn, moved.state, moved.instance, moved.whole, rows))

    def take(self, peer: int, message: MovedRows) -> None:
        """By whoever reads what a peer sends; it waits if much is to be placed."""
        rows = pa.ipc.read_record_batch(pa.py_buffer(message.rows), self._schemas[message.state])
        moved = Moved(message.state, message.instance, message.whole, rows)
        self._take(message.move, peer, message.turn, moved)

    def _take(self, number: int, peer: int, turn: int, moved: Moved) -> None:
        move = self._at
        if move is not None and move.number == number and move.successor is not None:
            move.came(peer, turn, moved)
            move.successor.wait_for_room()

    def _slice(self, order: Slice) -> bool:
        """A slice more; False if that was all."""
        move = self._of(order.move)
        return move.source is not None and move.source.copy()

    def _flush(self, order: Flush) -> None:
        """Nothing more will come. The answer is given when all is here."""
        move = self._of(order.move)
        if move.source is not None:
            move.source.check()
            move.source.end()
            for worker in range(move.routing.workers):
                told = AllMoved(order.move, move.sent.get(worker, 0))
                if worker == self._number:
                    self.ended(worker, told)
                else:
                    self._post(worker, told)
        if move.successor is None:
            self._tell(Done(order.number))
        else:
            self._later(order.number, move.wait, lambda there: Done(order.number) if there else None)

    def _catch_up(self, order: CatchUp) -> None:
        move = self._of(order.move)
        if move.successor is None:
            self._tell(Done(order.number))
        else:
            self._later(order.number, move.successor.catch_up, lambda little: Done(order.number, more=not little))

    def ended(self, peer: int, message: AllMoved) -> None:
        """One of those that have something has sent all of it."""
        move = self._at
        if move is not None and move.number == message.move:
            move.ended(peer, message.messages)

    def _later(self, question: int, wait: Callable[[], bool], answer: Callable[[bool], Done | None]) -> None:
        """On a thread of its own: wait, and answer, if there is anything to say."""

        def work() -> None:
            try:
                if (told := answer(wait())) is not None:
                    self._tell(told)
            except MemoryFull as error:
                self._tell(Done(question, full=str(error)))
            except Exception as error:
                log.exception("a move has come to nothing")
                self._tell(Done(question, problem="".join(traceback.format_exception_only(error)).strip()))

        threading.Thread(target=work, name="anabranch-grown", daemon=True).start()

    def _switch(self, order: Switch) -> str:
        """Be a worker of the new routing. One that has come in the place of another since is that already."""
        worker = self._holder.worker
        memory, instances = worker.memory, worker.instances
        if memory.routing.version != order.routing:
            self._holder.go_over(*self._end(order.move, order.version), order.version)
        elif memory.holds(instances, order.committed) or memory.holds(instances, order.version):
            memory.become(instances, order.version)
        else:
            raise Late(order.move)  # it has not restored what it will have
        return self._holder.begun(order.version, order.before)

    def _end(self, number: int, version: Version) -> tuple[Memory, Kernels]:
        """What was growing is what there is from now on."""
        move = self._of(number)
        assert move.successor is not None
        move.successor.become(version)
        for entry, made in move.made.items():
            move.successor.kernels.install(entry, made)
        self._at = None
        move.end()
        return move.successor.memory, move.successor.kernels

    def give_up(self) -> None:
        move, self._at = self._at, None
        if move is not None:
            move.end()
            if move.successor is not None:
                move.successor.memory.leave()

    def _of(self, number: int) -> _Move:
        if self._at is None or self._at.number != number:
            raise Late(number)
        return self._at


class _Move:
    def __init__(self, number: int, routing: Routing, sources: Sequence[int]) -> None:
        self.number, self.routing = number, routing
        self.sent: dict[int, int] = {}  # messages, by worker
        self.source: Source | None = None
        self.successor: Successor | None = None
        self.made: dict[str, Any] = {}
        self._came = dict.fromkeys(sources, 0)  # messages of each, one after the other
        self._early: dict[int, dict[int, Moved]] = {source: {} for source in sources}  # by turn: others come before it
        self._sent_to_us: dict[int, int] = {}  # messages, by source that has sent all
        self._changed = threading.Condition()
        self._ready = self._over = False
        self._error: Exception | None = None

    def grow(self, entries: Sequence[str]) -> None:
        """On a thread of its own: get the kernels, then place what comes."""
        successor = self.successor
        assert successor is not None
        try:
            code = successor.kernels.code if entries else None
            successor.lay_out({name for entry in entries for name in code.written(entry).states})  # type: ignore[union-attr]
            for entry in entries:
                self.made[entry] = successor.kernels.prepare(entry)
        except Exception as error:
            self._error = error
            successor.end(error)
        with self._changed:
            self._ready = True
            self._changed.notify_all()
        successor.place()

    def came(self, source: int, turn: int, moved: Moved) -> None:
        assert self.successor is not None
        with self._changed:
            early = self._early[source]
            early[turn] = moved
            while (following := early.pop(self._came[source], None)) is not None:
                self.successor.put(following)
                self._came[source] += 1
            self._changed.notify_all()

    def ended(self, source: int, messages: int) -> None:
        with self._changed:
            self._sent_to_us[source] = messages
            self._changed.notify_all()

    @property
    def _all_here(self) -> bool:
        return self._ready and self._came == self._sent_to_us

    def wait(self) -> bool:
        """Until all is here and placed; False if it was given up."""
        assert self.successor is not None
        with self._changed:
            self._changed.wait_for(lambda: self._all_here or self._over)
            if self._over:
                return False
        self.successor.catch_up()
        if not self._over:
            self.successor.complete()
        return not self._over

    def end(self) -> None:
        if self.source is not None:
            self.source.end()
        with self._changed:
            self._over = True
            self._changed.notify_all()
        if self.successor is not None:
            self.successor.end()
