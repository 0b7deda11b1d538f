"""Marks on the methods of state types: which read, which write. The translator sees state through these alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from anabranch.lang.errors import OF_STATE, FrozenError

F = TypeVar("F", bound=Callable[..., Any])

MARK = "__anabranch_mark__"


def reading(function: F) -> F:
    """Mark a method of a built-in state type, which freezes and journals by itself."""
    setattr(function, MARK, "reads")
    return function


def writing(function: F) -> F:
    setattr(function, MARK, "writes")
    return function


def refuse_frozen(state: Any) -> None:
    """Raise if `state` was handed out by another state."""
    if state._frozen:
        raise FrozenError(f"this {type(state).__name__} {OF_STATE}")
