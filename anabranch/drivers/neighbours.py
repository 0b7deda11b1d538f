"""The ways between a worker and its peers: one to each that it sends to, made when it is first needed.

Laws: that a way has broken is told once; that one ends because the run ends, or because its peer goes, is no loss.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic

from anabranch.drivers.forks.gateway import Reach
from anabranch.drivers.letters import Letters
from anabranch.drivers.pieces import Message, length_of
from anabranch.drivers.streams import Broken, Opener, Refused, Remote, Stream

log = logging.getLogger(__name__)

FAREWELL = 1.0  # seconds


@dataclass(frozen=True, slots=True)
class _Link:
    """The way to a peer; `minded` ends when it has ended."""

    client: Opener
    letters: Letters
    minded: threading.Thread

    def end(self) -> None:
        with suppress(Broken, Refused, Remote):
            self.letters.end()

    def close(self) -> None:
        self.letters.close()
        self.client.close()


class Neighbours:
    """Those of worker `number`. `take` gets what a peer has sent, `severed` hears of a way that broke."""

    def __init__(
        self, number: int, reach: Reach, take: Callable[[int, bytes | memoryview], None], severed: Callable[[int], None]
    ) -> None:
        self._number, self._reach, self._take, self._severed = number, reach, take, severed
        self._changed = threading.Condition()
        self._addresses: tuple[str, ...] = ()
        self._links: dict[int, _Link] = {}
        self._heard = 0  # peers whose streams are open
        self.leaving = False
        self.sent = self.sent_bytes = 0

    def meet(self, addresses: tuple[str, ...]) -> None:
        """Where the workers are now; one may have come in the place of another."""
        moved = [w for w, (was, now) in enumerate(zip(self._addresses, addresses, strict=False)) if was != now]
        self._addresses = addresses
        with self._changed:
            links = [self._links.pop(w) for w in moved if w in self._links]
        for link in links:
            link.close()

    def leave_behind(self, workers: int) -> None:
        """Those that are not among so many go: that their connections end is no loss."""
        with self._changed:
            gone = [self._links.pop(peer) for peer in list(self._links) if peer >= workers]
        for link in gone:
            link.close()

    def leave(self) -> None:
        """End what goes out, and give peers a moment to do the same: a connection that ends is not one that breaks."""
        self.leaving = True  # at the latest: who lets peers be heard that wait says so before
        end = monotonic() + FAREWELL
        with self._changed:
            links = list(self._links.values())
        for link in links:
            # By others: the machine may be held back in the middle of a message, by a peer that does not read.
            threading.Thread(target=link.end, daemon=True).start()
        for link in links:
            link.minded.join(max(0.0, end - monotonic()))
        with self._changed:
            self._changed.wait_for(lambda: not self._heard, max(0.0, end - monotonic()))
        for link in links:
            link.close()

    # -- what comes in ------------------------------------------------------------------------------------------------

    def hear(self, stream: Stream) -> None:
        """All that a peer sends. Called by the server, on a thread for each peer."""
        peer = int.from_bytes(stream.hello[:5], "big")
        if len(stream.hello) != 4 or peer == self._number or peer not in range(len(self._addresses)):
            log.warning("worker %s sent someone away who is no peer", self._number)
            return
        with self._changed:
            self._heard += 1
        letters = Letters(stream)
        try:
            while (data := letters.receive()) is not None:
                self._take(peer, data)
        except Broken:
            if not self.leaving:
                self._severed(peer)
        finally:
            with self._changed:
                self._heard -= 1
                self._changed.notify_all()

    # -- what goes out ------------------------------------------------------------------------------------------------

    def send(self, peer: int, data: Message) -> None:
        link = self._links.get(peer)
        try:
            if link is None:
                link = self._link(peer)
            link.letters.send(data)
            self.sent, self.sent_bytes = self.sent + 1, self.sent_bytes + length_of(data)
        except (Broken, Refused, Remote):
            self._broken(peer, None if link is None else link.letters)

    def _link(self, peer: int) -> _Link:
        if peer >= len(self._addresses):
            raise Broken(f"worker {peer} is not there now")
        client = self._reach.client(self._addresses[peer])
        letters = Letters(client.open("peer", self._number.to_bytes(4, "big")))
        link = _Link(client, letters, threading.Thread(target=self._mind, args=(peer, letters), daemon=True))
        with self._changed:
            self._links[peer] = link
        link.minded.start()
        return link

    def _mind(self, peer: int, letters: Letters) -> None:
        """Wait for the end of a connection: what is sent on one that has just broken is lost without an error."""
        with suppress(Broken, Refused, Remote):
            if letters.receive() is None and self.leaving:
                return
        self._broken(peer, letters)

    def _broken(self, peer: int, letters: Letters | None) -> None:
        """A connection has broken, or could not be made; that is told once."""
        with self._changed:
            link = self._links.get(peer)
            if (None if link is None else link.letters) is not letters:
                return
            self._links.pop(peer, None)
        if link is not None:
            link.close()
        if not self.leaving:
            with suppress(Broken):
                self._severed(peer)
