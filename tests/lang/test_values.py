"""The coercion table: what each type takes, what it refuses and how it says so."""

import datetime as dt
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anabranch as ab
from anabranch.lang import types
from anabranch.lang.annotations import parse
from anabranch.lang.types import UnsupportedType
from anabranch.lang.values import coerce, freeze, same_value, type_of


class Point(NamedTuple):
    x: int
    y: float


@dataclass(frozen=True, slots=True)
class Doc:
    title: str
    words: list[str]


BERLIN = dt.timezone(dt.timedelta(hours=2))
NOON = dt.datetime(2026, 1, 1, 12)

TAKEN: list[tuple[Any, Any, Any]] = [
    (int, 3, 3),
    (int, np.int32(3), 3),
    (int, np.uint8(3), 3),
    (int, 2**63 - 1, 2**63 - 1),
    (int, -(2**63), -(2**63)),
    (float, 1.5, 1.5),
    (float, 2, 2.0),
    (float, 2**53, 2.0**53),
    (float, np.float32(0.5), 0.5),
    (float, np.int64(2), 2.0),
    (float, math.inf, math.inf),
    (bool, True, True),
    (bool, np.True_, True),
    (str, "ä", "ä"),
    (str, np.str_("a"), "a"),
    (bytes, b"a", b"a"),
    (dt.date, dt.date(2026, 1, 1), dt.date(2026, 1, 1)),
    (dt.date, np.datetime64("2026-01-01"), dt.date(2026, 1, 1)),
    (dt.datetime, NOON, NOON),
    (dt.datetime, np.datetime64("2026-01-01T12:00"), NOON),
    (ab.UTCDateTime, NOON.replace(tzinfo=dt.UTC), NOON.replace(tzinfo=dt.UTC)),
    (ab.UTCDateTime, NOON.replace(tzinfo=BERLIN), dt.datetime(2026, 1, 1, 10, tzinfo=dt.UTC)),
    (dt.timedelta, dt.timedelta(1), dt.timedelta(1)),
    (dt.timedelta, np.timedelta64(1, "D"), dt.timedelta(1)),
    (None, None, None),
    (int | None, None, None),
    (int | None, 3, 3),
    (tuple[int, float], (1, 2), (1, 2.0)),
    (Point, Point(1, 2), Point(1, 2.0)),
    (Doc, Doc("a", ["b"]), Doc("a", ["b"])),
    (list[float], [1, 2.0], [1.0, 2.0]),
    (set[int], {1, 2}, {1, 2}),
    (set[int], frozenset({1}), {1}),
    (dict[str, list[int]], {"a": [1]}, {"a": [1]}),
    (ab.Vector, ab.Vector({1: 2.0}), ab.Vector({1: 2.0})),
    (ab.DenseVector, ab.DenseVector([1.0]), ab.DenseVector([1.0])),
]

REFUSED: list[tuple[Any, Any, type[Exception], str]] = [
    (int, True, TypeError, "expected int, got True (bool)"),
    (int, "x", TypeError, "expected int, got 'x' (str)"),
    (int, 1.0, TypeError, "expected int, got 1.0 (float)"),
    (int, None, TypeError, "expected int, got None"),
    (int, 2**63, OverflowError, "expected int, got 9223372036854775808 (int): it does not fit 64 bits"),
    (int, np.uint64(2**63), OverflowError, "does not fit 64 bits"),
    (float, True, TypeError, "expected float, got True (bool)"),
    (float, "1", TypeError, "expected float, got '1' (str)"),
    (float, 2**53 + 1, ValueError, "write float(x) to round it"),
    (float, 10**400, OverflowError, "it is too large"),
    (bool, 1, TypeError, "expected bool, got 1 (int)"),
    (str, b"a", TypeError, "expected str, got b'a' (bytes)"),
    (str, "\ud800", ValueError, "lone surrogate"),
    (bytes, "a", TypeError, "expected bytes"),
    (dt.date, NOON, TypeError, "a datetime is no date"),
    (dt.datetime, dt.date(2026, 1, 1), TypeError, "expected datetime"),
    (dt.datetime, NOON.replace(tzinfo=dt.UTC), TypeError, "declare ab.UTCDateTime"),
    (ab.UTCDateTime, NOON, TypeError, "it has no time zone"),
    (dt.datetime, np.datetime64("NaT", "us"), ValueError, "not exactly one"),
    (dt.datetime, np.datetime64(1, "ns"), ValueError, "not exactly one"),
    (dt.timedelta, dt.timedelta.max, OverflowError, "64 bits of microseconds"),
    (None, 0, TypeError, "expected None, got 0 (int)"),
    (tuple[int, int], (1, 2, 3), TypeError, "expected tuple[int, int]"),
    (tuple[int, int], [1, 2], TypeError, "expected tuple[int, int]"),
    (tuple[int, int], (1, "a"), TypeError, "[1]: expected int, got 'a' (str)"),
    (Point, (1, 2.0), TypeError, "expected Point"),
    (Point, Point(1, "a"), TypeError, ".y: expected float"),  # type: ignore[arg-type]
    (list[int], (1,), TypeError, "expected list[int]"),
    (dict[str, list[int]], {"a": [1, "b"]}, TypeError, "['a'][1]: expected int, got 'b' (str)"),
    (set[int], {"a"}, TypeError, "expected int, got 'a' (str)"),
    (ab.Vector, {1: 2.0}, TypeError, "expected Vector"),
]


@pytest.mark.parametrize(("annotation", "value", "expected"), TAKEN)
@pytest.mark.parametrize("frozen", [False, True])
def test_taken(annotation: Any, value: Any, expected: Any, frozen: bool) -> None:
    t = parse(annotation)
    got = coerce(t, value, freeze=frozen)
    assert same_value(got, expected)
    assert same_value(coerce(t, got, freeze=frozen), got)


@pytest.mark.parametrize(("annotation", "value", "error", "text"), REFUSED)
def test_refused(annotation: Any, value: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error) as caught:
        coerce(parse(annotation), value)
    assert type(caught.value) is error
    assert text in str(caught.value)


def test_nan_is_a_float() -> None:
    assert math.isnan(coerce(types.FLOAT, math.nan))


def test_subclasses_become_the_plain_class() -> None:
    class Name(str):
        def __str__(self) -> str:
            return "other"

    got = coerce(types.STR, Name("a"))
    assert type(got) is str and got == "a"
    assert type(coerce(types.INT, np.int64(3))) is int
    assert type(coerce(types.FLOAT, np.float64(3))) is float


def test_a_copy_shares_nothing() -> None:
    inner = [1]
    got = coerce(parse(dict[str, list[int]]), {"a": inner})
    inner.append(2)
    assert got == {"a": [1]}
    got["a"].append(3)
    assert inner == [1, 2]


def test_frozen_all_the_way_down() -> None:
    doc = coerce(parse(Doc), Doc("t", ["a"]), freeze=True)
    with pytest.raises(ab.FrozenError, match="belongs to state: build a new value and store it"):
        doc.words.append("b")
    nested = freeze({"a": [{1}], "v": ab.Vector({1: 1.0})})
    changes: list[Callable[[], Any]] = [
        lambda: nested["a"].append(1),
        lambda: nested["a"][0].add(2),
        lambda: nested.update(b=1),
        lambda: nested["v"].__setitem__(1, 2.0),
    ]
    for change in changes:
        with pytest.raises(ab.FrozenError):
            change()


def test_an_unchanged_record_is_itself() -> None:
    point = Point(1, 2.0)
    assert coerce(parse(Point), point) is point


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3, "int"),
        (True, "bool"),
        (np.float32(1), "float"),
        ([], "list[Never]"),
        ([[], [1]], "list[list[int]]"),
        ({"a": (1, "b")}, "dict[str, tuple[int, str]]"),
        ({1, 2}, "set[int]"),
        (Point(1, 2.0), "Point"),
        (NOON.replace(tzinfo=dt.UTC), "UTCDateTime"),
        (ab.Vector(), "Vector"),
        ([None, 1], "list[int | None]"),
    ],
)
def test_type_of(value: Any, text: str) -> None:
    assert str(type_of(value)) == text


@pytest.mark.parametrize("value", [object(), [1, "a"], [1, 2.5], len, {1: object()}])
def test_type_of_refuses(value: Any) -> None:
    with pytest.raises(UnsupportedType):
        type_of(value)


@given(st.integers())
def test_float_is_exact_or_refused(n: int) -> None:
    try:
        assert int(coerce(types.FLOAT, n)) == n
    except (ValueError, OverflowError):
        assert abs(n) > 2**53


VALUES = st.recursive(
    st.integers(-(2**63), 2**63 - 1)
    | st.floats()
    | st.booleans()
    | st.text(st.characters(codec="utf-8"))
    | st.binary(),
    lambda inner: (
        st.lists(inner, max_size=1) | st.tuples(inner, inner) | st.dictionaries(st.integers(0, 9), inner, max_size=1)
    ),
    max_leaves=6,
)


@given(VALUES)
def test_a_value_fits_its_own_type(value: Any) -> None:
    t = type_of(value)
    assert same_value(coerce(t, value), value)
    assert same_value(coerce(t, value, freeze=True), value)
    assert same_value(freeze(value), value)
