"""What the tests of flat memory share: types with values of theirs, parts with their arena, outcomes of calls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

import anabranch as ab
from anabranch.kernels.native.parts import make_part
from anabranch.kernels.native.shapes import Shape
from anabranch.kernels.native.stores import Arena
from anabranch.lang.annotations import parse
from anabranch.lang.types import FLOAT, INT, NONE, Type
from anabranch.lang.values import same_value


class Point(NamedTuple):
    x: int
    name: str


@dataclass(frozen=True)
class Article:
    price: float
    tags: list[str]
    size: int | None


class Deep(NamedTuple):
    point: Point
    articles: list[Article]
    more: tuple[str | None, tuple[bool, bytes]]


ints = st.integers(-3, 3) | st.sampled_from([2**63 - 1, -(2**63), 2**31, 1 << 62])
floats = st.sampled_from([0.0, -0.0, 1.5, -2.25, float("nan"), float("inf"), float("-inf"), 5e-324, 1e308])
texts = st.sampled_from(["", "a", "b", "é", "😀", "\0", "eightlen", "a longer text that takes more"]) | st.text(
    max_size=9
)
binaries = st.sampled_from([b"", b"a", b"\xff\0", b"12345678"]) | st.binary(max_size=9)
points = st.builds(Point, ints, texts)
articles = st.builds(Article, floats, st.lists(texts, max_size=3), st.none() | ints)

VALUES: dict[Any, st.SearchStrategy[Any]] = {
    int: ints,
    float: floats,
    bool: st.booleans(),
    str: texts,
    bytes: binaries,
    int | None: st.none() | ints,
    str | None: st.none() | texts,
    tuple[int, str, float]: st.tuples(ints, texts, floats),
    tuple[tuple[bool, str | None], bytes]: st.tuples(st.tuples(st.booleans(), st.none() | texts), binaries),
    tuple[()]: st.just(()),
    Point: points,
    Article: articles,
    Article | None: st.none() | articles,
    Deep: st.builds(
        Deep, points, st.lists(articles, max_size=2), st.tuples(st.none() | texts, st.tuples(st.booleans(), binaries))
    ),
    list[int]: st.lists(ints, max_size=5),
    list[float]: st.lists(floats, max_size=5),
    list[bool]: st.lists(st.booleans(), max_size=5),
    list[str]: st.lists(texts, max_size=4),
    list[str | None]: st.lists(st.none() | texts, max_size=4),
    list[Point]: st.lists(points, max_size=3),
    list[Article]: st.lists(articles, max_size=3),
    list[list[int]]: st.lists(st.lists(ints, max_size=3), max_size=3),
    list[list[str]] | None: st.none() | st.lists(st.lists(texts, max_size=3), max_size=3),
    list[tuple[()]]: st.lists(st.just(()), max_size=3),
}
vectors = st.dictionaries(ints, floats, max_size=4).map(ab.Vector)
# What kernels take and give, but no store keeps.
PASSED: dict[Any, st.SearchStrategy[Any]] = {
    ab.Vector: vectors,
    ab.Vector | None: st.none() | vectors,
    tuple[int, ab.Vector]: st.tuples(ints, vectors),
    list[ab.Vector]: st.lists(vectors, max_size=3),
}
KEYS: dict[Any, st.SearchStrategy[Any]] = {
    int: ints,
    str: texts,
    bytes: binaries,
    bool: st.booleans(),
    tuple[int, str]: st.tuples(st.integers(0, 2), texts),
    tuple[str, int, bool]: st.tuples(st.sampled_from(["", "x", "é"]), ints, st.booleans()),
    tuple[bytes, str]: st.tuples(st.sampled_from([b"", b"x"]), texts),
    tuple[tuple[int, bool], tuple[str, bytes]]: st.tuples(
        st.tuples(st.integers(0, 1), st.booleans()), st.tuples(texts, binaries)
    ),
}


def shape_of(cls: type, key: Type = NONE, value: Type = FLOAT, axis: str | None = None, number: int = 0) -> Shape:
    return Shape(f"state{number}", number, cls, key, value, axis, None, "")


def flat(plain: Any, shape: Shape) -> tuple[Any, Arena]:
    """The state in an arena of its own, which logs."""
    arena = Arena({"before": shape, shape.name: shape})
    part = make_part(plain, shape, arena)
    arena.clear()
    arena.logging = True
    return part, arena


def table(key: Any, value: Any, content: dict[Any, Any], default: tuple[Any, ...] = ()) -> ab.Table[Any, Any]:
    plain = ab.Table(content, default=default[0]) if default else ab.Table(content)
    plain._schema(parse(key), parse(value))
    return plain


def flat_table(plain: ab.Table[Any, Any], key: Any, value: Any) -> tuple[Any, Arena]:
    return flat(plain, shape_of(ab.Table, parse(key), parse(value), number=1))


def flat_vector(plain: ab.Vector) -> tuple[Any, Arena]:
    return flat(plain, shape_of(ab.Vector, INT))


def flat_matrix(plain: ab.Matrix, axis: str) -> tuple[Any, Arena]:
    return flat(plain, shape_of(ab.Matrix, INT, FLOAT, axis))


def outcome(call: Callable[[], Any]) -> Any:
    """What a call gives, or its exception."""
    try:
        return call()
    except Exception as error:
        return type(error), error.args


def assert_alike(found: Any, expected: Any) -> None:
    assert same_value(found, expected), f"{found!r} is not {expected!r}"
    assert kind_of(found) == kind_of(expected)


def kind_of(value: Any) -> Any:
    """Types all the way down: a frozen list is no plain one, a numpy float no Python float."""
    if isinstance(value, list | tuple):
        return type(value), [kind_of(x) for x in value]
    if isinstance(value, Article):
        return type(value), kind_of(value.tags)
    return type(value), [(kind_of(k), kind_of(x)) for k, x in value.items()] if isinstance(value, dict) else None


def allocated(store: Any) -> int:
    arrays: list[np.ndarray[Any, Any]] = [store.hdr, store._pages.words, store._slots.words, *store._heap]
    return sum(a.nbytes for a in arrays)
