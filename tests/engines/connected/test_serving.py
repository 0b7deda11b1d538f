"""An app that is served goes on as before, for any number of clients."""

from __future__ import annotations

import gc
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import anabranch as ab
from anabranch.drivers import pieces
from tests.drivers.test_flight import tls  # noqa: F401
from tests.engines.connected.conftest import Near
from tests.engines.connected.till import Order, Refusal, Sale, Till, Total


def test_the_life_of_what_is_served() -> None:
    app = ab.run(Till(), workers=1, tier="python")
    with app.serve(token="a secret") as served:
        assert repr(served) == f"<app Till served at {served.address}>" and served.token == "a secret"
        assert "a secret" not in f"{served!r} {served}" and served.address.startswith("grpc://127.0.0.1:")
        far = ab.connect(served.address, "a secret")
        assert repr(far) == f"<app Till at {served.address}>" and far.sell("a") == 1
    assert repr(served).endswith(", stopped>")
    served.stop()
    with pytest.raises(ConnectionError):
        far.sell("a")
    far.stop()
    far.stop()
    assert repr(far).endswith(", closed>")
    assert app.sell("a") == 2  # the app goes on
    one, two = app.serve(), app.serve()
    assert one.token != two.token
    with ab.connect(one.address, one.token) as first, ab.connect(two.address, two.token) as second:
        assert (first.sell("a"), second.sell("a")) == (3, 4)
    assert app.sell("a") == 5  # leaving a client closes its connection only
    app.stop()
    for gone in (one, two):
        with pytest.raises(ConnectionError, match="no app answers at"):
            ab.connect(gone.address, gone.token)
    with pytest.raises(ab.Stopped):
        app.serve()


def test_ports_and_tokens(near: Near) -> None:
    port = int(near.served.address.rpartition(":")[2])
    with pytest.raises(OSError, match="are taken"):
        near.app.serve(port=port)
    for bad in (-1, 65536, "x", True):
        with pytest.raises(ValueError, match="a port is a number below 65536"):
            near.app.serve(port=bad)
    with pytest.raises(ValueError, match="printable ASCII"):
        near.app.serve(token="")


def test_tls(near: Near, tls: ab.Tls) -> None:  # noqa: F811
    served = near.app.serve(tls=tls)
    assert served.address.startswith("grpc+tls://")
    with ab.connect(served.address, served.token, tls=ab.Tls(roots=tls.roots)) as far:
        assert far.sell("a") == 1
    with pytest.raises(ConnectionError):
        ab.connect(served.address, served.token)
    with pytest.raises(ValueError, match="is served without TLS"):
        ab.connect(near.served.address, near.served.token, tls=tls)


def test_what_is_known_here_is_not_made_again(near: Near) -> None:
    assert near.far.records == {"Sale": Sale, "Total": Total, "Order": Order}
    assert type(near.far.record(Sale("a"))) is Total
    assert near.far.state.last["a"] == Sale("a")
    with pytest.raises(Refusal) as caught:
        near.far.sell("a", -1)
    assert caught.value.args == ("a", 1) and caught.value.left == 1


def test_states(near: Near) -> None:
    far, app = near.far, near.app
    far.sell.many([("a", 2), ("b", 3)])
    far.record(Sale("c", 4, ["x"]))
    far.price("a", 0.5)
    far.day.many([(1, 2.0), (3, 0.5)])
    far.pair(1, 2)
    far.mark("m", 7)
    for name in ("sold", "last", "prices", "pairs", "days", "hours"):
        mine, theirs = getattr(far.state, name), getattr(app.state, name)
        assert type(mine.copy()) is type(theirs.copy()) and mine.copy() == theirs.copy()
        assert mine == theirs.copy() and not mine != theirs.copy()  # noqa: SIM202
        assert mine.instances() == theirs.instances() and len(mine.instances()) == 2
        assert mine.to_arrow().equals(theirs.to_arrow())
        assert sorted(mine.scan(), key=repr) == sorted(theirs.scan(), key=repr)
        assert mine.nbytes == theirs.nbytes > 0
        assert repr(mine) == repr(theirs)
        with pytest.raises(ab.FrozenError):
            mine.copy().assign(mine.copy())
    sold = far.state["sold"]
    assert (sold["a"], sold["none"], sold.get("z", 9), sold.get("a", default=9)) == (2, 0, 9, 2)
    assert ("a" in sold, "z" in sold, len(sold), bool(sold)) == (True, False, 3, True)
    assert sorted(sold) == ["a", "b", "c"] == sorted(sold.keys()) and sold.top(1) == [("c", 4)]
    assert far.state.hours.value == 2 and far.state.pairs[np.int64(1), np.int64(2)] == 1.0
    assert far.state.pairs.row(1) == ab.Vector({2: 1.0}) and list(far.state) == list(app.state)
    assert far.state.last.get("none", Sale("d")) == Sale("d")
    assert far.state.marks.best("m") == 7
    with pytest.raises(KeyError) as missing:
        far.state.prices["none"]
    assert missing.value.args == ("none",)
    with pytest.raises(KeyError):
        far.state.marks.best("none")
    with pytest.raises(TypeError, match="expected str, got 1"):
        sold[1]


def test_what_states_refuse(near: Near) -> None:
    state = near.far.state
    for wrong, error, text in [
        (lambda: state.sold.pop("a"), AttributeError, "sold.pop writes: entries change state, app.state.sold.load"),
        (lambda: state.marks.mark("a", 1), AttributeError, "marks.mark writes: entries change state"),
        (lambda: state.sold.none, AttributeError, "which has no 'none'"),
        (lambda: state.none, AttributeError, "the app has no state 'none': states are sold, last"),
        (lambda: state["none"], KeyError, "the app has no state 'none'"),
        (lambda: state.sold.__setitem__("a", 1), ab.FrozenError, r"app.state.sold\[...\] cannot be set"),
        (lambda: state.sold.__delitem__("a"), ab.FrozenError, "cannot be deleted"),
        (lambda: setattr(state.sold, "x", 1), ab.FrozenError, "cannot be set"),
        (lambda: setattr(state, "sold", 1), ab.FrozenError, "cannot be set"),
        (lambda: state.marks.instances(), TypeError, "an own type, whose code is where the app is"),
        (lambda: state.marks.load({}), TypeError, "an own type: read and fill it by entries"),
        (lambda: state.sold[object()], TypeError, "cannot be sent"),
    ]:
        with pytest.raises(error, match=text):
            wrong()
    assert near.app.version == 0


def test_load(near: Near) -> None:
    far = near.far
    far.state.sold.load({"key": ["a", "b"], "value": [5, 6]})
    far.state.last.load([("c", Sale("c", 3))])
    far.state.hours.load(pa.table({"value": [9]}))
    assert (far.state.sold["a"], far.state.last["c"], far.state.hours.value) == (5, Sale("c", 3), 9)
    far.state.sold.load(far.state.sold.to_arrow())
    for bad, error in [
        ({"key": ["a"], "value": ["x"]}, r"state.sold.load: row 0, column 'value': expected int, got 'x'"),
        (pa.table({"key": ["a"], "value": [None]}), r"row 0, column 'value': expected int, got None"),
        (pa.table({"key": ["a"]}), "column 'value': missing"),
    ]:
        with pytest.raises(ab.BadInput, match=error):
            far.state.sold.load(bad)
    with pytest.raises(ab.BadInput, match="expected one row, got 2"):
        far.state.hours.load({"value": [1, 2]})
    assert near.app.state.sold == ab.Table({"a": 5, "b": 6}, default=0)


def test_several_clients_at_once(near: Near) -> None:
    """Each has its own answers, and every request counts once."""
    others = [ab.connect(near.served.address, near.served.token) for _ in range(3)]

    def sell(i: int) -> int:
        far: Any = others[i % 3]
        assert far.twice(str(i)) == str(i) * 2
        assert far.sell.many({"item": [f"own {i}"] * 2}) == {"result": [1, 2]}
        return int(far.sell("tea"))

    with ThreadPoolExecutor(12) as pool:
        assert sorted(pool.map(sell, range(240))) == list(range(1, 241))
    assert near.app.state.sold["tea"] == 240
    for other in others:
        assert len(other._link._idle) <= 8 and not other._link._busy
        other.stop()


def test_long_requests_and_answers_go_in_pieces(near: Near, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "PIECE", 1000)
    items = [f"item {i}" for i in range(5000)]
    assert near.far.sell.many({"item": items}) == {"result": [1] * 5000}
    assert near.far.twice("x" * 10**6) == "x" * 2 * 10**6
    assert near.far.state.sold.copy() == near.app.state.sold.copy()
    for size in range(985, 1010):
        assert near.far.twice("y" * size) == "y" * 2 * size


def test_there_is_a_limit(near: Near, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "WHOLE", 3000)
    with pytest.raises(ValueError, match="the limit is 3000: give an iterator of smaller batches"):
        near.far.sell.many({"item": ["x" * 3000]})
    with pytest.raises(TypeError, match=r"the request was carried out, but its answer has .* the limit is 3000"):
        near.far.twice("x" * 2000)
    assert near.far.twice("x") == "xx"


def test_clients_that_are_forgotten_are_closed(near: Near) -> None:
    far = ab.connect(near.served.address, near.served.token)
    far.sell("a")
    link = far._link
    del far
    gc.collect()
    assert link.closed


def test_an_app_in_processes_is_served_alike() -> None:
    with ab.run(Till(), workers=2, hosts="processes") as app:
        served = app.serve()
        with ab.connect(served.address, served.token) as far:
            assert far.sell.many({"item": ["a", "b", "a"]}) == {"result": [1, 1, 2]}
            assert far.state.sold.copy() == ab.Table({"a": 2, "b": 1}, default=0)
            with pytest.raises(Refusal):
                far.sell("a", -1)


def test_calls_from_many_threads_of_one_client(near: Near) -> None:
    barrier = threading.Barrier(30)

    def sell(i: int) -> int:
        barrier.wait()
        return int(near.far.sell("tea"))

    with ThreadPoolExecutor(30) as pool:
        assert sorted(pool.map(sell, range(30))) == list(range(1, 31))
