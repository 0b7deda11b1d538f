"""`testing.check` finds what differs, and nothing where nothing does."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import anabranch as ab
from anabranch import testing
from anabranch.testing import advance, check, checkpoint, crash, many, meanwhile, restart, scale
from tests.testing.programs import REQUESTS, Grouped, Shop, Tallied, Tally, Told, told


def test_a_program_that_is_right() -> None:
    check(Shop, REQUESTS, tier=("python", "compiled"))


@pytest.mark.parametrize("hosts", ["threads", "processes"])
def test_disturbed_in_every_way(hosts: str) -> None:
    disturb = {
        1: crash(),
        3: [checkpoint(), crash(1)],
        5: scale(3),
        7: advance(3600),
        8: meanwhile(crash(0)),
        9: restart(workers=1),
        11: [scale(2), meanwhile(crash())],
        len(REQUESTS): crash(1),
    }
    check(Shop, REQUESTS, workers=2, hosts=hosts, disturb=disturb)


def difference_in(*args: Any, **options: Any) -> str:
    with pytest.raises(AssertionError) as caught:
        check(*args, **options)
    return str(caught.value)


def test_an_answer_that_depends_on_the_number_of_workers() -> None:
    requests = [("see", door) for door in range(20)]
    check(Grouped, requests, workers=1)
    found = difference_in(Grouped, requests, workers=(1, 3))
    header, plain, engine = found.splitlines()
    assert header.startswith("not as the plain run of Grouped (workers=3, hosts='threads', tier='auto'): request ")
    number = int(header.rpartition("(")[2].rstrip(")"))
    assert header.endswith(f": request {number}: see({number})")
    assert plain == f"  plain:  {number + 1.0}" and engine == "  engine: 1.0"


def test_an_answer() -> None:
    assert difference_in(told(), [("put", 1), ("tell",)], workers=1) == (
        "not as the plain run of Told (workers=1, hosts='threads', tier='auto'): request 1: tell()\n"
        "  plain:  0\n"
        "  engine: 1"
    )


def test_the_arguments_of_an_exception() -> None:
    assert difference_in(told(), [("fail", 7)], workers=1).endswith(
        "request 0: fail(7)\n  plain:  raised ValueError(0, 7)\n  engine: raised ValueError(1, 7)"
    )


def test_the_state_at_the_end() -> None:
    requests = [many("put", [(k,) for k in range(5)])]
    assert difference_in(told(), requests, workers=1).endswith(
        "state table at the end, [0], and 4 more\n  plain:  0\n  engine: 1"
    )


def test_an_entry_that_one_of_them_does_not_have() -> None:
    def add(kit: testing.Kit) -> None:
        kit.poke("stock", "gin", 3)

    found = difference_in(Shop, [("deliver", "tea", 1)], workers=1, disturb={1: add})
    assert found.splitlines()[0].endswith("add at 1): state stock at the end, ['gin']")
    assert found.splitlines()[1:] == ["  plain:  nothing", "  engine: 3"]


def test_own_types_are_compared_too() -> None:
    by = iter([1])
    check(Tallied, [("add", 1)])
    found = difference_in(lambda: Tallied(next(by, 2)), [("add", 1)], workers=2)
    assert found.endswith("state tally at the end, .counts\n  plain:  {1: 1}\n  engine: {2: 1}")
    assert Tally().counts == {}


@pytest.mark.parametrize("hosts", ["threads", "processes"])
@pytest.mark.parametrize("durability", ["none", "snapshot"])
def test_a_crash_that_loses_what_was_answered(hosts: str, durability: str) -> None:
    requests = [("deliver", "tea", 1)] * 6
    found = difference_in(Shop, requests, workers=2, hosts=hosts, durability=durability, disturb={3: crash()})
    assert "crash() at 3" in found
    assert found.endswith("request 3: deliver('tea', 1)\n  plain:  4\n  engine: 1")


@pytest.mark.parametrize("hosts", ["threads", "processes"])
def test_a_crash_where_nothing_is_saved(hosts: str) -> None:
    found = difference_in(Shop, REQUESTS, workers=2, hosts=hosts, saved=False, disturb={2: crash(1)})
    assert "request 2: sell('tea', 1)" in found and "engine: raised StateLost(" in found


def test_a_log_that_lies_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Epochs that are answered and not logged: only a crash shows it."""
    from anabranch.drivers.durable.run import SavedHere

    monkeypatch.setattr(SavedHere, "epoch", lambda *args: None)
    check(Shop, REQUESTS, workers=2, saved=True)
    assert "state" in difference_in(Shop, REQUESTS, workers=2, disturb={len(REQUESTS): crash()})


@pytest.mark.parametrize("how", [lambda what: what, meanwhile], ids=["before", "meanwhile"])
def test_what_goes_wrong_with_a_disturbance_is_no_answer(how: Any) -> None:
    def fail(kit: testing.Kit) -> None:
        raise OSError("the network is gone")

    with pytest.raises(OSError, match="the network is gone"):
        check(Shop, REQUESTS, disturb={1: how(fail)})


def test_results_as_tables() -> None:
    table = pa.table({"item": ["tea", "gin"], "pieces": [1, 2]})
    check(Shop, [many("deliver", table), many("deliver", table)])
    assert "request 1" in difference_in(told(), [("put", 1), many("tell", [(), ()])], workers=1)


@pytest.mark.parametrize(
    ("options", "error", "told"),
    [
        ({"disturb": {3: crash()}}, ValueError, r"crash\(\) at 3 never comes: there are 2 requests"),
        ({"disturb": {2: meanwhile(crash())}}, ValueError, r"meanwhile\(crash\(\)\) at 2 never comes"),
        ({"disturb": {0: "crash"}}, TypeError, "expected what is to happen"),
        ({"checkpoint": "folder"}, TypeError, "one run would go on from the state of another"),
        ({"wrokers": 2}, TypeError, "wrokers"),
    ],
)
def test_what_would_show_nothing_is_refused(options: dict[str, Any], error: type[Exception], told: str) -> None:
    with pytest.raises(error, match=told):
        check(Shop, REQUESTS[:2], **options)


@pytest.mark.parametrize("request_", ["deliver", ("tea",)[:0], 7, ["deliver", "tea", 1]])
def test_what_is_no_request(request_: Any) -> None:
    with pytest.raises(TypeError, match="expected a request"):
        check(Shop, [request_])


def test_an_iterator_can_be_read_once() -> None:
    with pytest.raises(TypeError, match=r"write many\('deliver', Source\(\[...\]\)\)"):
        many("deliver", iter([[("tea", 1)]]))


def test_a_program_that_does_not_compile_says_so() -> None:
    class Broken(ab.Program):
        t: ab.Partitioned[ab.Table[int, int]]

        def count(self) -> int:
            return len(self.t)

    with pytest.raises(ab.CompileError, match="AB"):
        check(Broken, [("count",)])


def test_configuration_that_differs_is_no_business_of_the_plain_run() -> None:
    check(lambda: Told(3), [("tell",), ("put", 1), ("fail", 2)])
