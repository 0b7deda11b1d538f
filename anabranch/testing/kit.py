"""An app for tests: its clock is set by hand, and it can be disturbed at chosen moments.

Law: what a kit does to an app, the world can do to it. Answers and state are what they would be undisturbed, as far as
the app is saved.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Mapping, Sequence
from tempfile import TemporaryDirectory
from types import MappingProxyType, TracebackType
from typing import Any

from anabranch.drivers.callers import StateLost, Stopped
from anabranch.engines.embedded import App, run
from anabranch.lang import Program
from anabranch.testing.clock import SetClock
from anabranch.testing.disturbing import Disturbance, disturbance_of
from anabranch.testing.feeding import Sink
from anabranch.testing.looking import peek, poke
from anabranch.testing.requests import Call, Many, Request


def app(program: Program, *, workers: int = 2, saved: bool = False, **options: Any) -> Kit:
    """Run a program for a test: `options` are those of `ab.run`.

    With `saved` it has a checkpoint location of its own, which goes when it is stopped; `checkpoint=` names another.

    >>> from anabranch import testing
    >>> from anabranch.demo import Recommender
    >>> with testing.app(Recommender(), saved=True) as kit:
    ...     kit.rate(7, 42, 5.0)
    ...     kit.crash()
    ...     kit.peek("ratings", (7, 42))
    5.0
    """
    return Kit(program, workers, saved, options)


class Kit:
    """What `testing.app` gives: an app whose clock is set by hand, and that can be killed, scaled and looked into.

    `kit.NAME(...)` and `kit.NAME.many(...)` are requests, numbered from 0; all else of an app is as on `kit.app`.

    An entry whose name is one of the kit's own is `kit.entries[NAME]`.
    """

    def __init__(self, program: Program, workers: int, saved: bool, options: Mapping[str, Any]) -> None:
        self.clock = SetClock()
        self.asked = 0
        self._program, self._options = program, dict(options)
        self._apart = options.get("on") is not None or options.get("hosts", "threads") != "threads"
        self._moments: dict[int, list[Disturbance]] = {}
        self._failures: list[BaseException] = []
        self._folder = None
        if saved and options.get("checkpoint") is None:
            self._folder = TemporaryDirectory(prefix="anabranch-testing-")
            self._options["checkpoint"] = self._folder.name
        self.location = self._options.get("checkpoint")
        self._saved = self.location is not None
        try:
            self.app = self._start(workers)
        except BaseException:
            self._clean_up()
            raise
        self._options.pop("to_version", None)  # it was gone back to once
        entries = {name: KitEntry(self, name) for name in self.app.entries}
        self.entries: Mapping[str, KitEntry] = MappingProxyType(entries)

    def _start(self, workers: int) -> App:
        return run(self._program, workers=workers, clock=self.clock, **self._options)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or "entries" not in self.__dict__:
            raise AttributeError(name)
        return self.entries[name] if name in self.entries else getattr(self.app, name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(self.app)})

    def __repr__(self) -> str:
        return f"<kit of {self.app!r}, {self.asked} requests>"

    def __enter__(self) -> Kit:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        if error is None:
            self.refuse_what_never_came()

    def stop(self) -> None:
        """Stop the app; what was saved for this test goes."""
        try:
            self.app.stop()
        finally:
            self._clean_up()

    def _clean_up(self) -> None:
        if self._folder is not None:
            self._folder.cleanup()

    # -- requests -----------------------------------------------------------------------------------------------------

    def ask(self, request: Request) -> Any:
        """One request. What was to happen first happens first."""
        beside = self.disturb()
        try:
            return self.ask_beside(request, beside)
        finally:
            self.refuse_failures()

    def ask_beside(self, request: Request, beside: Sequence[Disturbance]) -> Any:
        """One request while this happens to the app; `refuse_failures` says what went wrong with it."""
        self.asked += 1
        return self._ask_meanwhile(request, beside) if beside else request.ask(self.app)

    def disturb(self) -> list[Disturbance]:
        """Let happen now what is to happen before the next request; gives what is to happen beside it."""
        moment = self._moments.pop(self.asked, [])
        for what in moment:
            if not what.beside:
                what.do(self)
        return [what for what in moment if what.beside]

    def _ask_meanwhile(self, request: Request, beside: Sequence[Disturbance]) -> Any:
        """One that is cut off is repeated under its name: nobody knows whether it was carried out."""
        app = self.app

        def disturb() -> None:
            try:
                for what in beside:
                    what.do(self)
            except BaseException as error:
                self._failures.append(error)

        cut = any(what.ends == "app" or (what.ends == "worker" and not self._apart) for what in beside)
        options = self._name_of(request) if cut and self._saved else {}
        thread = threading.Thread(target=disturb, name="anabranch-testing", daemon=True)
        thread.start()
        try:
            return request.ask(app, **options)
        except (Stopped, StateLost):
            thread.join()
            if self.app is app or not options:
                raise
            return request.ask(self.app, **options)
        finally:
            thread.join()

    def _name_of(self, request: Request) -> dict[str, str]:
        takes = self.app.entries[request.entry].calling.takes_id if isinstance(request, Call) else not request.is_stream
        if not takes:
            why = "is several requests" if isinstance(request, Many) else "has a parameter of that name itself"
            raise TypeError(f"a request that is cut off is repeated with id=, and {request} {why}: disturb it before")
        return {"id": uuid.uuid4().hex}

    def refuse_failures(self) -> None:
        """Raise what went wrong beside a request."""
        if self._failures:
            raise self._failures.pop()

    def feed(self, entry: str, batches: Any, sink: Sink | None = None) -> None:
        """Give an entry one batch after the other, a request each; the sink gets what comes of them."""
        for batch in batches:
            results = self.ask(Many(entry, batch))
            if sink is not None:
                sink(results)

    # -- disturbances -------------------------------------------------------------------------------------------------

    def at(self, number: int, *what: Disturbance | Callable[[Kit], object]) -> None:
        """Let something happen just before the request of this number, when so many have been answered.

        What was named in `meanwhile` happens while it runs. Requests are those that are asked through the kit.
        """
        if number < self.asked:
            raise ValueError(f"request {number} has been answered: {self.asked} were asked, name a later one")
        found = [disturbance_of(one) for one in what]
        self._moments.setdefault(number, []).extend(found)

    def refuse_what_never_came(self) -> None:
        """A test that has not done what it was to do has shown nothing."""
        if self._moments:
            number, what = min(self._moments.items())
            raise AssertionError(
                f"kit.at({number}, {', '.join(map(repr, what))}) never came: there were {self.asked} requests"
            )

    def crash(self, worker: int | None = None) -> None:
        """Kill a worker, or all of the app at once, without a goodbye.

        A worker in a process of its own is killed (SIGKILL), and restored by the app. Threads die together, and so does
        all of an app if no worker is named: it is then started again from what is saved, with as many workers. Where
        nothing is saved, all state is lost, and every later request raises `ab.StateLost`.
        """
        workers = self.app._engine.routing.workers
        if worker is not None and not 0 <= worker < workers:
            raise ValueError(f"there are workers 0 to {workers - 1}, got {worker!r}")
        if worker is not None and self._apart:
            self.app._engine.driver.lose(worker)
            return
        crashed = self.app
        why = "the app has crashed" if self._saved else "the app has crashed, and nothing of it was saved"
        hint = "" if self._saved else ": write testing.app(..., saved=True) for one that comes back"
        crashed._engine.driver.crash((Stopped if self._saved else StateLost)(why + hint))
        crashed.stop()
        if self._saved:
            self.app = self._start(workers)

    def restart(self, *, workers: int | None = None) -> None:
        """Stop the app in peace, and start it again from what is saved."""
        if not self._saved:
            raise TypeError("nothing of the app is saved to start it again from: write testing.app(..., saved=True)")
        workers = workers or self.app._engine.routing.workers
        self.app.stop()
        self.app = self._start(workers)

    def scale(self, workers: int) -> None:
        """Go on with so many workers: see `App.scale`."""
        self.app.scale(workers=workers)

    # -- state --------------------------------------------------------------------------------------------------------

    def peek(self, state: str, key: Any = None, *, instance: int | None = None) -> Any:
        """What a state holds: all of it, or what is at a key, which for a matrix is a row, or `(row, column)`. Of one
        instance if that is named, else of all together; of a `Value` it is its value.
        """
        return peek(self.app, state, key, instance)

    def poke(self, state: str, key: Any, value: Any, *, instance: int | None = None) -> None:
        """Store a value, beside all entries: in a partial state all instances together then mean it, or one instance
        has it if that is named. The key of a `Value` is None.
        """
        poke(self.app, state, key, value, instance)


class KitEntry:
    """An entry of the app that runs, whichever that is."""

    def __init__(self, kit: Kit, name: str) -> None:
        self._kit, self.__name__ = kit, name

    def __call__(self, /, *args: Any, **named: Any) -> Any:
        return self._kit.ask(Call(self.__name__, args, named))

    def many(self, data: Any, **named: Any) -> Any:
        return self._kit.ask(Many(self.__name__, data, named))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._kit.app.entries[self.__name__], name)

    def __repr__(self) -> str:
        return f"<entry {self.__name__} of {self._kit!r}>"
