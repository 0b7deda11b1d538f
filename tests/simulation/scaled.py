"""Runs that are scaled while clients ask: both ends of a move are the real ones, on connections that may break.

Where workers are apart, `at_coordinator.Scaling` asks `at_worker.Moves` through the real `Questions`; in one address
space it is `Here.scale`. Around them is what `drivers.apart` and `drivers.fleet` do, in simulated time.

Laws of connections: what is sent on one arrives in order, or not at all; then it has broken, and whoever sent notices,
sooner or later. What was on its way when one broke may arrive after what is sent on the next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from anabranch.drivers.answers import Questions
from anabranch.drivers.desk import Desk
from anabranch.drivers.fleet import Patience
from anabranch.drivers.host_messages import AllMoved, Done, MovedRows, Setup, Severed
from anabranch.drivers.interrupts import HoldBack
from anabranch.drivers.kernels import Kernels
from anabranch.drivers.scaling.at_coordinator import Scaling, setup_under
from anabranch.engines.embedded.engine import Plan
from anabranch.engines.embedded.here import Here
from anabranch.runtime.memory import Memory
from anabranch.runtime.messages import DRIVER, Hold, Joined, Lost, Stalled
from anabranch.runtime.routing import Routing
from anabranch.runtime.rows import Runner
from anabranch.runtime.worker import Worker
from tests.simulation.telling import brief

if TYPE_CHECKING:
    from tests.simulation.residents import Resident
    from tests.simulation.saved import Run

FOREVER = float("inf")
BREAKS = 0.02  # how likely a connection breaks at a step at which something is on it
SLOW = 0.1  # how likely what is sent on one takes its time
Action = Callable[[], None]


class Prepared(Scaling):
    """Nothing is compiled or imported in a story, so nothing has to be prepared before a move."""

    def _prepare(self, workers: int, entries: tuple[str, ...]) -> None:
        pass


class SimulatedDesk(Desk):
    """A desk whose coordinator is that of the world; `hold` is the real one."""

    def __init__(self, run: Run) -> None:
        world = run.world
        assert world is not None
        self._run, self._world = run, world
        self.coordinator, self.numbers = world.coordinator, world.numbers  # type: ignore[assignment]
        self.lock: Any = nullcontext()
        self.moved: Any = run.ages.threads.Condition()
        self.writers = ()
        self.saver = self.broken = None
        self.ended = False

    def tell(self, event: Any) -> None:
        if self._run.alive and self._run.broken is None:  # else all who wait are told that it is over
            self._world.coordinate(event)

    def carry_out(self, commands: Any) -> None:
        self._world.carry_out(commands)

    @contextmanager
    def locked(self, interrupts: HoldBack) -> Iterator[None]:
        yield

    def _ask_for_state(self, read: Any, interrupts: HoldBack) -> tuple[int, None]:
        number = next(self.numbers)
        self._run.wait_for_grant(Hold(number))
        return number, None

    def make_durable(self) -> None:
        self._run.make_durable()

    def fail(self, error: BaseException) -> None:
        self._run.broken = self._run.broken or error


class _Connection:
    def __init__(self, source: Resident, target: Resident) -> None:
        self.source, self.target = source, target
        self.mail: list[Any] = []
        self.open = True
        self.until = 0  # the step before which nothing arrives


class Letters:
    """What goes between processes beside the messages of machines."""

    def __init__(self, run: Run, take: Callable[[Resident, Any], None]) -> None:
        self._run, self._take = run, take
        self._orders: list[tuple[Resident, Any]] = []
        self._told: list[tuple[Resident, Any]] = []
        self._connections: list[_Connection] = []
        self._unnoticed: list[tuple[int, Resident, Severed]] = []  # from when on who notices what has broken

    def order(self, resident: Resident, message: Any) -> None:
        self._orders.append((resident, self._carried(message)))

    def tell(self, resident: Resident, message: Any) -> None:
        self._told.append((resident, self._carried(message)))

    def send(self, source: Resident, target: Resident | None, peer: int, message: Any) -> None:
        """To a peer. One that cannot be reached is as one to whom the connection breaks."""
        if target is None or not target.process.alive:
            self.tell(source, Severed(peer))
            return
        for found in self._connections:
            if found.open and found.source is source and found.target is target:
                connection = found
                break
        else:
            connection = _Connection(source, target)
            self._connections.append(connection)
        ages = self._run.ages
        assert ages.scaling is not None
        if not connection.mail and ages.scaling.random() < SLOW:
            connection.until = ages.now + ages.scaling.choice((10, 40, 150))
        connection.mail.append(self._carried(message))

    def _carried(self, message: Any) -> Any:
        world = self._run.world
        assert world is not None
        return world.wire.decode(world.wire.encode(message))

    def lose(self, resident: Resident) -> None:
        """Its process is gone: what it has sent may still arrive."""
        self._orders = [(r, m) for r, m in self._orders if r is not resident]
        for connection in [c for c in self._connections if c.target is resident]:
            self._break(connection, 0)

    def _break(self, connection: _Connection, kept: int) -> None:
        del connection.mail[kept:]
        connection.open = False
        self._connections = [c for c in self._connections if c.open or c.mail]
        if connection.source.process.alive:
            ages = self._run.ages
            assert ages.scaling is not None
            when = ages.now + ages.scaling.choice((0, 0, 20, 100))
            self._unnoticed.append((when, connection.source, Severed(connection.target.number)))

    def break_one(self, chance: Any) -> None:
        connection = chance.choice([c for c in self._connections if c.open and c.mail])
        kept = chance.randrange(len(connection.mail) + 1)
        lost, ends = len(connection.mail) - kept, (connection.source.number, connection.target.number)
        self._say(f"SEVERED worker {ends[0]} -> worker {ends[1]}: {lost} letters are lost")
        self._break(connection, kept)

    @property
    def on_the_way(self) -> bool:
        """Is anything on a connection that can break?"""
        return any(c.open and c.mail for c in self._connections)

    def actions(self) -> list[Action]:
        """The first letter on each way can arrive."""
        found: list[Action] = []
        firsts: dict[tuple[Resident, bool], Action] = {}
        for resident, message in self._orders:
            if resident.reachable:
                firsts.setdefault((resident, True), lambda r=resident, m=message: self._obey(r, m))
        for resident, message in self._told:
            firsts.setdefault((resident, False), lambda r=resident, m=message: self._hear(r, m))
        found += firsts.values()
        now = self._run.ages.now
        found += [lambda c=c: self._arrive(c) for c in self._connections if c.mail and c.until <= now]
        found += [lambda n=n: self._notice(n) for n in self._unnoticed if n[0] <= now and n[1].process.alive]
        return found

    def _notice(self, noticed: tuple[int, Resident, Severed]) -> None:
        self._unnoticed.remove(noticed)
        self.tell(*noticed[1:])

    def _obey(self, resident: Resident, message: Any) -> None:
        self._orders.remove((resident, message))
        self._say(f"worker {resident.number} is told: {brief(message)}")
        resident.obey(message)

    def _hear(self, resident: Resident, message: Any) -> None:
        self._told.remove((resident, message))
        self._say(f"worker {resident.number} tells: {brief(message)}")
        self._take(resident, message)

    def _arrive(self, connection: _Connection) -> None:
        message = connection.mail.pop(0)
        peer, target = connection.source.number, connection.target
        self._connections = [c for c in self._connections if c.open or c.mail]
        if not target.process.alive:
            return
        self._say(f"worker {peer} -> worker {target.number}: {brief(message)}")
        if isinstance(message, MovedRows):
            target.moves.take(peer, message)
        else:
            assert isinstance(message, AllMoved)
            target.moves.ended(peer, message)

    def _say(self, line: str) -> None:
        assert self._run.world is not None
        self._run.world.tell(line)


class SimulatedFleet:
    """As `drivers.fleet.Fleet`: a worker is one of its links from when its joining is heard to when its loss is."""

    def __init__(self, run: Run, letters: Letters, workers: int) -> None:
        self._run, self._letters = run, letters
        self.workers = self.needed = workers
        self.patience = Patience(start=FOREVER)
        self.links: dict[int, Resident] = {}
        self._arriving: list[Resident] = []

    def arrives(self, resident: Resident) -> None:
        self._arriving.append(resident)

    def heard(self, event: Joined | Lost) -> None:
        if isinstance(event, Lost):
            self.links.pop(event.worker, None)
            return
        first = next(r for r in self._arriving if r.number == event.worker)
        self._arriving.remove(first)
        self.links[event.worker] = first

    def post(self, worker: int, message: Any) -> None:
        link = self.links.get(worker)
        if link is not None and link.process.alive and self._run.alive:
            self._letters.order(link, message)

    def forget(self, worker: int) -> bool:
        self._arriving = [r for r in self._arriving if r.number != worker]
        return self.links.pop(worker, None) is not None

    # -- as a launcher ------------------------------------------------------------------------------------------------

    def more(self, worker: int) -> None:
        assert self._run.world is not None
        self._run.world.hire(worker)

    def fewer(self, worker: int, patience: float) -> None:
        if self._run.alive:
            assert self._run.world is not None
            self._run.world.dismiss(worker)


class ScaledApart:
    """As `drivers.apart.Apart` and the engine around it."""

    def __init__(self, run: Run, workers: int) -> None:
        self._run = run
        self.letters = Letters(run, self._take)
        self.fleet = SimulatedFleet(run, self.letters, workers)
        self._before: int | None = None

    def take_before(self) -> int | None:
        """How many instances there were, if what is committed is that there are others."""
        before, self._before = self._before, None
        return before

    def begin(self) -> None:
        run, fleet = self._run, self.fleet
        world = run.world
        assert world is not None
        routing = world.routing
        desk = SimulatedDesk(run)
        self._questions = Questions(fleet.links, fleet.post, lambda: None)
        launcher: Any = fleet
        assert run.ages.scaling is not None
        spares = run.ages.scaling.choice((0, 0, 1))
        self._scaling = Prepared(desk, launcher, self._questions, launcher, spares)
        self._setup = Setup(b"", routing.instance_of_bucket, routing.worker_of_instance, None, None, routing.version)
        self._scaling.keep_spares()

    def scale(self, plan: Plan) -> None:
        run = self._run
        world = run.world
        assert world is not None
        with run.saved.snapshots.alone():
            now = world.routing
            routing = plan(now)
            if routing is None:
                return
            runner = Runner(run.case.graph, world.code, Memory(run.case.graph, None, routing), world.specs)

            def decided() -> None:
                setup = self._setup = setup_under(self._setup, routing)
                self.fleet.needed = routing.workers
                self._before = now.instances
                told = Routing(setup.instance_of_bucket, setup.worker_of_instance, setup.routing)
                world.carry_out(world.coordinator.switch(routing.version, routing.workers, runner.starts))
                world.switched(routing, told)
                world.driver = world.machine_with(DRIVER, Memory(run.case.graph, None, routing))
                run.saved.switch(routing)

            self._scaling.scale(now, routing, tuple, decided)

    def _take(self, resident: Resident, message: Any) -> None:
        """As `drivers.apart.Apart.take`."""
        if self.fleet.links.get(resident.number) is not resident:
            return
        world = self._run.world
        assert world is not None
        self._run.ages.threads.news += 1
        if isinstance(message, Done):
            self._scaling.take(resident.number, message)
            return
        assert isinstance(message, Severed)
        self._scaling.severed()
        if max(resident.number, message.peer) < world.routing.workers:
            world.coordinate(Stalled())

    def heard(self, event: Joined | Lost) -> None:
        self._run.ages.threads.news += 1
        self.fleet.heard(event)

    def actions(self, chance: Any) -> list[Action]:
        if self.letters.on_the_way and chance.random() < BREAKS:
            return [lambda: self.letters.break_one(chance)]
        return self.letters.actions()


class ScaledHere(Here):
    """The engine of threads, in a world."""

    def __init__(self, run: Run) -> None:
        world = run.world
        assert world is not None
        self._run, self._world, threads = run, world, run.ages.threads
        self._graph, self._program, self.saved = run.case.graph, world.program, run.saved
        self._successor, self._before = None, None
        self._scaling: Any = threads.Lock()
        self.coordinator, self.memory, self.routing = world.coordinator, world.memory, world.routing
        self.kernels = Kernels(self._graph, self._program, self.memory)
        nothing: Any = lambda *_: None  # noqa: E731
        self._meter = self.rest = SimpleNamespace(resize=nothing, switch=nothing)  # type: ignore[assignment]
        self.tiers = SimpleNamespace(as_they_are=nullcontext, switch=nothing)  # type: ignore[assignment]
        desk = SimulatedDesk(run)
        self.driver: Any = SimpleNamespace(
            refuse_from_within=nothing, hold=desk.hold, desk=desk, switch=lambda machines: world.share(machines)
        )
        self._switched = lambda sequence, routing: world.switched(routing, routing)

    def _machines(self, memory: Memory, kernels: Kernels) -> list[Worker]:
        runner = Runner(self._graph, self._world.code, memory, self._world.specs)
        workers = memory.routing.workers
        return [Worker(w, workers, runner, self._run.case.pace) for w in range(workers)]

    def take_before(self) -> int | None:
        """How many instances there were, if what is committed is that there are others."""
        before, self._before = self._before, None
        return before
