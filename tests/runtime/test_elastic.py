"""What is decided, report by report."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

import anabranch as ab
from anabranch.runtime.elastic import Decision, Elastic


def tell(elastic: Elastic, *reports: Sequence[float]) -> list[Decision | None]:
    return [elastic.handle(report) for report in reports]


def test_a_bottleneck_is_one_that_lasts() -> None:
    elastic = Elastic(ab.Autoscale(reports=3, max=4))
    assert tell(elastic, [0.9], [0.9], [0.6], [0.9], [0.9]) == [None] * 5
    (decision,) = tell(elastic, [0.8])
    assert decision is not None and decision.workers == 2 and decision.wanted is None
    assert "worker 0 was busy 87% of the time" in decision.why


def test_as_many_are_added_as_the_load_is_known_to_need() -> None:
    elastic = Elastic(ab.Autoscale(reports=1, max=8, threshold=0.5))
    (decision,) = tell(elastic, [1.0, 1.0, 0.9, 0.9])
    assert decision is not None and decision.workers == 8


def test_limits_hold() -> None:
    elastic = Elastic(ab.Autoscale(reports=1, min=2, max=2))
    assert tell(elastic, [1.0, 0.9], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]) == [None] * 4


def test_when_idle_there_is_one_fewer_but_not_at_once() -> None:
    elastic = Elastic(ab.Autoscale(reports=2, threshold=0.8))
    found = tell(elastic, *[[0.1, 0.2]] * 4)
    assert found[:3] == [None] * 3
    assert found[3] is not None and found[3].workers == 1


def test_what_one_fewer_could_hardly_do_is_left_to_all() -> None:
    elastic = Elastic(ab.Autoscale(reports=1, threshold=0.8))
    assert tell(elastic, *[[0.3, 0.3]] * 6) == [None] * 6


def test_one_that_lags_loses_work_to_the_others() -> None:
    elastic = Elastic(ab.Autoscale(reports=2, max=2))
    found = tell(elastic, [0.2, 1.0], [0.2, 1.0])[-1]
    assert found is not None and found.workers == 2 and found.wanted is not None
    fast, slow = found.wanted
    assert fast == pytest.approx(5 * slow)
    assert "worker 1 was busy 100% of the time, the others 20%" in found.why


def test_what_was_spread_in_vain_is_not_spread_again_and_there_are_more_workers() -> None:
    elastic = Elastic(ab.Autoscale(reports=1, max=3))
    spread, more = tell(elastic, [0.1, 1.0], [0.1, 1.0])
    assert spread is not None and spread.wanted is not None
    assert more is not None and more.workers == 3 and more.wanted is None


def test_a_hot_worker_is_as_fast_as_the_others() -> None:
    elastic = Elastic(ab.Autoscale(reports=1, max=2))
    decision = elastic.handle([0.25, 1.0], [0.2, 0.8])
    assert decision is not None and decision.wanted is not None
    assert decision.wanted[0] == pytest.approx(decision.wanted[1])


def test_work_that_no_sample_has_seen_is_spread_evenly() -> None:
    elastic = Elastic(ab.Autoscale(reports=1, max=2))
    decision = elastic.handle([1.0, 0.0], [0.0, 1.0])
    assert decision is not None and decision.wanted == (1.0, 1.0)


def test_a_change_makes_older_reports_void() -> None:
    elastic = Elastic(ab.Autoscale(reports=2))
    tell(elastic, [0.9])
    elastic.changed()
    assert tell(elastic, [0.9]) == [None]
    assert tell(elastic, [0.9, 0.9], [0.9, 0.9])[0] is None


@given(
    st.integers(1, 4),
    st.integers(0, 4),
    st.integers(1, 3),
    st.lists(st.lists(st.floats(0, 1), min_size=1, max_size=1).map(lambda x: x[0]), max_size=60),
)
def test_a_load_that_is_spread_evenly_comes_to_rest(least: int, more: int, reports: int, noise: list[float]) -> None:
    """Whatever the load is, as long as it stays: after some changes there are no more."""
    settings = ab.Autoscale(min=least, max=least + more, reports=reports)
    elastic, workers, changes = Elastic(settings), least, 0
    load = noise[0] * (least + more) if noise else 0.5
    for _ in range(40 * reports):
        decision = elastic.handle([min(1.0, load / workers)] * workers)
        if decision is not None:
            assert decision.wanted is None
            assert least <= decision.workers <= least + more
            workers, changes = decision.workers, changes + 1
            elastic.changed()
    assert changes <= more + 1


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"min": 0}, "min is a number, at least 1, got 0"),
        ({"max": True}, "max is a number, at least 1, got True"),
        ({"min": 3, "max": 2}, "min is at most max, got min=3 and max=2"),
        ({"threshold": 1.5}, "threshold is a share of a worker's time, between 0 and 1, got 1.5"),
        ({"every": 0}, "every is a number of seconds, above 0, got 0"),
    ],
)
def test_settings_that_mean_nothing_are_refused(settings: dict[str, float], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        ab.Autoscale(**settings)  # type: ignore[arg-type]
