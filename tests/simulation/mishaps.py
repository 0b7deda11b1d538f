"""What goes wrong in a world: messages, connections, workers and clients."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from anabranch.runtime.messages import Lost, Settle, Stalled, Withdraw
from tests.simulation.clients import Client
from tests.simulation.telling import brief, name

if TYPE_CHECKING:
    from tests.simulation.world import World

Channel = tuple[int, int]


class Mishaps:
    """`crash` of single workers only where they `may_crash` alone."""

    def __init__(self, world: World, may_crash: bool = True) -> None:
        self.world, self.rng, self.faults = world, world.rng, world.case.faults
        self.budget = self.faults.budget
        self.may_crash = may_crash

    def next(self) -> Callable[[], None] | None:
        """One that happens now, if there is one."""
        if self.budget <= 0:
            return None
        faults, rng, world = self.faults, self.rng, self.world
        apart = 1.0 if world.case.apart else 0.0
        alive = [w for w, machine in enumerate(world.workers) if machine is not None]
        on_the_way = [c for c, messages in world.network.items() if messages]
        orders = [c for c in on_the_way if any(isinstance(m, Settle) for m in world.network[c])]
        waiting = [c for c in world.clients if c.waiting in world.calls]
        for likelihood, possible, mishap in (
            (faults.drop, on_the_way, self.drop),
            (faults.repeat, on_the_way, self.repeat),
            (faults.delay, on_the_way, self.delay),
            (faults.repeat, orders, self.repeat_order),
            (faults.crash, alive if self.may_crash else [], self.crash),
            (faults.crash * apart, alive, self.give_up_for_lost),
            (faults.drop / 3 * apart, on_the_way, self.break_off),
            (faults.stall, alive, self.sleep),
            (faults.abort * (5 if world.limbo else 1), [True], self.abort),
            (faults.withdraw, waiting, self.give_up),
        ):
            if possible and rng.random() < likelihood:
                self.budget -= 1
                return partial(mishap, rng.choice(possible))  # type: ignore[arg-type]
        return None

    def drop(self, channel: Channel) -> None:
        messages = self.world.network[channel]
        message = messages.pop(self.rng.randrange(len(messages)))
        self.world.tell(f"LOST {name(channel[0])} -> {name(channel[1])}: {brief(message)}")

    def repeat(self, channel: Channel) -> None:
        message = self.rng.choice(self.world.network[channel])
        self.world.limbo.append((self.rng.choice((1, 1, 5, 40, 200)), channel, message))
        self.world.tell(f"TWICE {name(channel[0])} -> {name(channel[1])}: {brief(message)}")

    def repeat_order(self, channel: Channel) -> None:
        """There are few of these, and they do harm when they come once more in the middle of what followed."""
        message = next(m for m in self.world.network[channel] if isinstance(m, Settle))
        self.world.limbo.append((self.rng.choice((5, 10, 20, 40, 80)), channel, message))
        self.world.tell(f"TWICE {name(channel[0])} -> {name(channel[1])}: {brief(message)}")

    def delay(self, channel: Channel) -> None:
        messages = self.world.network[channel]
        message = messages.pop(self.rng.randrange(len(messages)))
        self.world.limbo.append((self.rng.choice((5, 40, 200)), channel, message))
        self.world.tell(f"LATE {name(channel[0])} -> {name(channel[1])}: {brief(message)}")

    def crash(self, worker: int) -> None:
        machine = self.world.forget(worker)
        self.world.tell(f"CRASH of worker {worker}")
        machine.memory.forget(machine.instances)
        self.world.keeping.lost(machine, True)
        self.world.hosts.append(Lost(worker))

    def give_up_for_lost(self, worker: int) -> None:
        """Its host starts another one, but it goes on with what it has in its mail."""
        world = self.world
        machine = world.forget(worker)
        world.tell(f"SPLIT of worker {worker}")
        mail = [m for channel, messages in world.network.items() if channel[1] == worker for m in messages]
        world.ghosts.append((machine, mail))
        world.keeping.lost(machine, False)
        world.hosts.append(Lost(worker))

    def break_off(self, channel: Channel) -> None:
        """A connection breaks in the middle of what is sent: the rest is lost."""
        messages = self.world.network[channel]
        kept = self.rng.randrange(len(messages))
        self.world.tell(f"BREAK {name(channel[0])} -> {name(channel[1])}: {len(messages) - kept} messages are lost")
        del messages[kept:]

    def sleep(self, worker: int) -> None:
        self.world.sleeping[worker] = self.rng.randint(5, 60)
        self.world.tell(f"STALL of worker {worker} for {self.world.sleeping[worker]} steps")

    def abort(self, _: bool) -> None:
        self.world.tell("ABORT: the coordinator believes that something stalls")
        self.world.coordinate(Stalled())

    def give_up(self, client: Client) -> None:
        assert client.waiting is not None
        self.world.tell(f"client {client.number} WITHDRAWS {client.waiting}")
        self.world.coordinate(Withdraw(client.waiting))
