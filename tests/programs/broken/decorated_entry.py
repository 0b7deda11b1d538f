"""Decorators on an entry and on a helper."""

from collections.abc import Callable
from typing import TypeVar

import anabranch as ab

F = TypeVar("F", bound=Callable[..., object])


def public(method: F) -> F:
    method.public = True
    return method


class Store(ab.Program):
    data: ab.Partitioned[ab.Table[str, int]]

    @public  #! AB104
    def put(self, key: str, value: int) -> None:
        self.data[key] = self._twice(value)

    def get(self, key: str) -> int | None:
        return self.data.get(key)

    @public  #! AB104
    def _twice(self, x: int) -> int:
        return 2 * x
