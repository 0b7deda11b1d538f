"""No input of a caller ends the app: a call is refused in words that can be printed, leaves no effect, and the next
caller is answered.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import anabranch as ab
from anabranch.drivers.processes import Processes
from anabranch.engines.connected.app import RemoteApp
from anabranch.engines.embedded import App
from anabranch.engines.embedded.app import saving_of
from anabranch.engines.sequential import SequentialApp
from tests.conformance.engines import nursery
from tests.hostile.target import CONTROLS, ENTRIES, LOADS, NAMED, OPTIONS, READS, Call, Target
from tests.hostile.values import HOSTILE, Nasty

ALL = os.environ.get("ANABRANCH_TESTS") == "all"
PATIENCE = 60.0
REFUSALS = (TypeError, ValueError, OverflowError, KeyError, AttributeError, NotImplementedError, MemoryError)
OWN = (Nasty, SystemExit)  # of the values themselves: they are the caller's
IN_PROCESS = ENTRIES | NAMED | READS | LOADS
STATES = ("t", "by_pair", "m", "v", "one")


class Engine(NamedTuple):
    app: Any
    calls: dict[str, Call]
    one_in: int  # of the hostile values, unless all are asked for
    contents: Callable[[], Any]
    stop: Callable[[], object]


def _states(app: Any) -> Any:
    return [sorted(map(repr, getattr(app.state, name).copy()._cells())) for name in STATES]


def _threads(folder: Path, tier: str) -> Engine:
    app = ab.run(Target(), workers=2, tier=tier, checkpoint=folder)
    return Engine(app, IN_PROCESS | CONTROLS, 5 if tier == "python" else 11, lambda: _states(app), app.stop)


def _processes(folder: Path) -> Engine:
    app = App(Target(), 2, tier="python", hosts=Processes(2, nursery()), saving=saving_of(folder))
    return Engine(app, IN_PROCESS, 13, lambda: _states(app), app.stop)


def _connected(folder: Path) -> Engine:
    app = ab.run(Target(), workers=2, tier="python", checkpoint=folder)
    served = app.serve()
    far = ab.connect(served.address, served.token)

    def stop() -> None:
        far.stop()
        app.stop()

    calls = {name: call for name, call in IN_PROCESS.items() if name not in ("app.history(x)",)}
    return Engine(far, calls, 7, lambda: _states(app), stop)


def _sequential(folder: Path) -> Engine:
    app = SequentialApp(Target())
    return Engine(app, ENTRIES, 5, lambda: [repr(app.state(name)) for name in STATES], lambda: None)


ENGINES: dict[str, Callable[[Path], Engine]] = {
    "threads": lambda folder: _threads(folder, "python"),
    "compiled": lambda folder: _threads(folder, "compiled"),
    "processes": _processes,
    "connected": _connected,
    "sequential": _sequential,
}


@pytest.fixture(scope="module", params=ENGINES)
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    started = ENGINES[request.param](tmp_path_factory.mktemp("app"))
    yield started
    started.stop()


class Outcome(NamedTuple):
    gave: Any
    error: BaseException | None


def outcome(call: Callable[[], Any]) -> Outcome:
    """What a call gives or raises, on a thread of its own; a call that hangs is a failure."""
    found: list[Outcome] = []

    def run() -> None:
        try:
            found.append(Outcome(call(), None))
        except BaseException as error:
            found.append(Outcome(None, error))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(PATIENCE)
    assert found, "the call hangs"
    return found[0]


def assert_refused_well(error: BaseException, case: str) -> None:
    allowed = (*REFUSALS, *OWN, *([OSError] if case.startswith("serve(host=x)") else []))  # no such host
    assert isinstance(error, allowed), (case, type(error), error)
    if not isinstance(error, OWN):
        str(error).encode("utf-8")
        assert isinstance(error, MemoryError) or str(error), (case, "says nothing")


VALUES = tuple(HOSTILE)
PROBES = count(1)


@pytest.mark.parametrize("name", [*IN_PROCESS, *CONTROLS])
def test_hostile_arguments(engine: Engine, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if name not in engine.calls:
        pytest.skip("not a call of this kind of app")
    monkeypatch.chdir(tmp_path)  # what is taken as a path is one here
    offset = [*IN_PROCESS, *CONTROLS].index(name)
    for number, value in enumerate(VALUES):
        if not ALL and (number + offset) % engine.one_in:
            continue
        case = f"{name} with {value}"
        before, given = engine.contents(), HOSTILE[value]()
        found = outcome(lambda given=given: engine.calls[name](engine.app, given))  # type: ignore[misc]
        if found.error is not None:
            assert_refused_well(found.error, case)
            assert engine.contents() == before, (case, "has left an effect")
        elif name in CONTROLS and hasattr(found.gave, "stop"):
            found.gave.stop()
        probe = next(PROBES)
        assert outcome(lambda probe=probe: engine.app.e(f"probe {probe}", 1)) == (1, None), case  # type: ignore[misc]


@pytest.mark.parametrize("option", OPTIONS)
def test_hostile_options_of_run(option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    threads = threading.active_count()
    for number, (value, make) in enumerate(HOSTILE.items()):
        if (not ALL and (number + OPTIONS.index(option)) % 3) or (option == "checkpoint" and value == "a long text"):
            continue
        options: dict[str, Any] = {"workers": 1, "tier": "python", option: make()}
        if option not in ("checkpoint", "workers", "on"):
            options["checkpoint"] = tmp_path / f"{option}-{number}"
        found = outcome(lambda options=options: ab.run(Target(), **options))  # type: ignore[misc]
        if found.error is None:
            with found.gave as app:
                assert app.e(value, 1) == 1, (option, value)
        else:
            assert_refused_well(found.error, f"ab.run({option}={value})")
            assert threading.active_count() <= threads + 1, (option, value, "something was started")


@pytest.mark.parametrize("value", VALUES)
def test_hostile_programs_and_addresses(value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    calls: dict[str, Callable[[Any], Any]] = {
        "ab.run(x)": ab.run,
        "ab.check(x)": ab.check,
        "ab.compile(x)": ab.compile,
        "ab.connect(x)": lambda x: ab.connect(x, "token"),
        "ab.connect(token=x)": lambda x: ab.connect("grpc://127.0.0.1:1", x),
        "ab.connect(tls=x)": lambda x: ab.connect("grpc+tls://127.0.0.1:1", "token", tls=x),
    }
    for name, call in calls.items():
        error = outcome(lambda call=call: call(HOSTILE[value]())).error  # type: ignore[misc]
        if not isinstance(error, ConnectionError):
            assert error is not None, (name, value)
            assert_refused_well(error, f"{name} with {value}")


class Calls:
    """Asks the app while the app asks it something."""

    def __init__(self, app: Any) -> None:
        self.app = app

    def __repr__(self) -> str:
        return f"a caller that heard {self.app.e('nested', 1)}"

    def __hash__(self) -> int:
        return int(self.app.e("nested", 1))

    def __eq__(self, other: object) -> bool:
        return bool(self.app.state.t["nested"] == other)


NESTED = {
    "t[x]": READS["t[x]"],
    "x in t": READS["x in t"],
    "m.row(x)": READS["m.row(x)"],
    "v[x]": READS["v[x]"],
    "t.load": LOADS["t.load([(x, 1)])"],
    "scale": CONTROLS["scale(x)"],
    "e": ENTRIES["e(x, 1)"],
    "id": NAMED["e(id=x)"],
}


@pytest.mark.parametrize("name", NESTED)
def test_a_value_that_calls_the_app_does_not_hold_it_up(engine: Engine, name: str) -> None:
    if not hasattr(type(engine.app), "stop") or (name == "scale" and isinstance(engine.app, RemoteApp)):
        pytest.skip("not a call of this kind of app, or it has one thread only")
    found = outcome(lambda: NESTED[name](engine.app, Calls(engine.app)))
    assert isinstance(found.error, (TypeError, ValueError)), found
    probe = next(PROBES)
    assert outcome(lambda: engine.app.e(f"probe {probe}", 1)) == (1, None)


def test_many_hostile_callers_at_once(engine: Engine) -> None:
    """While honest ones are answered, and get what they would get alone."""
    if not hasattr(type(engine.app), "stop"):
        pytest.skip("one thread only")

    def honest(number: int) -> list[int]:
        return [engine.app.e(f"honest {number}", 1) for _ in range(20)]

    def hostile(number: int) -> None:
        for i, value in enumerate(VALUES):
            if i % 4 == number:
                for name in ("e(id=x)", "e(x, 1)", "e.many([(x, 1)])", "t[x]", "t.load([(x, 1)])"):
                    error = outcome(
                        lambda name=name, value=value: engine.calls[name](engine.app, HOSTILE[value]())
                    ).error  # type: ignore[misc]
                    assert error is None or isinstance(error, (*REFUSALS, *OWN)), (name, value, error)

    with ThreadPoolExecutor(8) as pool:
        asked, bothered = [pool.submit(honest, i) for i in range(4)], [pool.submit(hostile, i) for i in range(4)]
        assert [f.result() for f in asked] == [[*range(1, 21)]] * 4
        assert [f.result() for f in bothered] == [None] * 4
