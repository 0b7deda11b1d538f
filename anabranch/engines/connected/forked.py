"""`app.fork()` where workers are threads: the whole process is copied, and the copy runs the app.

The system copies a page of memory when one of the two writes to it, so a fork takes a time that hardly depends on how
much state there is, and costs the memory of what has changed since. It has threads, kernels and a coordinator of its
own, and is called as an app over a connection is, by sockets that only the two processes have.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable
from functools import partial
from typing import Any

from anabranch.drivers.callers import ForkLost, Stopped
from anabranch.drivers.described import describe_app, read_description
from anabranch.drivers.durable.settings import Saving, saving_of
from anabranch.drivers.forks.child import Child, fork, until_ready
from anabranch.drivers.forks.doors import Doors
from anabranch.drivers.reception import ASK, Reception
from anabranch.drivers.served import Served, security_of
from anabranch.drivers.streams import Broken
from anabranch.drivers.tls import Tls
from anabranch.engines.connected.app import RemoteApp
from anabranch.engines.connected.link import PERHAPS, Link
from anabranch.engines.embedded.app import App
from anabranch.graph.nodes import Graph
from anabranch.lang.similar import asks_back
from anabranch.lang.spec import EntrySpec

AGAIN = "fork"  # the name under which a fork is asked to fork
PIECE = 4 << 20  # bytes
PATIENCE = 60.0  # seconds for a fork to end: it may have something to save

Specs = dict[str, EntrySpec]


class ForkedApp(RemoteApp):
    """A fork of an app. It is an app of its own: what it does the other never sees, nor does it see what that does.

    It ends with `stop`, or with the process that made it. If its own process is lost, its callers get `ForkLost`.
    """

    def __init__(self, child: Child, graph: Graph, specs: Specs) -> None:
        link = Link(f"process {child.pid}", child.doors, PIECE, _lost, deaf=False)
        super().__init__(link, read_description(describe_app(graph, specs)))
        vars(self).update(_child=child, _graph=graph, _specs=specs, _served=[])

    def __repr__(self) -> str:
        stopped = ", stopped" if self._link.closed else ""
        return f"<fork of {self._described.program} in {self._link.address}{stopped}>"

    @asks_back
    def fork(self, *, checkpoint: object = None) -> ForkedApp:
        """An independent app from the current version; see `App.fork`."""
        if self._link.closed:
            raise Stopped("the fork has been stopped: make another with app.fork()")

        saving = None if checkpoint is None else saving_of(checkpoint)
        where = json.dumps(None if saving is None else saving.where, default=os.fspath)
        return _started(partial(self._child.doors.give, f"{AGAIN}:{where}"), self._graph, self._specs)

    def checkpoint(self) -> int:
        """Make a snapshot now; gives the version that it holds, once that is on disk."""
        return int(self._ask("checkpoint", effects=True))

    @asks_back
    def serve(self, host: str = "127.0.0.1", port: int = 0, token: str | None = None, tls: Tls | None = None) -> Served:
        """Let other processes call entries and read states; see `App.serve`."""
        served = Served(self, self._graph, self._specs, host, port, security_of(token, tls))
        self._served.append(served)
        return served

    def stop(self) -> None:
        """End the fork and its process; may be called again."""
        for served in self._served:
            served.stop()
        if not self._link.closed:
            self._link.close(keep=True)
            told = self._child.end(PATIENCE)
            if told:
                raise Stopped(f"the fork has ended, but not as it should: {told}")


def fork_app(app: Any, saving: Saving | None) -> ForkedApp:
    specs = {name: entry._spec for name, entry in app.entries.items()}
    return _started(partial(_make, app, specs, saving), app._graph, specs)


def _started(make: Callable[[socket.socket], int | None], graph: Graph, specs: Specs) -> ForkedApp:
    try:
        child = until_ready(make)
    except Broken as error:
        raise ForkLost(f"no fork was made, and nothing has changed: {error}") from None
    return ForkedApp(child, graph, specs)


def _make(app: Any, specs: Specs, saving: Saving | None, theirs: socket.socket) -> int:
    engine = app._engine
    with engine.driver.hold():
        origin = engine.origin()

        def work(doors: Doors) -> None:
            _live(app.copy_of(origin, saving), specs, doors)

        return fork(theirs, engine.tiers.still(), work)


def _live(app: App, specs: Specs, doors: Doors) -> None:
    """What the process of a fork does."""
    reception = Reception(app, app._graph, specs, PIECE, {"checkpoint": app.checkpoint})

    def again(name: str, theirs: socket.socket) -> None:
        where = json.loads(name.partition(":")[2])
        try:
            _make(app, specs, None if where is None else saving_of(where), theirs)
        except BaseException as error:
            theirs.send(f"{type(error).__name__}: {error}".encode())
        finally:
            theirs.close()

    doors.ready()
    doors.serve({ASK: reception.serve}, {AGAIN: again})
    app.stop()


def _lost(address: str, effects: bool | None, why: str) -> Exception:
    perhaps = f" The request was sent, {PERHAPS} there." if effects else ""
    return ForkLost(
        f"the fork is gone with its {address}, and what it held: {why}.{perhaps} The app it was made from goes on: "
        "make another with app.fork(), and give it a checkpoint= of its own if it must outlive its process"
    )
