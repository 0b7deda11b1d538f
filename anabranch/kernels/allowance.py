"""What code may use that runs on a guess: turns of its loops, and sizes of what it makes.

Code on a state that no plain run has ever had may loop without end, or ask for a value as large as memory. With an
allowance it ends by `Spent` instead. See `anabranch.kernels.limits` for who asks.

Law: code that asks at every turn of a loop and before it makes something large ends.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from types import FrameType
from typing import Any

LARGEST = 1 << 16  # elements of a container, characters of a text, bits of an integer
OURS = "anabranch."


class Spent(BaseException):
    """The allowance is used up. No `Exception`: user code must not take it for one of its own."""


class Allowance:
    """Turns that are left to the code that runs.

    >>> allowance = Allowance()
    >>> allowance.grant(3)
    >>> [x for x in allowance.items("ab")], allowance.left
    (['a', 'b'], 1)
    """

    def __init__(self) -> None:
        self.left = 0

    def grant(self, turns: int) -> None:
        self.left = turns

    def turn(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise Spent

    def items(self, source: Iterable[Any]) -> Iterator[Any]:
        for item in source:
            self.turn()
            yield item

    def traced(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, with every line of foreign code that it reaches as a turn."""

        def line(frame: FrameType, event: str, arg: Any) -> Any:
            if event == "line":
                self.turn()
            return line

        def enter(frame: FrameType, event: str, arg: Any) -> Any:
            ours = str(frame.f_globals.get("__name__")).startswith(OURS)
            return None if ours else line

        def call(*args: Any) -> Any:
            before = sys.gettrace()
            sys.settrace(enter)
            try:
                return function(*args)
            finally:
                sys.settrace(before)

        return call


# -- sizes ------------------------------------------------------------------------------------------------------------


def fitting(size: float) -> None:
    if size > LARGEST:
        raise Spent


def sized(made: Any) -> Any:
    """What an operation has made of operands that fit; it may have made more of them."""
    if isinstance(made, str | bytes | list | tuple | dict | set):
        fitting(len(made))
    return made


def times(a: Any, b: Any) -> Any:
    if type(a) is int and type(b) is int:
        fitting(a.bit_length() + b.bit_length())
    elif isinstance(a, str | bytes | list | tuple) and isinstance(b, int):
        fitting(len(a) * b)
    elif isinstance(b, str | bytes | list | tuple) and isinstance(a, int):
        fitting(len(b) * a)
    return a * b


def power(a: Any, b: Any) -> Any:
    if isinstance(a, int) and isinstance(b, int):
        fitting(a.bit_length() * b)
    return a**b


def shift(a: Any, b: Any) -> Any:
    if isinstance(a, int) and isinstance(b, int) and a:
        fitting(a.bit_length() + b)
    return a << b


def counted(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose work grows with the value of an integer argument."""

    def call(*args: Any, **keywords: Any) -> Any:
        for given in (*args, *keywords.values()):
            if isinstance(given, int):
                fitting(given)
        return sized(function(*args, **keywords))

    return call


def bounded_range(*args: int) -> range:
    made = range(*args)
    try:
        fitting(len(made))
    except OverflowError:
        raise Spent from None
    return made


def replaced(text: Any, *args: Any) -> Any:
    """`text.replace(old, new)`: where each letter becomes a long text."""
    if len(args) > 1 and isinstance(args[1], str | bytes):
        fitting(len(text) * (1 + len(args[1])) / LARGEST)
    return sized(text.replace(*args))


def shown(value: Any, spec: str) -> str:
    """`format(value, spec)` with a width that was computed."""
    fitting(max((int(n) for n in "".join(c if c.isdecimal() else " " for c in spec).split()), default=0))
    return format(value, spec)
