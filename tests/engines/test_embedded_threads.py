"""Many callers at once: whatever order it was, it was one order, and `history` names it."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import pytest

import anabranch as ab
from anabranch.drivers.callers import Gate
from anabranch.engines.embedded import App
from anabranch.lang.marks import same_state
from anabranch.runtime.backlog import Limits
from anabranch.testing.outcomes import canonical
from examples.recommender import Recommender

THREADS = 4
WAYS = {
    "default": (Limits(), Gate()),
    "staged": (Limits(fused_rows=-1), Gate(inline_rows=0)),
    "both": (Limits(fused_rows=2), Gate(inline_rows=1)),
}


@pytest.fixture
def hurried() -> Iterator[None]:
    """Threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def at_once(work: Callable[[int], None]) -> None:
    """Run the work on several threads; what one raises, the test raises."""
    errors: list[BaseException] = []

    def run(number: int) -> None:
        try:
            work(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(n,)) for n in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
        assert not thread.is_alive(), "a caller waits for ever"
    if errors:
        raise errors[0]


def check_history(app: App, program: ab.Program, told: dict[int, list[tuple[str, Any, Any]]]) -> None:
    """The answers of every thread, and every instance, are those of the oracle in the order of the history."""
    history = app.history()
    oracle, answers = history.replay(program)
    given: dict[tuple[str, Any], list[Any]] = {}
    for request, found in zip(history.requests, answers, strict=True):
        shown = repr(found) if isinstance(found, BaseException) else canonical(found)
        given.setdefault((request.entry, repr(request.inputs)), []).append(shown)
    for calls in told.values():
        for entry, rows, found in calls:
            given[entry, repr(rows)].remove(found)
    assert not any(given.values()), "something ran that nobody asked for"
    for name in app.state:
        for i, part in enumerate(app.state[name].instances()):
            assert same_state(part, oracle.instances(name)[i]), (name, i)


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("way", WAYS)
def test_rate_and_recommend_interleaved(way: str, workers: int) -> None:
    limits, gate = WAYS[way]
    told: dict[int, list[tuple[str, Any, Any]]] = {n: [] for n in range(THREADS)}

    def work(number: int) -> None:
        rng = Random(number)
        for _ in range(40):
            user, item = rng.randrange(5), rng.randrange(8)
            match rng.randrange(4):
                case 0:
                    found = [app.recommend(user)]
                    told[number].append(("recommend", ((user,),), canonical(found)))
                case 1:
                    users = [rng.randrange(5) for _ in range(rng.randrange(6))]
                    found = app.recommend.many({"user": users})["result"]
                    told[number].append(("recommend", tuple((u,) for u in users), canonical(found)))
                case 2:
                    app.rate(user, item, 1.0)
                    told[number].append(("rate", ((user, item, 1.0),), canonical([None])))
                case 3:
                    rows = [(rng.randrange(5), rng.randrange(8), float(rng.randrange(3))) for _ in range(5)]
                    app.rate.many(rows)
                    told[number].append(("rate", tuple(rows), canonical([None] * 5)))

    with App(Recommender(), workers, history=True, limits=limits, gate=gate) as app:
        at_once(work)
        check_history(app, Recommender(), told)


class Bank(ab.Program):
    balance: ab.Partitioned[ab.Table[int, int]] = ab.Table(default=100)
    moved: ab.Partial[ab.Table[str, int]]
    fee: ab.Replicated[ab.Value[int]]

    def __init__(self) -> None:
        self.moved = ab.partial(ab.Table(default=0), merge=ab.add)
        self.fee = ab.Value(0)

    def pay(self, source: int, target: int, cents: int) -> int:
        if self.balance[source] < cents:
            raise ValueError("too poor", source)
        self.balance[source] -= cents
        self.balance[target] += cents
        return self.balance[source]

    def note(self, who: int, cents: int) -> None:
        if cents > self.balance[who] + self.fee.value:
            raise LookupError(who, cents)
        self.moved["all"] += cents

    def set_fee(self, cents: int) -> None:
        ab.everywhere(self.fee).value = cents

    def spread(self, accounts: list[int]) -> list[int]:
        found = []
        for account in accounts:
            self.balance[account] += 1
            found.append(self.balance[account])
        return found

    def total(self) -> int:
        return sum(ab.gather(ab.everywhere(self.moved).get("all", 0)))


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("way", WAYS)
def test_winding_failing_and_replicated_requests_at_once(way: str, workers: int) -> None:
    limits, gate = WAYS[way]
    told: dict[int, list[tuple[str, Any, Any]]] = {n: [] for n in range(THREADS)}

    def work(number: int) -> None:
        rng = Random(number)
        for _ in range(40):
            entry = rng.choice(("pay", "note", "set_fee", "spread", "total"))
            rows = tuple(arguments(rng, entry) for _ in range(rng.choice((1, 1, 2, 6))))
            try:
                found = app.entries[entry].many(list(rows))
                shown = canonical([None] * len(rows) if found is None else found)
            except (ValueError, LookupError) as error:
                shown = repr(error)
            told[number].append((entry, rows, shown))

    def arguments(rng: Random, entry: str) -> tuple[Any, ...]:
        match entry:
            case "pay":
                return (rng.randrange(4), rng.randrange(4), rng.randrange(60))
            case "note":
                return (rng.randrange(4), rng.randrange(150))
            case "set_fee":
                return (rng.randrange(5),)
            case "spread":
                return ([rng.randrange(4) for _ in range(rng.randrange(4))],)
        return ()

    with App(Bank(), workers, history=True, limits=limits, gate=gate) as app:
        at_once(work)
        check_history(app, Bank(), told)


def test_a_call_sees_what_was_answered_before_it() -> None:
    with ab.run(Bank(), workers=2) as app:
        answered = [0]

        def work(number: int) -> None:
            for _ in range(200):
                before = answered[0]
                seen = app.spread([7])[0]
                assert seen > 100 + before, "older than what was answered before"
                answered[0] = max(answered[0], seen - 100)

        at_once(work)
        assert app.state.balance[7] == 100 + 200 * THREADS
