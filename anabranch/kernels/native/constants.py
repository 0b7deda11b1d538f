"""Constants and configuration as words of a kernel.

Law: what is encoded is the value itself: of the type that the graph says, and equal to what is decoded again. The rest
is refused, with `NotInKernels`: it may be a text that is no UTF-8, or an int where a float is declared.
"""

from __future__ import annotations

from typing import Any

from anabranch.kernels.native.columns import Encoded, encode
from anabranch.kernels.native.layout import NotInKernels
from anabranch.lang.types import Dense, Sparse, Type
from anabranch.lang.values import coerce, same_value


def encode_constant(what: str, t: Type, value: Any) -> Encoded:
    """The words of a value; `what` is what a reason calls it."""
    try:
        held = coerce(t, value)
    except (TypeError, ValueError, OverflowError) as error:
        raise NotInKernels(f"{what} does not fit a kernel: {error}") from None
    if not isinstance(t, Dense | Sparse) and not same_value(held, value):
        raise NotInKernels(f"{what} does not fit a kernel: it is not the {t} that its type says")
    return encode(t, [held])
