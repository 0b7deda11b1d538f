"""A name that does not exist, and the one that was probably meant."""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import ParamSpec, TypeVar

from anabranch.lang.scalars import short

P = ParamSpec("P")
R = TypeVar("R")
V = TypeVar("V")
C = TypeVar("C")


def did_you_mean(name: object, known: Iterable[str], text: str = "{}") -> str:
    """The question that a message about an unknown name ends with; empty where no known name is like it.

    `text` shows how the name is written where it belongs.

    >>> did_you_mean("usr", ["user", "item"])
    'did you mean `user`?'
    >>> did_you_mean("ratngs", ["ratings"], "self.{}")
    'did you mean `self.ratings`?'
    >>> did_you_mean("colour", ["user", "item"])
    ''
    """
    if not isinstance(name, str):
        return ""
    others = {each: each for each in known if each != name}
    by_lower = {each.lower(): each for each in others}
    for written, names in ((name, others), (name.lower(), by_lower)):
        found = difflib.get_close_matches(written, names, n=1)
        if found:
            return f"did you mean `{text.format(names[found[0]])}`?"
    return ""


def with_question(message: str, name: object, known: Iterable[str]) -> str:
    """The message, and the question if there is one.

    >>> with_question("there is no state 'ratngs': states are ratings", "ratngs", ["ratings"])
    "there is no state 'ratngs': states are ratings; did you mean `ratings`?"
    """
    question = did_you_mean(name, known)
    return f"{message}; {question}" if question else message


class ByName(dict[str, V]):
    """Things of one kind by name; of a name that none has, the `KeyError` says which there are."""

    def __init__(self, kind: str, things: Mapping[str, V]) -> None:
        super().__init__(things)
        self._kind = kind

    def __missing__(self, name: object) -> V:
        message = f"there is no {self._kind} {short(name)}: there are {', '.join(self) or 'none'}"
        raise KeyError(with_question(message, name, self))


def asks_back(function: Callable[P, R]) -> Callable[P, R]:
    """The same function; a keyword that it does not have is told with the one that was probably meant.

    >>> @asks_back
    ... def start(workers: int = 1) -> None: ...
    >>> start(worker=2)
    Traceback (most recent call last):
    TypeError: start() has no parameter 'worker': did you mean `workers`?
    """
    by_place = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_POSITIONAL)
    parameters = inspect.signature(function).parameters.values()
    known = [p.name for p in parameters if p.kind not in by_place and p.name != "self"]

    @functools.wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        for name in kwargs:
            if name not in known:
                called = function.__qualname__.removesuffix(".__init__")
                do = did_you_mean(name, known) or f"it takes {', '.join(known) or 'none'}"
                raise TypeError(f"{called}() has no parameter {name!r}: {do}")
        return function(*args, **kwargs)

    return checked


def asks_back_when_made(cls: type[C]) -> type[C]:
    """The same class; as `asks_back`, where one is made."""
    setattr(cls, "__init__", asks_back(cls.__init__))  # noqa: B010 - no method may be assigned for mypy
    return cls
