"""An app for tests: disturbed when it should be, looked into, and as it was where it is saved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import anabranch as ab
from anabranch import testing
from anabranch.testing import Kit, crash, meanwhile, restart, scale
from tests.testing.programs import Shop

HOSTS = ["threads", "processes"]


@pytest.mark.parametrize("hosts", HOSTS)
def test_what_was_answered_outlives_crashes(hosts: str) -> None:
    with testing.app(Shop(), hosts=hosts, saved=True) as kit:
        kit.deliver("tea", 5)
        kit.crash(worker=1)
        assert kit.deliver("tea", 1) == 6
        first = kit.app
        kit.crash()
        assert kit.app is not first and kit.recovery is not None
        assert kit.deliver("tea", 1) == 7
        with pytest.raises(ab.Stopped):
            first.deliver("tea", 1)


def test_a_worker_process_is_really_killed(caplog: pytest.LogCaptureFixture) -> None:
    with testing.app(Shop(), hosts="processes", saved=True) as kit:
        pids = dict(kit.app._engine.driver._launcher.pids)
        kit.crash(worker=1)
        assert "worker 1 is lost (its process ended with signal SIGKILL)" in caplog.text
        assert kit.sales() == 0.0  # waits for the one in its place
        assert kit.app._engine.driver._launcher.pids.keys() == pids.keys()
        assert {w for w, pid in kit.app._engine.driver._launcher.pids.items() if pid != pids[w]} == {1}


@pytest.mark.parametrize("hosts", HOSTS)
@pytest.mark.parametrize("worker", [None, 1])
def test_where_nothing_is_saved_a_crash_loses_all(hosts: str, worker: int | None) -> None:
    with testing.app(Shop(), hosts=hosts) as kit:
        kit.deliver("tea", 5)
        kit.crash(worker)
        with pytest.raises(ab.StateLost):
            kit.deliver("tea", 1)


def test_what_is_not_saved_yet_is_lost_in_a_crash_and_not_in_a_restart() -> None:
    with testing.app(Shop(), saved=True, durability="snapshot") as kit:
        kit.deliver("tea", 1)
        kit.checkpoint()
        kit.deliver("tea", 2)
        kit.crash()
        assert kit.peek("stock", "tea") == 1
        kit.deliver("tea", 2)
        kit.restart()
        assert kit.peek("stock", "tea") == 3


def test_a_restart_with_another_number_of_workers() -> None:
    with testing.app(Shop(), saved=True) as kit:
        kit.deliver("tea", 1)
        kit.restart(workers=3)
        assert len(kit.metrics().workers) == 3
        kit.scale(1)
        kit.crash()
        assert len(kit.metrics().workers) == 1 and kit.peek("stock", "tea") == 1


def test_nothing_to_restart_from() -> None:
    with testing.app(Shop()) as kit, pytest.raises(TypeError, match=r"write testing.app\(..., saved=True\)"):
        kit.restart()


def test_moments_come_before_their_request() -> None:
    seen = list[tuple[int, int]]()

    def look(kit: Kit) -> None:
        seen.append((kit.asked, kit.peek("stock", "tea")))

    with testing.app(Shop(), saved=True) as kit:
        kit.at(1, look, crash(0), look)
        kit.at(2, scale(3), look)
        for _ in range(3):
            kit.deliver("tea", 1)
        assert seen == [(1, 1), (1, 1), (2, 2)]
        assert kit.recovery is not None and len(kit.metrics().workers) == 3
        with pytest.raises(ValueError, match="request 2 has been answered"):
            kit.at(2, restart())
        with pytest.raises(TypeError, match=r"write crash\(1\), scale\(3\)"):
            kit.at(3, "crash")  # type: ignore[arg-type]


def test_a_moment_that_never_came_fails_the_test() -> None:
    def ask_once(pieces: int) -> None:
        with testing.app(Shop()) as kit:
            kit.at(2, crash(1), meanwhile(scale(3)))
            kit.deliver("tea", pieces)

    never = r"kit.at\(2, crash\(1\), meanwhile\(scale\(3\)\)\) never came: there were 1 requests"
    with pytest.raises(AssertionError, match=never):
        ask_once(1)
    with pytest.raises(ValueError, match="101 pieces are too many"):  # what went wrong first is what is raised
        ask_once(101)


@pytest.mark.parametrize("hosts", HOSTS)
@pytest.mark.parametrize("what", [crash(), crash(0), restart(workers=3), scale(3)], ids=repr)
def test_while_a_request_runs(hosts: str, what: Any) -> None:
    """One that is cut off is carried out once all the same."""
    with testing.app(Shop(), hosts=hosts, saved=True) as kit:
        kit.at(1, meanwhile(what))
        kit.deliver("tea", 1)
        found = kit.deliver.many({"item": ["tea"] * 2000, "pieces": [1] * 2000})
        assert found["result"] == list(range(2, 2002))
        assert kit.peek("stock", "tea") == 2001


def test_what_fails_beside_a_request_is_raised() -> None:
    def fail(kit: Kit) -> None:
        raise OSError("the network is gone")

    with testing.app(Shop()) as kit:
        kit.at(0, meanwhile(fail))
        with pytest.raises(OSError, match="the network is gone"):
            kit.sales()


class Named(ab.Program):
    names: ab.Partitioned[ab.Table[str, int]]

    def put(self, id: str) -> None:
        self.names[id] = 1


def test_a_request_that_cannot_be_repeated_is_refused() -> None:
    with testing.app(Named(), saved=True) as kit:
        for number in range(3):
            kit.at(number, meanwhile(crash()))
        with pytest.raises(TypeError, match=r"put\('a'\) has a parameter of that name itself: disturb it before"):
            kit.put("a")
        with pytest.raises(TypeError, match="is several requests"):
            kit.put.many(iter([[("a",)]]))
        kit.put.many([("a",)])
        assert dict(kit.peek("names").items()) == {"a": 1}


def test_workers_that_are_not_there() -> None:
    with testing.app(Shop()) as kit, pytest.raises(ValueError, match="workers 0 to 1, got 2"):
        kit.crash(2)


@pytest.mark.parametrize("hosts", HOSTS)
def test_state_is_looked_into_and_changed(hosts: str) -> None:
    with testing.app(Shop(), hosts=hosts) as kit:
        kit.poke("stock", "tea", 4)
        assert kit.deliver("tea", 1) == 5 == kit.peek("stock", "tea")
        assert dict(kit.peek("stock").items()) == {"tea": 5}
        kit.poke("shelves", ("tea", 1), 7)
        assert kit.place("tea", 2, 3) == 2
        assert dict(kit.peek("shelves", "tea").items()) == {1: 7, 2: 3} and kit.peek("shelves", ("tea", 1)) == 7
        kit.poke("bought", (7, 42), 1.0)
        assert kit.peek("bought", 7) == ab.Vector({42: 1.0}) and kit.peek("bought", (7, 42)) == 1.0
        kit.poke("limit", None, 10)
        assert kit.peek("limit") == 10
        with pytest.raises(ValueError, match="11 pieces are too many"):
            kit.deliver("tea", 11)


@pytest.mark.parametrize("hosts", HOSTS)
def test_instances_of_partial_state(hosts: str) -> None:
    with testing.app(Shop(), hosts=hosts) as kit:
        kit.poke("sold", 1, 2.0, instance=0)
        kit.poke("sold", 1, 3.0, instance=1)
        assert kit.sales() == 5.0 == kit.peek("sold", 1)
        assert [kit.peek("sold", 1, instance=i) for i in (0, 1)] == [2.0, 3.0]
        assert kit.peek("sold", instance=1) == ab.Vector({1: 3.0})
        kit.poke("last", "item", 3, instance=1)  # which names no merge
        assert kit.peek("last", "item", instance=1) == 3 and "item" not in kit.peek("last", instance=0)
        with pytest.raises(TypeError, match="names no merge"):
            kit.poke("last", "item", 3)
        with pytest.raises(ValueError, match="sold has instances 0 to 1, got 2"):
            kit.peek("sold", instance=2)
        with pytest.raises(ValueError, match="sold has instances 0 to 1, got 2"):
            kit.poke("sold", 1, 1.0, instance=2)


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (("stock", "tea", "four"), "expected int"),
        (("bought", 7, 1.0), r"a key of bought, a Matrix, is \(row, column\), got 7"),
        (("limit", 1, 1), r"has no keys: write kit.poke\('limit', None, 1\)"),
    ],
)
def test_what_cannot_be_stored(args: tuple[Any, ...], told: str) -> None:
    with testing.app(Shop()) as kit:
        with pytest.raises((TypeError, ab.BadInput), match=told):
            kit.poke(*args)
        with pytest.raises(TypeError, match="stock is Partitioned"):
            kit.poke("stock", "tea", 1, instance=0)
        assert not kit.peek("stock")


def test_the_rest_is_that_of_the_app() -> None:
    with testing.app(Shop(), history=True) as kit:
        kit.deliver("tea", 1)
        assert kit.version == 1 and len(kit.history().requests) == 1 and kit.state.stock["tea"] == 1
        assert kit.entries["deliver"].__signature__.parameters.keys() == {"item", "pieces"}
        assert {"crash", "deliver", "metrics"} <= {*dir(kit)}
        with pytest.raises(AttributeError, match="no attribute or entry 'dleiver'"):
            kit.dleiver("tea", 1)
        assert repr(kit) == "<kit of <app Shop, 2 workers, version 1>, 1 requests>"


def test_what_was_saved_for_the_test_goes_with_it() -> None:
    with testing.app(Shop(), saved=True) as kit:
        location = Path(kit.location)
        assert location.exists()
    assert not location.exists()


def test_a_location_of_the_users_own_stays(tmp_path: Path) -> None:
    for found in (1, 2):
        with testing.app(Shop(), checkpoint=tmp_path) as kit:
            assert kit.deliver("tea", 1) == found
            assert kit.location == tmp_path
