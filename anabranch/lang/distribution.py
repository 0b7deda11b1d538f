"""How a state is spread over workers, and the four words for it inside entries.

In a plain run there is one instance of everything: `everywhere` and `local` are the identity, `gather(v)` is `[v]`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from enum import Enum
from typing import Annotated, Any, TypeVar

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


class Distribution(Enum):
    PARTITIONED = "Partitioned"
    PARTIAL = "Partial"
    REPLICATED = "Replicated"

    def __str__(self) -> str:
        return self.value


Partitioned = Annotated[T, Distribution.PARTITIONED]
"""State that is spread by key: `stock: ab.Partitioned[ab.Table[str, int]]`. Each key has one owner, and equal keys of
two states live together.
"""

Partial = Annotated[T, Distribution.PARTIAL]
"""State of which every worker has an instance of its own: `sold: ab.Partial[ab.Vector]`. It is read and written where
the row is; `ab.everywhere` reaches all instances, and a merge says what they mean together.
"""

Replicated = Annotated[T, Distribution.REPLICATED]
"""State that is the same on every worker: `prices: ab.Replicated[ab.Table[str, int]]`. It is read where the row is, and
written with `ab.everywhere`.
"""


def everywhere(x: T) -> T:
    """Evaluate an expression over state on every instance; the result has one value for each, for `ab.gather`.

    `sum(ab.gather(ab.everywhere(self.counts)[page]))` adds up what every worker has counted;
    `ab.everywhere(self.prices)[item] = cents` writes on every worker. In a plain run there is one instance, and it
    gives its argument.
    """
    return x


def gather(value: T) -> list[T]:
    """The values that `ab.everywhere` has given on all instances as a list, by the number of the instance. In a plain
    run it is a list of one.

    >>> gather(everywhere(7))
    [7]
    """
    return [value]


def local(x: T) -> T:
    """Say that a value read from the instance at hand of a partial state is meant, though it depends on how work is
    spread over workers. `ab.check` then does not warn of it.
    """
    return x


def pure(function: F) -> F:
    """Vouch that a function depends on its arguments only and changes nothing, so that entries may call it.

    >>> import math
    >>> pure(math.hypot)(3.0, 4.0)
    5.0
    """

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    call.__anabranch_pure__ = function  # type: ignore[attr-defined]
    return call  # type: ignore[return-value]
