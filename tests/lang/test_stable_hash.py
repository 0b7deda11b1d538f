"""`stable_hash`: values that never change, laws, and what it refuses."""

from __future__ import annotations

import subprocess
import sys
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

import anabranch as ab

# Users keep these numbers: a change here is a change of their data.
GOLDEN: list[tuple[Any, int]] = [
    (0, 8147104208329303767),
    (1, 5225608189600411232),
    (-1, 8245168133484221968),
    (9223372036854775807, 1527823816519176019),
    (-9223372036854775808, 2598401411181246957),
    ("", 8904357597563518767),
    ("a", 3789767818850563182),
    ("word", 975694157487399214),
    ("héllo wörld", 7760654871774197439),
    ("😀", 7243478528853984969),
    ("a\0", 5142365717394323743),
    ("eightlen", 1467006323045061124),
    ("a longer text than that", 5356182579664006703),
    (b"", 5410042652256255721),
    (b"a", 384318278593996330),
    (b"\0" * 9, 8460463678939637708),
    ((), 5781230705339970071),
    (("a",), 3897755257232241282),
    (("a", "b"), 5924755444578937177),
    (("ab",), 3231706268771662358),
    ((("a",), "b"), 7535070424560878532),
    (("a", ("b",)), 304424481199537754),
    ((1, True, b"x", ("y", (-5,))), 7081115871698626312),
]
MASK = 2**64 - 1
scalars = st.integers(-(2**63), 2**63 - 1) | st.text() | st.binary() | st.booleans()
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=4).map(tuple), max_leaves=8)


class Point(NamedTuple):
    x: int
    name: str


def mix(x: int) -> int:
    x = (x + 0x9E3779B97F4A7C15) & MASK
    x = ((x ^ x >> 30) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ x >> 27) * 0x94D049BB133111EB) & MASK
    return x ^ x >> 31


def words(data: bytes) -> int:
    h = len(data)
    padded = data + b"\0" * (-len(data) % 8)
    for at in range(0, len(padded), 8):
        h = ((h ^ int.from_bytes(padded[at : at + 8], "little")) * 0x9FB21C651E98DF25) & MASK
        h ^= h >> 32
    return h


def bits(value: Any) -> int:
    """What the docstring says, written once more."""
    if isinstance(value, int):
        return mix(value & MASK)
    if isinstance(value, str):
        return mix(words(value.encode()) ^ 0x9AE16A3B2F90404F)
    if isinstance(value, bytes):
        return mix(words(value) ^ 0xC949D7C7509E6557)
    h = 0xA0761D6478BD642F ^ len(value)
    for item in value:
        h = mix((31 * h + bits(item)) & MASK)
    return h


@pytest.mark.parametrize(("value", "expected"), GOLDEN, ids=repr)
def test_values_never_change(value: Any, expected: int) -> None:
    assert ab.stable_hash(value) == expected


def test_no_two_of_them_meet() -> None:
    assert len({ab.stable_hash(value) for value, _ in GOLDEN}) == len(GOLDEN)


@given(values)
def test_it_is_what_its_docstring_says(value: Any) -> None:
    assert ab.stable_hash(value) == bits(value) >> 1
    assert 0 <= ab.stable_hash(value) < 2**63


def test_equal_values_have_one_hash() -> None:
    assert ab.stable_hash(True) == ab.stable_hash(1)
    assert ab.stable_hash((False, "a")) == ab.stable_hash((0, "a"))
    assert ab.stable_hash(Point(1, "a")) == ab.stable_hash((1, "a"))


def test_it_does_not_depend_on_the_process() -> None:
    text = "import anabranch as ab; print(ab.stable_hash(('user', 'é')))"
    told = {
        subprocess.run(
            [sys.executable, "-c", text], env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)}, text=True,
            capture_output=True, check=True,
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert told == {f"{ab.stable_hash(('user', 'é'))}\n"}


@pytest.mark.parametrize("value", [1.0, None, [1], {"a": 1}, ("a", 1.5), 1j], ids=repr)
def test_what_it_refuses(value: Any) -> None:
    with pytest.raises(TypeError, match=r"stable_hash takes str, bytes, int, bool and tuples of these, got "):
        ab.stable_hash(value)


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1, (2**64,)])
def test_an_int_that_is_too_large(value: Any) -> None:
    with pytest.raises(OverflowError, match=r"stable_hash takes an int of 64 bits, got .*: hash its text"):
        ab.stable_hash(value)
