"""`app.history()`: what was done in which order; a replay gives the same answers and the same state."""

from __future__ import annotations

import random
import threading
from typing import Any

import pytest

import anabranch as ab
from anabranch.engines.embedded import App
from anabranch.engines.embedded.history import KEPT, History
from anabranch.lang.marks import same_state
from anabranch.runtime.backlog import Limits
from tests.engines.embedded.shop import Shop

Answers = dict[tuple[str, Any], Any]


def requests(seed: int, mark: int, count: int) -> list[tuple[str, list[tuple[Any, ...]]]]:
    """Random requests, single and in batches; `mark` and a counter make each different from all others."""
    pick = random.Random(f"{seed} {mark}")
    found: list[tuple[str, list[tuple[Any, ...]]]] = []
    for i in range(count):
        size = pick.choice([1, 1, 1, 3, 70, 150])
        marker = mark * 1000 + i
        users, skus = [pick.randrange(6) for _ in range(size)], [f"s{pick.randrange(4)}" for _ in range(size)]
        entry = pick.choice(["supply", "pay_in", "reward", "basket", "buy", "sold", "supply"])
        rows: list[tuple[Any, ...]] = {
            "supply": [(sku, marker) for sku in skus],
            "pay_in": [(user, marker if pick.random() > 0.002 else -marker) for user in users],
            "reward": [(sku, user) for sku, user in zip(skus, users, strict=True)],
            "basket": [(skus[:3] + [f"m{marker}"],) for _ in skus],
            "buy": [
                (sku if pick.random() > 0.003 else "none", user, marker) for sku, user in zip(skus, users, strict=True)
            ],
            "sold": [() for _ in skus],
        }[entry]
        found.append((entry, rows))
    return found


def answer(app: Any, entry: str, rows: list[tuple[Any, ...]]) -> Any:
    try:
        if len(rows) == 1:
            return [app.entries[entry](*rows[0])]
        return app.entries[entry].many(rows)
    except Exception as error:
        return type(error), error.args, error.__notes__


def said(replayed: list[Any] | BaseException) -> Any:
    if isinstance(replayed, BaseException):
        return type(replayed), replayed.args, replayed.__notes__
    return replayed


def check_replay(app: Any, history: History) -> list[Any]:
    sequential, answers = history.replay(Shop())
    for name in app.state:
        for number, (ours, theirs) in enumerate(
            zip(app.state[name].instances(), sequential.instances(name), strict=True)
        ):
            assert same_state(ours, theirs), (name, number)
    return [said(a) for a in answers]


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("fused", [-1, 64])
def test_one_thread_replayed(workers: int, fused: int) -> None:
    app = App(Shop(), workers, True, Limits(fused_rows=fused))
    told = [answer(app, *request) for request in requests(workers, 0, 40)]
    history = app.history()
    assert check_replay(app, history) == told
    assert [(r.entry, list(r.inputs or ())) for r in history.requests] == requests(workers, 0, 40)
    assert [r.failed for r in history.requests] == [isinstance(t, tuple) for t in told]
    app.stop()


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_many_threads_replayed(workers: int) -> None:
    told: dict[str, list[Any]] = {}
    with ab.run(Shop(), workers=workers, history=True) as app:

        def call(mark: int) -> None:
            for request in requests(workers, mark, 15):
                told.setdefault(repr(request), []).append(answer(app, *request))

        threads = [threading.Thread(target=call, args=(mark,)) for mark in range(1, 5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        history = app.history()
        answers = check_replay(app, history)
        assert len(history.requests) == 60
        for r, found in zip(history.requests, answers, strict=True):
            same = told[repr((r.entry, list(r.inputs or ())))]
            assert found in same
            same.remove(found)
        consecutive(history)


def consecutive(history: History) -> None:
    for before, after in zip(history.requests, history.requests[1:], strict=False):
        assert after.sequence == before.sequence + before.rows
        assert before.epoch <= after.epoch


def test_without_inputs_the_last_are_kept() -> None:
    with ab.run(Shop(), workers=2) as app:
        app.supply.many({"sku": ["a"] * 100, "n": [1] * 100})
        for i in range(KEPT + 5):
            app.pay_in(i % 3, 1)
        history = app.history()
        assert len(history.requests) == KEPT
        assert not history.complete and all(r.inputs is None for r in history.requests)
        assert (history.requests[0].sequence, history.requests[-1].sequence) == (105, 100 + KEPT + 4)
        consecutive(history)
        with pytest.raises(ValueError, match="has no inputs to replay: start the app with"):
            history.replay(Shop())


def test_a_history_does_not_change() -> None:
    with ab.run(Shop(), workers=2, history=True) as app:
        assert app.history().requests == () and app.version == 0
        app.supply("a", 1)
        history = app.history()
        app.supply("a", 2)
        assert (len(history.requests), app.version, len(app.history().requests)) == (1, 2, 2)
        replayed, answers = history.replay(Shop())
        assert (answers, replayed.state("stock")["a"]) == ([[1]], 1)
        assert app.state.stock["a"] == 3


def test_what_was_loaded_cannot_be_replayed() -> None:
    with ab.run(Shop(), workers=2, history=True) as app:
        app.supply("a", 1)
        with pytest.raises(ab.BadInput):
            app.state.stock.load([("a", "x")])
        assert app.history().complete
        app.state.stock.load([("a", 5)])
        history = app.history()
        assert not history.complete and [r.inputs for r in history.requests] == [(("a", 1),)]
        with pytest.raises(ValueError, match="state was loaded by hand, which no request can repeat"):
            history.replay(Shop())


def test_a_replay_needs_a_program_of_the_same_class() -> None:
    class Other(Shop):
        pass

    with ab.run(Shop(), workers=2, history=True) as app:
        app.supply("a", 1)
        for wrong in (Shop, Other(), None):
            with pytest.raises(TypeError, match=r"this is the history of a Shop, got .*: write history.replay\(Shop"):
                app.history().replay(wrong)  # type: ignore[arg-type]


def test_a_program_with_content_is_where_a_replay_starts() -> None:
    def used() -> Shop:
        shop = Shop()
        shop.supply("a", 5)
        return shop

    shop = used()
    with ab.run(shop, workers=2, history=True) as app:
        assert app.supply("a", 1) == 6
        assert shop.supply("a", 10) == 15  # the program itself and the app go their own ways
        assert app.supply("a", 1) == 7
        assert app.history().replay(used())[1] == [[6], [7]]


def test_inputs_are_kept_as_they_were_given() -> None:
    given = ["a", "b"]
    with ab.run(Shop(), workers=2, history=True) as app:
        app.basket(given)
        app.basket.many({"skus": [given]})
        given.append("c")
        assert [r.inputs for r in app.history().requests] == [((["a", "b"],),)] * 2
