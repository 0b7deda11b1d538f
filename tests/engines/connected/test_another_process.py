"""A client that has not the source of the program."""

from __future__ import annotations

import inspect
import os
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pytest

import anabranch as ab
from anabranch.engines.connected.link import Link
from tests.engines.connected.conftest import TOKEN, Elsewhere, Near
from tests.engines.connected.till import Till

SOON = 3.0  # seconds; it is milliseconds on an idle machine


@pytest.fixture
def far(shared: Elsewhere) -> Iterator[Any]:
    """A client of a new app in a process that other tests use too."""
    with ab.connect(shared.new_app(), TOKEN) as app:
        yield app


@pytest.fixture
def alone(elsewhere: Elsewhere) -> Iterator[Any]:
    """A client of an app whose process is that of the test alone."""
    with ab.connect(elsewhere.new_app(), TOKEN) as app:
        yield app


def test_calls_batches_and_reads(far: Any) -> None:
    assert far.sell("tea", 2) == 2
    assert far.sell(item="tea") == 3
    assert far.sell.many({"item": ["tea", "gin"], "pieces": [1, 4]}) == {"result": [4, 4]}
    assert far.sell.many([("tea",), {"item": "tea", "pieces": 2}]) == [5, 7]
    assert far.sell.many(pa.table({"item": ["rum"]})).to_pydict() == {"result": [1]}
    assert far.sell.many(iter([[("rum",)], {"item": ["rum"]}])) == [[2], {"result": [3]}]
    assert far.tick.many([(), ()]) == [1, 2]
    assert far.price("tea", 2) is None
    assert far.entries["sell"]("tea", 0) == 7
    assert far.version == 10
    assert far.metrics().entries["sell"].rows == 10 and "entry sell" in str(far.metrics())
    assert far.explain().entries[0].name == "sell" and "sell.1" in str(far.explain())
    assert far.explain()._repr_html_().startswith("<svg")
    with pytest.raises(NotImplementedError, match="not available over a connection"):
        far.history()
    with pytest.raises(AttributeError, match=r"app\.scale is not available over a connection"):
        far.scale(workers=2)


def test_entries_describe_themselves(far: Any) -> None:
    assert list(far.entries) == [
        "sell", "record", "order", "price", "day", "pair", "mark", "parse", "spin", "tick", "twice"
    ]  # fmt: skip
    assert far.sell.__doc__ == "Sell some pieces." and "sell" in dir(far)
    assert str(inspect.signature(far.sell)) == "(item: str, pieces: int = 1) -> int"
    assert inspect.signature(far.record).parameters["sale"].annotation is far.records["Sale"]
    with pytest.raises(AttributeError, match="the app has no attribute or entry 'sel': entries are sell, record"):
        far.sel("tea")
    with pytest.raises(AttributeError, match=r"app\.sell cannot be set"):
        far.sell = 1


def test_records_are_made_here(far: Any) -> None:
    made = far.records["Sale"]
    assert made.__name__ == "Sale" and made("tea") == ("tea", 1, None)
    total = far.record(made("tea", 2, ["new"]))
    assert repr(total) == "Total(item='tea', pieces=2)"
    assert far.state.last["tea"] == made("tea", 2, ["new"])
    assert far.record.many({"item": ["tea"], "tags": [["old"]]}) == {"item": ["tea"], "pieces": [3]}
    assert far.record.many([("gin",), made("gin", 2)]) == [("gin", 1), ("gin", 3)]
    assert far.order(far.records["Order"]("me", [made("a"), made("b", 2)]), made("c")) == [("a", 1), ("b", 2), ("c", 1)]
    assert far.order.many([(far.records["Order"]("me", [made("a")]),)]) == [[("a", 1)]]


def test_a_record_of_the_same_name_and_fields_will_do(far: Any) -> None:
    @dataclass(frozen=True)
    class Sale:
        item: str
        pieces: int
        tags: list[str] | None

    class Order(NamedTuple):
        who: str
        sales: list[Any]

    assert far.record(Sale("tea", 2, None)) == ("tea", 2)
    assert far.record.many([Sale("tea", 2, None)]) == [("tea", 4)]
    order = Order("me", [Sale("a", 1, None)])
    assert far.order(order, extra=Sale("b", 1, ["x"])) == [("a", 1), ("b", 1)]
    assert far.order.many({"order": [order], "extra": [None]}) == {"result": [[("a", 1)]]}

    class Other(NamedTuple):
        item: str

    with pytest.raises(ab.BadInput, match=r"record: row 0, column 'sale': expected Sale, got Other\(item='a'\)"):
        far.record(Other("a"))


def test_what_only_the_constructor_of_a_record_checks_is_checked_there(far: Any) -> None:
    ghost = far.records["Sale"]("ghost")
    for give in (lambda: far.record(ghost), lambda: far.record.many([ghost]), lambda: far.record.many([("ghost",)])):
        with pytest.raises(ab.BadInput, match=r"record: row 0, column 'sale': .*there are no ghosts") as caught:
            give()
        assert (caught.value.entry, caught.value.row, caught.value.column) == ("record", 0, "sale")
    assert len(far.state.last) == 0


def test_an_exception_whose_class_is_not_known_here(far: Any) -> None:
    with pytest.raises(ab.RemoteError, match=r"^Refusal: \('tea', 1\)") as caught:
        far.sell.many([("tea", 1), ("tea", -1)])
    error = caught.value
    assert (error.kind, error.args, error.left) == ("Refusal", ("tea", 1), 1)  # type: ignore[attr-defined]
    assert error.__notes__ == ["in entry 'sell', row 1, at unknown_here.py:69: raise Refusal(item, self.sold[item])"]


def test_builtins_arrive_as_themselves(far: Any) -> None:
    with pytest.raises(KeyError) as caught:
        far.parse("tea", "x")
    assert caught.value.args == ("x",) and "in entry 'parse', row 0" in caught.value.__notes__[0]
    assert type(caught.value.__cause__) is ValueError
    with pytest.raises(OverflowError):
        far.sell.many([("tea", 2**62), ("tea", 2**62)])
    with pytest.raises(ab.InputOverflow) as overflow:
        far.sell("tea", 2**63)
    assert overflow.value.value == 2**63
    assert far.state.sold["tea"] == 0


def test_what_has_an_id_is_carried_out_once(far: Any) -> None:
    for _ in range(2):
        assert far.sell("tea", 2, id="a") == 2
        assert far.sell.many({"item": ["gin", "gin"], "pieces": [1, 4]}, id="b") == {"result": [1, 5]}
        assert far.sell.many([("rum", 3)], id="c") == [3]
        assert far.tick.many([(), ()], id="a") == [1, 2]
    assert far.sell("tea", 2, id="d") == 4 and far.sell("tea", 2) == 6
    with pytest.raises(TypeError, match="names the request"):
        far.sell("tea", id=7)
    with pytest.raises(TypeError, match="iterator of batches"):
        far.sell.many(iter([[("rum",)]]), id="d")


def test_who_lost_the_answer_asks_again(tmp_path: Path) -> None:
    """The connection goes after the call was carried out; the app is another by then."""
    with ab.run(Till(), workers=1, checkpoint=tmp_path) as app:
        served = app.serve()
        with ab.connect(served.address, served.token) as far:
            right = app.entries["sell"].__class__.__call__

            def answered_too_late(self: Any, *args: Any, **named: Any) -> Any:
                found = right(self, *args, **named)
                served.stop()
                return found

            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(app.entries["sell"].__class__, "__call__", answered_too_late)
                with pytest.raises(ab.AnswerLost):
                    far.sell("tea", 2, id="mine")
    with ab.run(Till(), workers=1, checkpoint=tmp_path) as app:
        served = app.serve()
        with ab.connect(served.address, served.token) as far:
            assert far.sell("tea", 2, id="mine") == 2
            assert far.state.sold["tea"] == 2


def test_the_other_process_is_gone(elsewhere: Elsewhere, alone: Any) -> None:
    assert alone.sell("tea") == 1
    elsewhere.process.kill()
    elsewhere.process.wait()
    with pytest.raises(ab.AnswerLost, match=r"is gone and the answer is lost: .* may or may not have taken effect"):
        alone.sell("tea")
    with pytest.raises(ConnectionError, match=r"no app answers at .*, and nothing was sent"):
        alone.sell("tea")
    with pytest.raises(ConnectionError, match="no app answers at"):
        ab.connect(alone._link.address, TOKEN)


def test_the_other_process_goes_in_the_middle(elsewhere: Elsewhere, alone: Any) -> None:
    threading.Timer(0.3, elsewhere.process.kill).start()
    with pytest.raises(ab.AnswerLost, match="may or may not have taken effect"):
        alone.spin("tea", 10**10)
    with pytest.raises(ConnectionError) as caught:
        alone.state.sold["tea"]
    assert type(caught.value) is ConnectionError


def test_the_app_is_stopped(elsewhere: Elsewhere, alone: Any) -> None:
    assert alone.sell("tea") == 1
    assert elsewhere.end() == 0  # clients that are connected hold up nobody
    with pytest.raises(ConnectionError):
        alone.sell("tea")


def test_ctrl_c_ends_the_waiting(elsewhere: Elsewhere, alone: Any) -> None:
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt) as caught:
        alone.spin("tea", 10**10)
    assert time.monotonic() - start < SOON
    assert caught.value.__notes__ == ["the request was on its way: it may or may not have taken effect"]
    assert alone.entries["twice"].__name__ == "twice"
    timer.join()


def test_ctrl_c_and_then_another_call(near: Near) -> None:
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        near.far.spin("tea", 3 * 10**7)  # longer than that on any machine, and the next call waits for its end
    timer.join()
    assert near.far.sell("gin") == 1


def test_closing_wakes_those_who_wait(elsewhere: Elsewhere, alone: Any) -> None:
    raised: list[BaseException] = []

    def wait() -> None:
        try:
            alone.spin("tea", 10**10)
        except BaseException as error:
            raised.append(error)

    waiting = threading.Thread(target=wait)
    waiting.start()
    link: Link = alone._link
    end = time.monotonic() + SOON
    while not link._busy and time.monotonic() < end:
        time.sleep(0.01)
    alone.stop()
    waiting.join(SOON)
    [error] = raised
    assert type(error) is ab.Stopped and "may or may not have taken effect" in str(error)
    with pytest.raises(ab.Stopped, match=r"open another with ab\.connect"):
        alone.sell("tea")
