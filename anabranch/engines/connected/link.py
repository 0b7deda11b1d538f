"""A connection to a served app: requests and their answers, for any number of threads.

Laws: a request is sent once, whatever happens to its answer; an answer belongs to its request; when an answer is lost
the caller is told that the request may have taken effect; Ctrl-C ends the waiting of the main thread.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, TypeVar

from anabranch.drivers import pieces
from anabranch.drivers.callers import Stopped
from anabranch.drivers.reception import ASK
from anabranch.drivers.streams import Broken, Opener, Refused, Remote, Stream
from anabranch.lang.entry import add_note

T = TypeVar("T")

IDLE = 8  # streams that are kept open for the next request: each is a thread of the app
PERHAPS = "it may or may not have taken effect"


class AnswerLost(ConnectionError):
    """A request was sent and no answer came: it may or may not have taken effect, and was not sent again."""


def _gone(address: str, effects: bool | None, why: str) -> Exception:
    """`effects` says whether what was sent may have changed something; None if nothing was sent."""
    if effects is None:
        return ConnectionError(f"no app answers at {address}, and nothing was sent: {why}")
    kind = AnswerLost if effects else ConnectionError
    return kind(f"the app at {address} is gone{_perhaps(effects)}: {why}")


Gone = Callable[[str, bool | None, str], Exception]


class Link:
    """`ask` sends a request and gives its answer; `gone` says what is raised when the app is no longer there.

    Ctrl-C does not reach what waits for gRPC: where the client is `deaf` to it the main thread waits beside the work.
    """

    def __init__(self, address: str, client: Opener, max_message: int, gone: Gone = _gone, deaf: bool = True) -> None:
        self.address = address
        self._client, self._max_message, self._gone, self._deaf = client, max_message, gone, deaf
        self._lock = threading.Lock()
        self._idle: list[Stream] = []
        self._busy: set[Stream] = set()
        self._aside: Aside | None = None
        self.closed = False

    def ask(self, request: bytes, effects: bool = False) -> memoryview:
        """`effects` says whether the request may change something."""
        if len(request) > pieces.WHOLE:
            raise ValueError(
                f"the request has {len(request)} bytes, and the limit is {pieces.WHOLE}: "
                "give an iterator of smaller batches, each of which is one request"
            )
        stream = self._take()
        done = False
        try:
            answer = self._wait(lambda: self._exchange(stream, request))
            done = True
            return answer
        except (Broken, Remote, TimeoutError) as error:
            if self.closed:
                raise Stopped(f"the connection to {self.address} was closed{_perhaps(effects)}") from None
            raise self._gone(self.address, effects, str(error)) from None
        except KeyboardInterrupt as interrupt:
            if effects:
                add_note(interrupt, f"the request was on its way: {PERHAPS}")
            raise
        finally:
            self._give(stream, done)

    def close(self, keep: bool = False) -> None:
        """End the connection; whoever waits gets `Stopped`. May be called again. With `keep` the client stays."""
        with self._lock:
            self.closed = True
            streams = [*self._idle, *self._busy]
            self._idle.clear()
        for stream in streams:
            stream.close()
        if self._aside is not None:
            self._aside.end()
        if not keep:
            with suppress(Exception):
                self._client.close()

    # -- streams ------------------------------------------------------------------------------------------------------

    def _take(self) -> Stream:
        with self._lock:
            if self.closed:
                raise Stopped(f"the connection to {self.address} is closed: open another with ab.connect(...)")
            stream = self._idle.pop() if self._idle else None
            if stream is not None:
                self._busy.add(stream)
                return stream
        try:
            opened: Stream = self._wait(lambda: self._client.open(ASK))
        except Refused as error:
            raise PermissionError(f"the app at {self.address} refuses the connection: {error}") from None
        except (Broken, Remote, TimeoutError) as error:
            raise self._gone(self.address, None, str(error)) from None
        with self._lock:
            self._busy.add(opened)
        return opened

    def _give(self, stream: Stream, reusable: bool) -> None:
        with self._lock:
            self._busy.discard(stream)
            if reusable and not self.closed and len(self._idle) < IDLE:
                self._idle.append(stream)
                return
        stream.close()

    def _exchange(self, stream: Stream, request: bytes) -> memoryview:
        pieces.send(stream, request, self._max_message)
        answer = pieces.receive(stream)
        if answer is None:
            raise Broken("it has ended the connection")
        return answer

    def _wait(self, work: Callable[[], T]) -> T:
        if not self._deaf or threading.current_thread() is not threading.main_thread():
            return work()
        if self._aside is None:
            self._aside = Aside()
        try:
            return self._aside.run(work)
        except KeyboardInterrupt:
            self._aside.end()  # it may be busy for long: the next request gets another
            self._aside = None
            raise


class Aside:
    """A thread that works while its caller waits."""

    def __init__(self) -> None:
        self._jobs: SimpleQueue[tuple[Callable[[], Any], SimpleQueue[tuple[bool, Any]]] | None] = SimpleQueue()
        threading.Thread(target=self._work, name="anabranch-connection", daemon=True).start()

    def run(self, work: Callable[[], T]) -> T:
        answers: SimpleQueue[tuple[bool, Any]] = SimpleQueue()
        self._jobs.put((work, answers))
        good, found = answers.get()
        if good:
            return found  # type: ignore[no-any-return]
        try:
            raise found
        finally:
            del found  # else the traceback holds this frame, and the frame the exception

    def end(self) -> None:
        """When it has done what it is at."""
        self._jobs.put(None)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            work, answers = job
            try:
                answers.put((True, work()))
            except BaseException as error:
                answers.put((False, error))
            del job, work, answers


def _perhaps(effects: bool) -> str:
    return f" and the answer is lost: the request was sent, {PERHAPS}" if effects else ""
