"""Values that no honest caller passes: wrong, huge, or with methods that raise, lie or never agree with themselves."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np


class Nasty(Exception):
    """What the methods of these values raise: it is the caller's own, and may come back as it is."""


def _raise(*args: Any, **named: Any) -> Any:
    raise Nasty("from the caller's own code")


def _sub(base: type, *methods: str, **more: Any) -> type:
    return type(f"Nasty{base.__name__.title()}", (base,), {**dict.fromkeys(methods, _raise), **more})


_SPEAKS = ("__str__", "__repr__", "__format__")
NastyStr = _sub(str, *_SPEAKS, "__len__", "__iter__", "encode", "isascii", "__contains__")
LyingStr = _sub(str, __eq__=lambda self, other: True, __hash__=lambda self: 0, __len__=lambda self: 10**9)
UnhashableStr = _sub(str, "__hash__", "__eq__")
NastyInt = _sub(int, "__int__", "__index__", "__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__hash__", *_SPEAKS)
LyingInt = _sub(int, __int__=lambda self: 10**30, __index__=lambda self: -5, __eq__=lambda self, other: True)
NastyFloat = _sub(float, "__float__", "__eq__", "__ne__", "__hash__", *_SPEAKS)
NastyBytes = _sub(bytes, "__bytes__", "__len__", "__hash__", "__iter__")
NastyList = _sub(list, "__iter__", "__len__", "__getitem__", *_SPEAKS)
LyingList = _sub(list, __len__=lambda self: 10**9)
NastyDict = _sub(dict, "items", "keys", "__iter__", "__len__", "__getitem__", "__contains__", *_SPEAKS)
NastyTuple = _sub(tuple, "__iter__", "__len__", "__getitem__")
NastySet = _sub(set, "__iter__", "__len__", "__contains__")


class Mute:
    """Every question about it raises, also whether it has an attribute."""

    __hash__ = __eq__ = __str__ = __repr__ = __len__ = __iter__ = __bool__ = _raise  # type: ignore[assignment]
    __index__ = __float__ = __getattr__ = __fspath__ = _raise


class Pretender:
    """Says that it is a text."""

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return str


class Faceless:
    @property  # type: ignore[misc]
    def __class__(self) -> type:
        raise Nasty("no class")


class Exits:
    """Ends the process, if it is asked anything by code that catches only `Exception`."""

    def _exit(self, *args: Any) -> Any:
        raise SystemExit("from the caller's own code")

    __hash__ = __eq__ = __repr__ = __iter__ = __len__ = __index__ = _exit  # type: ignore[assignment]


class BadStream:
    """Arrow data that is none."""

    def __arrow_c_stream__(self, schema: Any = None) -> Any:
        raise Nasty("no stream")


class FalseStream:
    def __arrow_c_stream__(self, schema: Any = None) -> Any:
        return "no capsule"


class Grows(dict[Any, Any]):
    """Changes its size while it is read."""

    def items(self) -> Any:
        for i, item in enumerate(list(super().items())):
            self[f"more{i}"] = i
            yield item

    def __iter__(self) -> Iterator[Any]:
        for i, key in enumerate(list(super().__iter__())):
            self[f"other{i}"] = i
            yield key


def _half_way() -> Iterator[Any]:
    yield "a"
    raise Nasty("half-way")


def _itself() -> list[Any]:
    found: list[Any] = []
    found.append(found)
    return found


def _deep() -> list[Any]:
    found: list[Any] = []
    for _ in range(sys.getrecursionlimit() * 5):
        found = [found]
    return found


def _array_of(value: object) -> Any:
    """numpy asks what it is given in a list whether that is a list too."""
    found = np.empty(1, dtype=object)
    found[0] = value
    return found


HOSTILE: dict[str, Callable[[], Any]] = {
    "a lone surrogate": lambda: "a\ud800b",
    "a NUL": lambda: "a\0b",
    "an empty text": lambda: "",
    "a long text": lambda: "x" * 100_000,
    "a huge int": lambda: 10**5000,
    "a large int": lambda: 1 << 63,
    "a negative int": lambda: -1,
    "a bool": lambda: True,
    "nan": lambda: float("nan"),
    "inf": lambda: float("inf"),
    "a float": lambda: 0.5,
    "none": lambda: None,
    "bytes": lambda: b"\xff\0",
    "complex": lambda: 1j,
    "ellipsis": lambda: ...,
    "an object": object,
    "a class": lambda: int,
    "a function": lambda: _raise,
    "numpy nan": lambda: np.float64("nan"),
    "numpy int": lambda: np.uint64(2**64 - 1),
    "numpy time": lambda: np.datetime64("NaT"),
    "an array": lambda: np.array([[1.0]]),
    "an array of objects": lambda: _array_of(Mute()),
    "an empty list": list,
    "a list": lambda: ["a", 1],
    "an empty dict": dict,
    "a set": lambda: {1, "a"},
    "an empty tuple": tuple,
    "a long tuple": lambda: tuple(range(50)),
    "a range": lambda: range(10**12),
    "itself": _itself,
    "deep": _deep,
    "nasty str": lambda: NastyStr("a"),
    "lying str": lambda: LyingStr("a"),
    "unhashable str": lambda: UnhashableStr("a"),
    "nasty int": lambda: NastyInt(1),
    "lying int": lambda: LyingInt(1),
    "nasty float": lambda: NastyFloat(1.0),
    "nasty bytes": lambda: NastyBytes(b"a"),
    "nasty list": lambda: NastyList(["a"]),
    "lying list": lambda: LyingList(["a"]),
    "nasty dict": lambda: NastyDict({"k": ["a"], "n": [1]}),
    "nasty tuple": lambda: NastyTuple(("a", 1)),
    "nasty set": lambda: NastySet({1}),
    "mute": Mute,
    "pretender": Pretender,
    "faceless": Faceless,
    "exits": Exits,
    "bad stream": BadStream,
    "false stream": FalseStream,
    "grows": lambda: Grows(k=["a"], n=[1]),
    "half-way": _half_way,
}
