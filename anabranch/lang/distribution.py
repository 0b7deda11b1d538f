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
Partial = Annotated[T, Distribution.PARTIAL]
Replicated = Annotated[T, Distribution.REPLICATED]


def everywhere(x: T) -> T:
    """Evaluate the expression on every instance; the result has one value per instance."""
    return x


def gather(value: T) -> list[T]:
    """The values of all instances as a list, by instance number."""
    return [value]


def local(x: T) -> T:
    """State the intent that a value read from a partial state depends on the instance at hand."""
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
