"""Copies share nothing that can be changed; there is one UNSET."""

from __future__ import annotations

import copy
import pickle
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest

import anabranch as ab
from anabranch.kernels import UNSET
from anabranch.kernels.values import copier
from anabranch.lang.annotations import parse
from anabranch.lang.values import coerce, same_value


@dataclass(frozen=True)
class Box:
    name: str
    items: list[int]


class Row(NamedTuple):
    name: str
    items: list[int]


class Point(NamedTuple):
    x: int
    y: int


CHANGEABLE: list[tuple[Any, Any]] = [
    (list[int], [1, 2]),
    (list[list[int]], [[1], []]),
    (dict[str, int], {"a": 1}),
    (dict[str, list[int]], {"a": [1]}),
    (set[int], {1, 2}),
    (list[int] | None, [1]),
    (tuple[int, list[int]], (1, [2])),
    (ab.Vector, ab.Vector({1: 2.0})),
    (ab.DenseVector, ab.DenseVector([1.0])),
    (Box, Box("b", [1])),
    (Row, Row("r", [1])),
    (list[tuple[int, set[int]]], [(1, {2})]),
]


def changeable(value: Any) -> set[int]:
    """The ids of all that can be changed in it."""
    found: set[int] = set()
    if isinstance(value, list | dict | set | ab.Vector | ab.DenseVector):
        found.add(id(value))
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    if isinstance(value, Box):
        inner = [value.items]
    for each in inner:
        found |= changeable(each)
    return found


@pytest.mark.parametrize(("kind", "value"), CHANGEABLE, ids=lambda x: str(x)[:40])
def test_a_copy_is_equal_and_shares_nothing(kind: Any, value: Any) -> None:
    copied = copier(parse(kind))
    assert copied is not None
    new = copied(value)
    assert type(new) is type(value) and same_value(new, value)
    assert changeable(value) and not changeable(new) & changeable(value)


@pytest.mark.parametrize(("kind", "value"), CHANGEABLE, ids=lambda x: str(x)[:40])
def test_what_state_handed_out_is_passed_on(kind: Any, value: Any) -> None:
    frozen = coerce(parse(kind), value, freeze=True)
    copied = copier(parse(kind))
    assert copied is not None
    new = copied(frozen)
    assert same_value(new, frozen)
    assert new is frozen or isinstance(frozen, tuple | Box)


def test_none_stays_none() -> None:
    copied = copier(parse(list[int] | None))
    assert copied is not None and copied(None) is None


@pytest.mark.parametrize("kind", [int, str, float | None, tuple[int, str], Point, list[int] | None, bytes], ids=str)
def test_only_what_can_change_is_copied(kind: Any) -> None:
    assert (copier(parse(kind)) is None) == ("list" not in str(kind))


def test_there_is_one_unset() -> None:
    assert pickle.loads(pickle.dumps([UNSET]))[0] is UNSET
    assert copy.deepcopy(UNSET) is UNSET and copy.copy(UNSET) is UNSET
    assert repr(UNSET) == "UNSET"
