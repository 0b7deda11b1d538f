"""The workers of a run that are in other processes, as the process of the coordinator sees them.

Workers open a stream to the fleet's server and stay on it. What is sent to one goes through a queue and a thread of its
own, so that nobody waits for the network who holds a lock.

Laws: a worker is heard only after it has said who it is, has the same versions and has the program; a number is taken
once; one that is gone, or does not answer, is told to `lost`, once, and that life of it does not come back: what hosts
workers may start one again by itself, as Spark does with tasks, and make an end of it later.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from queue import SimpleQueue
from time import monotonic
from typing import Any, Protocol

from anabranch.drivers.callers import StateLost
from anabranch.drivers.flight import Broken, Security, Server, Stream
from anabranch.drivers.host_messages import Goodbye, Hello, Peers, Ping, Ready, Reported, Setup
from anabranch.drivers.letters import Letters
from anabranch.drivers.resident import GREETING, versions
from anabranch.drivers.tls import Tls
from anabranch.drivers.wire import Wire
from anabranch.lang.arguments import as_instance
from anabranch.lang.errors import ProgramError
from anabranch.lang.scalars import short, show

log = logging.getLogger(__name__)

GRACE = 0.5  # seconds in which whoever started a worker may say why it is gone; a broken connection says less


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds: for all workers to start, for one to answer at all, and for all to end."""

    start: float = 120.0
    stall: float = 60.0
    stop: float = 10.0


@dataclass(frozen=True, slots=True)
class Network:
    """How processes of a run talk: encrypted or not, and on which ports they listen (any free one if None)."""

    tls: Tls | None = None
    ports: range | None = None


def network_of(tls: object, ports: object) -> Network:
    """Read what was given to `ab.run`."""
    if tls is not None:
        tls = as_instance("tls", tls, Tls, "tls=ab.Tls(certificate, key, roots)")
    if ports is not None:
        is_range = type(ports) is range and len(ports) > 0
        if not is_range or not all(0 < port < 1 << 16 for port in (ports[0], ports[-1])):  # type: ignore[index]
            raise ValueError(
                f"ports is a range of numbers from 1 to 65535, got {short(ports)}: write ports=range(7000, 7010)"
            )
    return Network(tls, ports)  # type: ignore[arg-type]


Ended = Callable[[int, str, int], bool]  # which worker, why, and which life of it


class Launcher(Protocol):
    """Starts workers somewhere: each connects to `address` and says who it is, and which of its lives this is. `ended`
    hears of a life that ends, and says whether another may be started in its place. `kill` makes an end of one that
    does not answer, or of what may be left of one that is gone; of this life only, as another may have begun since.

    `host` is where the coordinator listens for them. With `carries` the launcher brings the program to them. They have
    a token already if there is `security`. `lost` is raised when the state of one is gone.
    """

    carries: bool
    host: str
    lost: type[StateLost]

    @property
    def security(self) -> Security | None: ...

    def launch(self, address: str, security: Security, ports: range | None, program: bytes, ended: Ended) -> None: ...
    def more(self, worker: int) -> None:
        """Start one more, as at the launch."""

    def fewer(self, worker: int, patience: float) -> None:
        """Wait for the end of one that was told to go, or make it."""

    def kill(self, worker: int, life: int | None = None) -> None: ...
    def end(self, patience: float) -> None: ...


@dataclass(eq=False)
class Link:
    """The connection to a worker."""

    number: int
    letters: Letters
    address: str
    mail: SimpleQueue[Any] = field(default_factory=SimpleQueue)
    reported: Reported | None = None
    life: int = 0


class Listener(Protocol):
    """Whom the fleet tells what happens; on threads of its own."""

    def arrived(self, worker: int) -> None: ...
    def joined(self, workers: Sequence[int]) -> None:
        """All are there, these since the last time."""

    def take(self, link: Link, message: Any) -> None: ...
    def lost(self, worker: int, why: str) -> None: ...
    def failed(self, error: BaseException) -> None: ...


class Fleet:
    def __init__(
        self,
        workers: int,
        setup: Setup,
        fingerprint: str,
        wire: Wire,
        listener: Listener,
        patience: Patience,
        security: Security,
        host: str,
        ports: range | None,
    ) -> None:
        self.security, self.patience = security, patience
        self.workers = workers  # that may come
        self.needed = workers  # without whom nothing runs
        self.setup, self._fingerprint, self._wire, self._listener = setup, fingerprint, wire, listener
        self.links: dict[int, Link] = {}
        self._arriving: dict[int, Stream] = {}  # by number: those that have said who they are, and have not joined yet
        self._over: dict[int, int] = {}  # the last life of each worker that is over
        self._new: set[int] = set()  # that have joined since all were there last
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self.server = Server(security, {}, {"worker": self._hear}, host=host, ports=ports)
        threading.Thread(target=self._look_after, name="anabranch-watch", daemon=True).start()

    @property
    def complete(self) -> bool:
        return all(worker in self.links for worker in range(self.needed))

    def post(self, worker: int, message: Any) -> None:
        link = self.links.get(worker)
        if link is not None:
            link.mail.put(message)

    def post_all(self, message: Any) -> None:
        for worker in range(self.workers):
            self.post(worker, message)

    def forget(self, worker: int) -> Link | None:
        """A worker is gone, and another may come in its place; None if it was not here."""
        with self._lock:
            link = self.links.pop(worker, None)
            self._new.discard(worker)
            if link is not None:
                self._is_over(worker, link.life)
        if link is not None:
            link.mail.put(Goodbye())  # lets the thread end that writes to it
            link.letters.close()
        return link

    def over(self, worker: int, life: int) -> None:
        """What is left of this life of a worker may not join any more."""
        with self._lock:
            self._is_over(worker, life)

    def _is_over(self, worker: int, life: int) -> None:
        self._over[worker] = max(life, self._over.get(worker, 0))

    def end(self) -> None:
        """Let all workers end; the server stays until they have."""
        with self._lock:
            self._ended.set()
            self.post_all(Goodbye())

    # -- a worker -----------------------------------------------------------------------------------------------------

    def _hear(self, stream: Stream) -> None:
        """From its hello to its end. Called by the server, on a thread for each."""
        hello, link = GREETING.decode(stream.hello), None
        if not isinstance(hello, Hello) or not self._is_expected(hello, stream):
            log.warning("a worker that was not expected was sent away: %s", show(hello))
            return
        try:
            if hello.versions != versions():
                self._listener.failed(_differ(hello))
                return
            letters = Letters(stream)
            letters.send(GREETING.encode(self.setup))
            data = letters.receive()
            ready = None if data is None else GREETING.decode(data)
            if not isinstance(ready, Ready) or ready.fingerprint != self._fingerprint:
                told = (isinstance(ready, Ready) and ready.problem) or "it has another one"
                self._listener.failed(ProgramError(f"worker {hello.number} cannot run the program: {told}"))
                return
            link = Link(hello.number, letters, hello.address, life=hello.life)
            threading.Thread(target=self._send, args=(link,), name=f"anabranch-to-{link.number}", daemon=True).start()
            if not self._join(link, stream):
                return
            while (data := letters.receive()) is not None and self.links.get(link.number) is link:
                self._listener.take(link, self._wire.decode(data))
        except Broken as error:
            log.info("worker %s: %s", hello.number, error)
        except BaseException as error:
            self._listener.failed(error)
            raise
        finally:
            with self._lock:
                self._arrived(hello.number, stream)
        if not self._ended.wait(GRACE) and self._is_here(hello, link):
            self._listener.lost(hello.number, "its connection broke")

    def _is_here(self, hello: Hello, link: Link | None) -> bool:
        """Is this still the worker of its number? One that never joined is, unless there is another."""
        if link is None:
            return hello.number not in self.links and not self._was(hello.number, hello.life)
        return self.links.get(link.number) is link

    def _is_expected(self, hello: Hello, stream: Stream) -> bool:
        """Is there such a worker, and not yet here? From now on it is."""
        number = hello.number
        with self._lock:
            if self._ended.is_set() or type(number) is not int or number not in range(self.workers):
                return False
            if type(hello.life) is not int or self._was(number, hello.life):
                return False
            if number in self.links or number in self._arriving:
                return False
            self._arriving[number] = stream
            return True

    def _arrived(self, number: int, stream: Stream) -> None:
        if self._arriving.get(number) is stream:  # and not that of one that came since
            del self._arriving[number]

    def _was(self, worker: int, life: int) -> bool:
        """Is this life of a worker over?"""
        return 0 < life <= self._over.get(worker, 0)

    def _join(self, link: Link, stream: Stream) -> bool:
        """False if its life was over before it had the program."""
        with self._lock:
            if self._was(link.number, link.life):
                link.mail.put(Goodbye())
                return False
            self._arrived(link.number, stream)  # its thread may be there for long after it was forgotten
            self.links[link.number] = link
            self._new.add(link.number)
            self._listener.arrived(link.number)
            if self._ended.is_set():
                link.mail.put(Goodbye())
            complete, new = self.complete, sorted(self._new)
            if complete:
                self._new.clear()
                peers = Peers(tuple([self.links[w].address for w in self._in_a_row()]))
        if complete:
            self.post_all(peers)
            self._listener.joined(new)
        return True

    def _in_a_row(self) -> list[int]:
        """The workers that are there, up to the first that is not."""
        return [w for w in range(self.workers) if all(i in self.links for i in range(w + 1))]

    def _send(self, link: Link) -> None:
        """The thread that writes to a worker."""
        try:
            while True:
                message = link.mail.get()
                link.letters.send(self._wire.encode(message))
                if isinstance(message, Goodbye):
                    return
        except Broken as error:
            log.info("worker %s: %s", link.number, error)
        except BaseException as error:
            self._listener.failed(error)

    def _look_after(self) -> None:
        """Finds workers that neither answer nor end."""
        patience = self.patience.stall
        looked = monotonic()
        while not self._ended.wait(min(5.0, patience / 4)):
            now = monotonic()
            away, looked = now - looked > patience / 2, now  # this process was stopped, and could hear nobody
            for link in list(self.links.values()):
                if away:
                    link.letters.moved = now
                if now - link.letters.moved > patience:
                    self._listener.lost(link.number, f"it has not answered for {patience:g} s")
                link.mail.put(Ping(0))


def _differ(hello: Hello) -> ProgramError:
    mine = dict(versions())
    other = [(name, theirs) for name, theirs in hello.versions if theirs != mine.get(name)]
    named = ", ".join(f"{name} {theirs} there, {mine.get(name)} here" for name, theirs in other)
    return ProgramError(f"worker {hello.number} cannot take part: {named}; install the same versions on both")
