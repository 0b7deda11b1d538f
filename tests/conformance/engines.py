"""Every engine under a name: a factory that runs a program and says how to read its states."""

from __future__ import annotations

import atexit
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import anabranch as ab
from anabranch.drivers.nursery import Nursery
from anabranch.drivers.processes import Processes
from anabranch.engines.embedded import App
from anabranch.engines.sequential import SequentialApp
from anabranch.lang.spec import describe
from anabranch.runtime.backlog import Limits
from anabranch.testing.outcomes import state_contents


class Running:
    """A program on an engine: `running.NAME` is an entry, `contents` what its states hold, in canonical form."""

    def __init__(
        self,
        program: ab.Program,
        app: Any,
        state: Callable[[str], Any],
        stop: Callable[[], object] = lambda: None,
        threads: int = 1,
    ) -> None:
        self.states = tuple(describe(type(program)).states)
        self.threads = threads  # that may call it at once
        self._app, self._state, self.stop = app, state, stop

    def __getattr__(self, name: str) -> Any:
        return getattr(self._app, name)

    def contents(self, *names: str) -> dict[str, Any]:
        """Of the named states, or of all."""
        return {name: state_contents(self._state(name)).form for name in names or self.states}


Engine = Callable[[ab.Program], Running]


def plain(program: ab.Program) -> Running:
    return Running(program, program, partial(getattr, program))


def sequential(program: ab.Program) -> Running:
    app = SequentialApp(program)
    return Running(program, app, app.state)


def staged(program: ab.Program) -> Running:
    """The embedded engine with nothing fused that can run in stages: two workers exchange every row."""
    app = App(program, 2, limits=Limits(fused_rows=-1))
    return Running(program, app, lambda name: getattr(app.state, name).copy(), app.stop, threads=4)


def embedded(program: ab.Program, workers: int) -> Running:
    app = ab.run(program, workers=workers)
    return Running(program, app, lambda name: getattr(app.state, name).copy(), app.stop, threads=4)


def compiled(program: ab.Program, workers: int) -> Running:
    """Kernels wherever there are some; with several workers in stages wherever there are some."""
    app = App(program, workers, limits=Limits(fused_rows=-1) if workers > 1 else None, tier="compiled")
    return Running(program, app, lambda name: getattr(app.state, name).copy(), app.stop, threads=4)


@cache
def nursery() -> Nursery:
    """One for all tests of this process: it takes a second to start."""
    found = Nursery()
    atexit.register(found.close)
    return found


def processes(program: ab.Program, workers: int, tier: str = "auto") -> Running:
    app = App(program, workers, tier=tier, hosts=Processes(workers, nursery()))
    return Running(program, app, lambda name: getattr(app.state, name).copy(), app.stop, threads=4)


def connected(program: ab.Program, workers: int) -> Running:
    """An app that is served, and a client of it; both are in this process, and only the connection is between them."""
    app = ab.run(program, workers=workers)
    served = app.serve()
    client = ab.connect(served.address, served.token)

    def stop() -> None:
        client.stop()
        app.stop()

    return Running(program, client, lambda name: getattr(client.state, name).copy(), stop, threads=4)


def forked(program: ab.Program, workers: int) -> Running:
    """A fork of an app that has done nothing yet; the app itself has ended."""
    with ab.run(program, workers=workers) as app:
        fork = app.fork()
    return Running(program, fork, lambda name: getattr(fork.state, name).copy(), fork.stop, threads=4)


ENGINES: dict[str, Engine] = {
    "plain": plain,
    "sequential": sequential,
    **{f"embedded-{n}": partial(embedded, workers=n) for n in (1, 2, 3)},
    "staged-2": staged,
    **{f"compiled-{n}": partial(compiled, workers=n) for n in (1, 2)},
    "processes-2": partial(processes, workers=2),
    "connected-2": partial(connected, workers=2),
    "forked-2": partial(forked, workers=2),
    "processes-compiled-2": partial(processes, workers=2, tier="compiled"),
}


@dataclass(frozen=True)
class Twins:
    """A program on the engine under test, and its plain run, which is the meaning."""

    run: Running
    plain: Running

    @classmethod
    def start(cls, engine: Engine, program: Callable[[], ab.Program]) -> Twins:
        return cls(engine(program()), plain(program()))

    def same_contents(self, *names: str) -> bool:
        return self.run.contents(*names) == self.plain.contents(*names)
