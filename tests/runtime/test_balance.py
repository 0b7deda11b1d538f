"""Laws of `balanced`."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from anabranch.lang.keys import BUCKETS
from anabranch.runtime.balance import balanced
from anabranch.runtime.routing import spread_evenly

workers = st.integers(1, 9)
buckets = st.integers(1, 60)


@st.composite
def spreads(draw: st.DrawFn) -> tuple[list[int], list[float], list[float]]:
    count, before, after = draw(buckets), draw(workers), draw(workers)
    now = [draw(st.integers(0, before - 1)) for _ in range(count)]
    wanted = [draw(st.floats(0.1, 10)) for _ in range(after)]
    return now, wanted, [draw(st.floats(0.0, 5.0)) + 0.01 for _ in range(count)]


def loads(placed: tuple[int, ...], weights: list[float], instances: int) -> list[float]:
    return [sum(w for w, i in zip(weights, placed, strict=True) if i == at) for at in range(instances)]


@given(workers, workers)
def test_of_equal_buckets_nobody_has_one_too_much(before: int, after: int) -> None:
    placed = balanced(spread_evenly(before).instance_of_bucket, [1.0] * after)
    assert max(loads(placed, [1.0] * BUCKETS, after)) < BUCKETS / after + 1


@given(workers, workers)
def test_no_more_buckets_move_than_must(before: int, after: int) -> None:
    now = spread_evenly(before).instance_of_bucket
    moved = sum(a != b for a, b in zip(now, balanced(now, [1.0] * after), strict=True))
    had = [now.count(i) if i < before else 0 for i in range(after)]
    missing = sum(max(0.0, BUCKETS / after - n) for n in had)
    assert moved <= missing + after


@given(spreads())
def test_what_has_too_little_loses_nothing(spread: tuple[list[int], list[float], list[float]]) -> None:
    now, wanted, weights = spread
    placed = balanced(now, wanted, weights)
    assert len(placed) == len(now) and set(placed) <= set(range(len(wanted)))
    target = [share * sum(weights) / sum(wanted) for share in wanted]
    before = [sum(w for w, i in zip(weights, now, strict=True) if i == at) for at in range(len(wanted))]
    for b, (was, i) in enumerate(zip(now, placed, strict=True)):
        if was != i and was < len(wanted):
            assert before[was] > target[was] - 1e-6, (b, was)


@given(spreads())
def test_nobody_ends_further_above_than_he_was_or_by_one_bucket(
    spread: tuple[list[int], list[float], list[float]],
) -> None:
    now, wanted, weights = spread
    target = [share * sum(weights) / sum(wanted) for share in wanted]
    before = [sum(w for w, i in zip(weights, now, strict=True) if i == at) for at in range(len(wanted))]
    after = loads(balanced(now, wanted, weights), weights, len(wanted))
    for at, (was, is_now) in enumerate(zip(before, after, strict=True)):
        assert is_now <= max(was, target[at] + max(weights)) + 1e-6


def test_a_hot_bucket_is_left_alone_with_as_little_as_possible() -> None:
    weights = [0.4] + [0.6 / 1023] * 1023
    placed = balanced(spread_evenly(2).instance_of_bucket, [1.0, 1.0], weights)
    one, other = loads(placed, weights, 2)
    assert abs(one - other) < 0.01


def test_a_worker_that_is_crowded_gets_no_more() -> None:
    holds = [100.0] * 4 + [1.0] * 4
    now = [0, 0, 0, 0, 1, 1, 1, 1]
    weights = [10.0, 10.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    placed = balanced(now, [1.0, 1.0, 1.0], weights, holds)
    held = [sum(h for h, i in zip(holds, placed, strict=True) if i == at) for at in range(3)]
    assert max(held) <= 2 * sum(holds) / 3
