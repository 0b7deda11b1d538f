"""A worker in an address space of its own: its machine, its connections, and what its coordinator's host asks of it.

It has one stream to the coordinator, which it opens, and one to each worker it sends rows to. Whoever reads a stream
does nothing but put what comes into the machine's mail, so nobody waits for one who waits for him.

Laws: it ends when the coordinator says so, or when the connection to it breaks; what a broken connection to a peer may
have lost is told to the coordinator, which begins the epoch again.
"""

from __future__ import annotations

import logging
import platform
import threading
import traceback
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import msgpack
import pyarrow as pa

from anabranch.drivers.callers import Stop
from anabranch.drivers.flight import Security
from anabranch.drivers.forks.at_worker import Forks
from anabranch.drivers.forks.doors import Doors
from anabranch.drivers.forks.gateway import Direct, Reach, Through, led
from anabranch.drivers.host import Errand, Host
from anabranch.drivers.host_messages import (
    AllMoved,
    Broke,
    CatchUp,
    Content,
    Copied,
    Copy,
    Done,
    Drop,
    Flush,
    FromDisk,
    GiveUp,
    Goodbye,
    Grow,
    Hello,
    Install,
    Installed,
    Keep,
    Lead,
    MovedRows,
    Part,
    Parted,
    Peers,
    Ping,
    Prepare,
    Ready,
    Report,
    Reported,
    Setup,
    Severed,
    Show,
    Slice,
    Split,
    SplitOff,
    Switch,
    WantContent,
)
from anabranch.drivers.kernels import Kernels
from anabranch.drivers.letters import Letters
from anabranch.drivers.moving import prepare
from anabranch.drivers.neighbours import Neighbours
from anabranch.drivers.scaling.at_worker import Moves
from anabranch.drivers.shipping import fingerprint, unpack_program
from anabranch.drivers.showing import Showing
from anabranch.drivers.staging import Kept, Staging
from anabranch.drivers.streams import Broken, Refused, Stream
from anabranch.drivers.timing import Cells, TimedCode
from anabranch.drivers.values import Values
from anabranch.drivers.wire import HOSTS, Wire
from anabranch.graph.nodes import Graph
from anabranch.kernels import PythonCode
from anabranch.lang import Program
from anabranch.lang.errors import MemoryFull
from anabranch.lang.release import VERSION
from anabranch.lang.spec import describe
from anabranch.runtime.collecting import Copies
from anabranch.runtime.memory import Memory
from anabranch.runtime.messages import (
    Apply,
    AtWorkers,
    BeginColumns,
    End,
    Entries,
    Fetch,
    Finished,
    Load,
    Loaded,
    Rows,
    Version,
)
from anabranch.runtime.routing import Routing
from anabranch.runtime.rows import Runner
from anabranch.runtime.worker import Worker
from anabranch.state.budget import Budget
from anabranch.state.collected import part_of
from anabranch.state.sizes import size_of

if TYPE_CHECKING:
    from anabranch.drivers.durable.worker import WorkerSaver

log = logging.getLogger(__name__)

GREETING = Values(HOSTS)  # before a program is known


def versions() -> tuple[tuple[str, str], ...]:
    """What two ends must have in common to understand each other."""
    python = ".".join(platform.python_version_tuple()[:2])
    packages = {"anabranch": VERSION, "pyarrow": pa.__version__.partition(".")[0]}
    return (("python", python), *sorted(packages.items()), ("msgpack", str(msgpack.version[0])))


@dataclass(frozen=True, slots=True)
class Held:
    """What a worker has: of another, if it is a fork."""

    program: Program
    graph: Graph
    memory: Memory
    kernels: Kernels


class Resident:
    """Worker `number` of the run whose coordinator is at `address`; `run` comes back when the run has ended."""

    def __init__(
        self,
        number: int,
        address: str,
        security: Security,
        host: str = "127.0.0.1",
        ports: range | None = None,
        reach: Reach | None = None,
        life: int = 0,
    ) -> None:
        self.number = number
        self._security = security
        self._reach = reach or Direct(security, host, ports)
        self._arrived = threading.Event()  # the machine is there to take mail
        self._leaving = False
        self._neighbours = Neighbours(number, self._reach, self._take, lambda peer: self._tell(Severed(peer)))
        streams = {
            "peer": self._hear_peer,
            "stage": lambda stream: self._staging.take(self._expected(stream)),
            "staged": lambda stream: self._staging.give(self._expected(stream)),
            "results": lambda stream: self._kept.give(self._expected(stream)),
        }
        self._server = self._reach.serve(streams)
        self._client = self._reach.client(address)
        self._forks = Forks(self._reach, tuple(streams), self._parted)
        hello = Hello(number, self._server.address, versions(), life)
        try:
            self._driver = Letters(self._client.open("worker", GREETING.encode(hello)))
        except BaseException:
            self._server.stop()
            raise
        self._saver: WorkerSaver | None = None

    def run(self, program: bytes | None = None, held: Held | None = None) -> None:
        """`program` as `pack_program` gives it, where it has not to come from the coordinator; or what is `held`."""
        try:
            if self._set_up(program, held):
                self._host.start()
                self._arrived.set()
                self._listen()
        except Broken:
            pass  # the coordinator's process is gone, and with it whoever wanted something
        finally:
            self._leave()

    def _leave(self) -> None:
        self._leaving = self._neighbours.leaving = True
        self._arrived.set()
        self._neighbours.leave()
        if self._saver is not None:
            try:
                self._saver.close()
            except Exception:  # what was answered is on disk: nobody waits for the rest
                log.warning("the log of worker %s could not be closed", self.number, exc_info=True)
        self._forks.end()
        self._server.stop()
        self._driver.close()
        self._client.close()

    def _set_up(self, packed: bytes | None, held: Held | None) -> bool:
        data = self._driver.receive()
        if data is None:
            return False
        setup = GREETING.decode(data)
        assert isinstance(setup, Setup)
        try:
            routing = Routing(setup.instance_of_bucket, setup.worker_of_instance, setup.routing)
            if held is None:
                given = setup.program if packed is None else packed
                assert given is not None
                held = self._nothing(*unpack_program(given), routing, setup.memory)
            self._build(held, routing, setup)
            if not routing.hosted(self.number):
                self._use(setup.entries)
        except (Exception, SystemExit) as error:
            told = "".join(traceback.format_exception_only(error)).strip()
            self._driver.send(GREETING.encode(Ready("", told)))
            self._driver.receive()  # until the other end has read it
            return False
        self._driver.send(GREETING.encode(Ready(fingerprint(self._graph))))
        return True

    def _nothing(self, program: Program, graph: Graph, routing: Routing, limit: int | None) -> Held:
        budget = None if limit is None else Budget(limit // routing.workers, limit, self.number)
        memory = Memory(graph, None, routing, budget)
        return Held(program, graph, memory, Kernels(graph, program, memory, routing.hosted(self.number)))

    def _build(self, held: Held, routing: Routing, setup: Setup) -> None:
        program, graph = self._program, self._graph = held.program, held.graph
        self._wire = Wire(graph)
        self._cells: Cells = {}
        machine = self._machine(held.memory, held.kernels, routing)
        if setup.saved is not None:
            from anabranch.drivers.durable.worker import WorkerSaver

            self._saver = WorkerSaver(setup.saved, self.number, graph, program, self._memory)
        self._staging = Staging(graph, self._wire.values)
        self._kept = Kept(self._wire.values, machine.runner.specs)
        self._showing = Showing(graph, self._tell)
        self._moves = Moves(self.number, graph, program, self._post, self._tell, self)
        self._host = Host(machine, self._post, self._tell_done, self._broke, self._load, self._with_rows)

    def _machine(self, memory: Memory, kernels: Kernels, routing: Routing) -> Worker:
        """That of a worker which has this memory."""
        program, graph = self._program, self._graph
        self._memory, self._kernels, self._budget = memory, kernels, memory.budget
        code = TimedCode(PythonCode(graph, program), self._cells)
        specs = dict(describe(type(program)).entries)
        runner = Runner(graph, code, memory, specs, kernels.of_worker(self._cells))
        return Worker(self.number, routing.workers, runner, None, Copies(graph, program, routing))

    def _expected(self, stream: Stream) -> Stream:
        """One who feeds this worker or reads from it, once there is a program."""
        self._arrived.wait()
        if self._leaving:
            raise Refused("the run has ended")
        return stream

    def _with_rows(self, event: Any) -> Any:
        """What begins with staged rows gets them; what it finishes stays here."""
        if not isinstance(event, BeginColumns) or not isinstance(event.placed.request.rows, AtWorkers):
            return event
        self._kept.expect(event)
        return self._staging.resolve(event)

    def _drop(self, order: Drop) -> None:
        self._staging.drop(order.query, order.batch)
        self._kept.drop(order.query, order.batch)

    def _tell_done(self, message: Any) -> None:
        if isinstance(message, Finished):
            message = self._kept.strip(message)
            if self._saver is not None:
                message = replace(message, writer=self._saver.epoch(message.version))
        self._tell(message)

    # -- what comes in ------------------------------------------------------------------------------------------------

    def _listen(self) -> None:
        """Until the end: what the coordinator and its host say."""
        while (data := self._driver.receive()) is not None:
            message = self._wire.decode(data)
            match message:
                case Goodbye():
                    break
                case Peers(addresses):
                    self._neighbours.meet(addresses)
                case FromDisk():
                    self._host.mail.put(Errand(partial(self._restore, message)))
                case Copy():
                    self._host.mail.put(Errand(partial(self._copy, message)))
                case Keep():
                    self._host.mail.put(Errand(partial(self._keep, message)))
                case Split():
                    self._host.mail.put(Errand(partial(self._split, message)))
                case Prepare():
                    threading.Thread(target=self._prepare, args=(message,), name="anabranch-ready", daemon=True).start()
                case Grow() | Slice() | CatchUp() | Flush() | Switch():
                    self._host.mail.put(Errand(partial(self._moves.obey, message)))
                case GiveUp():
                    self._host.mail.put(Errand(self._moves.give_up))
                case Lead(fork, address):
                    self._forks.lead(fork, address)
                case Part(fork):
                    self._forks.part(fork)
                case Ping():
                    self._tell(message)
                case Report(number):
                    self._tell(self._report(number))
                case Show():
                    self._host.mail.put(Errand(partial(self._show, message)))
                case Install():
                    self._host.mail.put(Errand(partial(self._install, message)))
                case Content():
                    self._host.mail.put(Errand(partial(self._put, message)))
                case Drop():  # behind what the machine was told to begin with those rows, though nobody waits for it
                    self._host.mail.put(Errand(partial(self._drop, message)))
                case _:
                    self._host.mail.put(message)
        self._host.mail.put(Stop())

    def _hear_peer(self, stream: Stream) -> None:
        self._arrived.wait()
        self._neighbours.hear(stream)

    def _take(self, peer: int, data: bytes | memoryview) -> None:
        """What another worker has sent."""
        message = self._wire.decode(data)
        match message:
            case Rows() | End() | Fetch() | Entries() | Apply():
                self._host.mail.put(message)
            case MovedRows():
                self._moves.take(peer, message)
            case AllMoved():
                self._moves.ended(peer, message)
            case _:
                raise Refused(f"a peer does not send a {type(message).__name__}")

    def _put(self, given: Content) -> None:
        """On the machine's thread. It may come twice, as it may be asked for twice: what was written since stays."""
        worker = self._host.worker
        if worker.waiting is None or worker.waiting.committed != given.version:
            return
        if not self._memory.holds(worker.instances, given.version):
            states = {s.name: s for s in self._graph.states}
            for instance, parts in given.parts:
                content = {name: part_of(states[name], self._program, found) for name, found in parts}
                self._memory.put(instance, content, given.version)
            self._memory.recount("at the start")
            self._use(given.entries)
        self._host.mail.put(Loaded(given.version))

    def _restore(self, given: FromDisk) -> None:
        """On the machine's thread: the same from the checkpoint location. The second time it is there already."""
        worker = self._host.worker
        if worker.waiting is None or worker.waiting.committed != given.version:
            return
        assert self._saver is not None
        if not self._memory.holds(worker.instances, given.version):
            self._saver.restore(given.version, given.stands_on, self._kernels)
            self._memory.recount("after they were restored")
            self._use(given.entries)
        self._host.mail.put(Loaded(given.version))

    def _use(self, entries: Iterable[str]) -> None:
        """The kernels of these, which those who have the other instances use already."""
        for entry in entries:
            self._kernels.install(entry, self._kernels.prepare(entry))

    def _copy(self, order: Copy) -> None:
        """On the machine's thread, while no epoch runs."""
        assert self._saver is not None
        try:
            if not self._host.worker.rest(order.version, order.committed):
                raise RuntimeError("the order came late")
            self._tell(self._saver.copy(order))
        except Exception as error:
            log.exception("no slice could be copied for a snapshot")
            told = "".join(traceback.format_exception_only(error)).strip()
            self._tell(Copied(order.number, False, "", 0, told))

    def _show(self, order: Show) -> None:
        self._showing.show(order, self._host.worker)

    # -- another routing: see `scaling.at_worker` ---------------------------------------------------------------------

    @property
    def worker(self) -> Worker:
        return self._host.worker

    def go_over(self, memory: Memory, kernels: Kernels, version: Version) -> None:
        """Be a worker of the memory's routing."""
        old = self._memory
        machine = self._machine(memory, kernels, memory.routing)
        machine.latest = version
        self._host.worker = machine
        self._neighbours.leave_behind(memory.routing.workers)
        old.leave()
        if self._budget is not None:
            self._budget.limit = self._budget.whole // memory.routing.workers
        if self._saver is not None:
            self._saver.switch(memory)

    def begun(self, version: Version, before: int) -> str:
        return "" if self._saver is None else self._saver.begun(version, before)

    def _keep(self, order: Keep) -> None:
        assert self._saver is not None
        self._saver.keep(order, self._tell)

    def _split(self, order: Split) -> None:
        """On the machine's thread, while no epoch runs."""
        try:
            if not order.empty and not self._host.worker.rest(order.version, order.committed):
                raise RuntimeError("the order came late")
            self._forks.split(order.fork, self._kernels.still(), partial(self._live, order.empty))
        except Exception as error:
            log.exception("no fork could be made")
            self._tell(SplitOff(order.number, "".join(traceback.format_exception_only(error)).strip()))
        else:
            self._tell(SplitOff(order.number))

    def _live(self, empty: bool, doors: Doors) -> None:
        """In the process of a fork: another worker, with what this one holds."""
        doors.ready()
        coordinator, address = led(doors)
        held = Held(self._program, self._graph, self._memory, self._kernels)
        if empty:
            limit = None if self._budget is None else self._budget.whole
            held = self._nothing(self._program, self._graph, self._memory.routing, limit)
        Resident(self.number, coordinator, self._security, reach=Through(doors, address)).run(held=held)

    def _parted(self, fork: int) -> None:
        with suppress(Broken):
            self._tell(Parted(fork))

    def _install(self, order: Install) -> None:
        """On the machine's thread, while no epoch runs."""
        try:
            made = self._kernels.prepare(order.entry)
            if not self._host.worker.rest(order.version, order.committed):
                raise RuntimeError("the order came late")
            self._kernels.install(order.entry, made)
        except Exception as error:
            log.exception("the kernels of %s cannot be used", order.entry)
            self._tell(Installed(order.entry, "".join(traceback.format_exception_only(error)).strip()))
        else:
            self._tell(Installed(order.entry))

    # -- what goes out ------------------------------------------------------------------------------------------------

    def _tell(self, message: Any) -> None:
        self._driver.send(self._wire.encode(message))

    def _post(self, peer: int, message: Any) -> None:
        if peer == self.number:
            self._host.mail.put(message)
        elif peer < 0:
            self._tell(message)
        else:
            self._neighbours.send(peer, self._wire.encode(message))

    def _load(self, load: Load) -> None:
        self._tell(WantContent(load.version))

    def _broke(self, error: BaseException) -> None:
        if isinstance(error, Broken):
            return  # the coordinator is gone: who listens to it makes an end
        full = str(error) if isinstance(error, MemoryFull) else None
        self._tell(Broke("".join(traceback.format_exception(error)), full))

    def _prepare(self, order: Prepare) -> None:
        """Beside the machine."""
        problem = None
        try:
            prepare(self._graph)
            for entry in order.entries:
                self._kernels.prepare(entry)
        except Exception as error:
            log.exception("a move could not be prepared")
            problem = "".join(traceback.format_exception_only(error)).strip()
        self._tell(Done(order.number, problem=problem))

    def _report(self, number: int) -> Reported:
        rows = tuple((name, int(rows), seconds) for name, (rows, seconds) in list(self._cells.items()))
        sizes: dict[str, int] = {}
        # Only who holds the state asks with a number: else its machine might be writing.
        for i in self._host.worker.instances if number else ():
            for name, part in self._memory.of_instance[i].items():
                sizes[name] = sizes.get(name, 0) + size_of(part)
        sent = self._neighbours.sent, self._neighbours.sent_bytes
        accounted = 0 if self._budget is None or not number else self._budget.accounted
        progress = self._host.worker.progress
        return Reported(number, self._host.busy, rows, tuple(sizes.items()), progress, *sent, accounted)
