"""`reads` and `writes` for users' own state types, and what can be done with any state, built-in or own.

An own state type is a plain class whose methods are marked; the first argument is the key when it is partitioned.

Laws: what a marked method returns is frozen; a write made while a journal is active is undone by its rollback;
`same_state(copy_state(s), s)`, and neither shows the other's later writes.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from anabranch.lang.access import MARK, refuse_frozen
from anabranch.lang.journal import Journal
from anabranch.lang.types import Type
from anabranch.lang.values import freeze, same_value

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")

_OURS = ("_journal", "_frozen")


def reads(method: Callable[P, R]) -> Callable[P, R]:
    """Mark a method of a state type of your own that only reads; its result is frozen. On partitioned state its first
    argument is the key.
    """

    @functools.wraps(method)
    def read(*args: P.args, **kwargs: P.kwargs) -> R:
        return freeze(method(*args, **kwargs))  # type: ignore[no-any-return]

    setattr(read, MARK, "reads")
    return read


def writes(method: Callable[P, R]) -> Callable[P, R]:
    """Mark a method of a state type of your own that writes; what it did can be undone, and its result is frozen. On
    partitioned state its first argument is the key.
    """

    @functools.wraps(method)
    def write(*args: P.args, **kwargs: P.kwargs) -> R:
        _before_write(args[0])
        return freeze(method(*args, **kwargs))  # type: ignore[no-any-return]

    setattr(write, MARK, "writes")
    return write


def _before_write(state: Any) -> None:
    if getattr(state, "_frozen", False):
        refuse_frozen(state)
    journal: Journal | None = getattr(state, "_journal", None)
    if journal is not None and journal.active and journal.save_once(state):
        journal.record(_restore, state, _content(state))


def _content(state: Any) -> dict[str, Any]:
    return copy.deepcopy({name: x for name, x in vars(state).items() if name not in _OURS})


def _restore(state: Any, content: dict[str, Any]) -> None:
    ours = {name: x for name, x in vars(state).items() if name in _OURS}
    vars(state).clear()
    vars(state).update(content | ours)


def is_builtin(state: Any) -> bool:
    """Is this one of our state types, or an instance of one?"""
    return getattr(state, "__anabranch_state__", False) is True


def is_state_type(cls: Any) -> bool:
    """Can a field be declared `Partitioned[cls]`, `Partial[cls]` or `Replicated[cls]`?"""
    if not isinstance(cls, type):
        return False
    return is_builtin(cls) or any(hasattr(x, MARK) for base in cls.__mro__ for x in vars(base).values())


def bind(state: Any, journal: Journal | None) -> None:
    """Let `journal` undo the writes of `state` from here on."""
    object.__setattr__(state, "_journal", journal)


def copy_state(state: S) -> S:
    """An independent copy that may be written, bound to no journal."""
    if is_builtin(state):
        return state._copy()  # type: ignore[attr-defined,no-any-return]
    new: Any = object.__new__(type(state))
    vars(new).update(_content(state))
    return new  # type: ignore[no-any-return]


def freeze_state(state: S) -> S:
    """Make `state` itself read-only."""
    object.__setattr__(state, "_frozen", True)
    return state


def type_state(state: Any, key: Type | None, value: Type | None) -> None:
    """Tell a state its schema; what it holds and what is stored later is coerced to it. Own types keep their own."""
    if is_builtin(state):
        state._schema(key, value)


def same_state(a: Any, b: Any) -> bool:
    """Do both hold the same content, bit by bit? Any NaN is the same as any other."""
    if type(a) is not type(b):
        return False
    if not is_builtin(a):
        return same_value(_content(a), _content(b))
    mine, theirs = dict(a._cells()), dict(b._cells())
    return getattr(a, "shape", None) == getattr(b, "shape", None) and same_value(mine, theirs)
