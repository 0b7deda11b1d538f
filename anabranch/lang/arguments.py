"""Arguments of the public calls, other than the values of entries: one check for each kind.

Laws: what a check returns is of exactly the type it promises, so that nothing behind it runs code of the caller;
what it raises is a `TypeError` or a `ValueError` whose text can be printed, whatever was given.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import Any, TypeVar

from anabranch.lang.keys import BUCKETS
from anabranch.lang.scalars import as_int, as_str, short, show

T = TypeVar("T")

NAME = 255
"""The most bytes of the name of a file or a folder, on all systems that are common."""

WORKERS = BUCKETS
"""The most workers of an app: one more would never have a key."""


def as_number(name: str, value: Any, what: str, do: str, *, least: int = 0, most: int | None = None) -> int:
    """A whole number between two limits.

    >>> as_number("spares", 2, "a number of workers", "spares=1")
    2
    >>> as_number("spares", -1, "a number of workers", "spares=1")
    Traceback (most recent call last):
    ValueError: spares is a number of workers, at least 0, got -1: write spares=1
    """
    wanted = f"{name} is {what}{'' if most is None else f' up to {most}'}, at least {least}"
    try:
        number = as_int(value)
    except (TypeError, ValueError, OverflowError):
        number = least - 1
    if number < least or (most is not None and number > most):
        raise ValueError(f"{wanted}, got {short(value)}: write {do}")
    return number


def as_workers(value: Any, do: str) -> int:
    return as_number("workers", value, "a number of workers", do, least=1, most=WORKERS)


def as_seconds(name: str, value: Any, do: str) -> float:
    """A time that passes: above 0, and not for ever."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise TypeError(f"{name} is a number of seconds, above 0, got {show(value)}: write {do}")
    try:
        seconds = float(value)
    except OverflowError:
        seconds = math.inf
    if not 0 < seconds < math.inf:
        raise ValueError(f"{name} is a number of seconds, above 0, got {short(value)}: write {do}")
    return seconds


def as_choice(name: str, value: Any, known: Sequence[str]) -> str:
    """One of the texts that are known."""
    if isinstance(value, str):
        text = str.__str__(value)
        if text in known:
            return text
    raise ValueError(f"{name} is one of {', '.join(map(repr, known))}, got {short(value)}")


def as_flag(name: str, value: Any) -> bool:
    if value is True or value is False:
        return value
    raise TypeError(f"{name} is True or False, got {show(value)}")


def as_instance(name: str, value: Any, cls: type[T], do: str) -> T:
    """An object of a class of ours. `type` does not ask the object, `isinstance` does."""
    if not issubclass(type(value), cls):
        raise TypeError(f"{name} is {do.partition('=')[2].partition('(')[0]}, got {show(value)}: write {do}")
    found: T = value
    return found


def as_text(name: str, value: Any, what: str, do: str) -> str:
    """A text that is not empty and that UTF-8 can write."""
    try:
        text = as_str(value)
    except TypeError:
        raise TypeError(f"{name} is {what}, got {show(value)}: write {do}") from None
    except ValueError:
        raise ValueError(f"{name} is {what}, got {short(value)}: it has a lone surrogate; write {do}") from None
    if not text:
        raise ValueError(f"{name} is {what}, got '': write {do}")
    return text


def as_place(name: str, value: Any, do: str) -> str:
    """A path or a URL that a file system can be asked for."""
    try:
        place = os.fspath(value)
    except TypeError:
        raise TypeError(f"{name} is a path, a URL or a list of paths, got {show(value)}: write {do}") from None
    if not isinstance(place, str):
        raise TypeError(f"{name} is a path, a URL or a list of paths, got {show(place)}: write {do}")
    text = str.__str__(place)
    if not text:
        raise ValueError(f"{name} is a path, a URL or a list of paths, got '': write {do}")
    try:
        longest = max(map(len, os.fsencode(text).split(b"/")))
    except UnicodeEncodeError:
        raise ValueError(f"{name} is a path or a URL, got {short(text)}: it has a lone surrogate; write {do}") from None
    if "\0" in text:
        raise ValueError(f"{name} is a path or a URL, got {short(text)}: it has a NUL character; write {do}")
    if longest > NAME:
        raise ValueError(
            f"{name} is a path or a URL, got {short(text)}: a name in it has over {NAME} bytes; write {do}"
        )
    return text


def as_places(name: str, value: Any, do: str) -> str | tuple[str, ...]:
    """A place, or several over which files are spread."""
    if not isinstance(value, list | tuple):
        return as_place(name, value, do)
    places = tuple([as_place(name, place, do) for place in value])
    if not places:
        raise ValueError(f"{name} is a path, a URL or a list of paths, got an empty list: write {do}")
    return places
