"""Containers that state and configuration hand out.

Laws: a frozen container equals the plain one with the same content; every method that would change it raises
`FrozenError`; what is built from it (`+`, `|`, a slice, `copy`, a comprehension) is plain and may be changed.

>>> row = FrozenList([1, 2])
>>> row == [1, 2], row + [3], type(row[:1]) is list
(True, [1, 2, 3], True)
>>> row.append(3)
Traceback (most recent call last):
    ...
anabranch.lang.errors.FrozenError: append: this list belongs to state: build a new value and store it
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

from anabranch.lang.errors import OF_CONFIG, OF_STATE, FrozenError

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")


def _refuse(name: str, kind: str) -> Callable[..., NoReturn]:
    def refuse(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
        raise FrozenError(f"{name}: this {kind} {OF_CONFIG if getattr(self, '_config', False) else OF_STATE}")

    refuse.__name__ = name
    return refuse


def _closed(kind: str, *names: str) -> Callable[[type[T]], type[T]]:
    def close(cls: type[T]) -> type[T]:
        for name in names:
            setattr(cls, name, _refuse(name, kind))
        return cls

    return close


@_closed(
    "list", "append", "extend", "insert", "remove", "pop", "clear", "sort", "reverse",
    "__setitem__", "__delitem__",
)  # fmt: skip
class FrozenList(list[T]):
    """`xs += ys` makes a new list, so that `table[k] += [x]` is a read and a store."""

    __slots__ = ()

    def __iadd__(self, other: list[T]) -> list[T]:  # type: ignore[misc, override]
        return list(self) + other

    def __imul__(self, times: int) -> list[T]:  # type: ignore[misc, override]
        return list(self) * times

    def __copy__(self) -> list[T]:
        return list(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> list[T]:
        return [copy.deepcopy(x, memo) for x in self]

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return list, (list(self),)


@_closed(
    "dict", "pop", "popitem", "clear", "update", "setdefault", "__setitem__", "__delitem__",
)  # fmt: skip
class FrozenDict(dict[K, V]):
    __slots__ = ()

    def __ior__(self, other: dict[K, V]) -> dict[K, V]:  # type: ignore[misc, override]
        return dict(self) | other

    def __copy__(self) -> dict[K, V]:
        return dict(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> dict[K, V]:
        return {copy.deepcopy(k, memo): copy.deepcopy(v, memo) for k, v in self.items()}

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return dict, (dict(self),)


@_closed(
    "set", "add", "remove", "discard", "pop", "clear", "update", "intersection_update", "difference_update",
    "symmetric_difference_update",
)  # fmt: skip
class FrozenSet(set[T]):
    __slots__ = ()

    def __iand__(self, other: set[T]) -> set[T]:  # type: ignore[misc, override]
        return set(self) & other

    def __ior__(self, other: set[T]) -> set[T]:  # type: ignore[misc, override]
        return set(self) | other

    def __isub__(self, other: set[T]) -> set[T]:  # type: ignore[misc, override]
        return set(self) - other

    def __ixor__(self, other: set[T]) -> set[T]:  # type: ignore[misc, override]
        return set(self) ^ other

    def __repr__(self) -> str:
        return repr(set(self))

    def copy(self) -> set[T]:
        return set(self)

    def __copy__(self) -> set[T]:
        return set(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> set[T]:
        return {copy.deepcopy(x, memo) for x in self}

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return set, (set(self),)


class ConfigList(FrozenList[T]):
    """A frozen list whose error says that it belongs to the configuration."""

    __slots__ = ()
    _config = True


class ConfigDict(FrozenDict[K, V]):
    __slots__ = ()
    _config = True


class ConfigSet(FrozenSet[T]):
    __slots__ = ()
    _config = True
