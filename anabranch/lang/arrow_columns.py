"""Columns of Arrow data, and of objects in pandas, as Python values.

Law: reading a column never raises; an element that is no value of its parameter has a `Refused` in its place, so that
the first bad input of a batch can be that of the lowest row, whatever its column.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anabranch.lang.arrow import from_arrow
from anabranch.lang.binding import Refused
from anabranch.lang.scalars import show
from anabranch.lang.spec import Parameter

if TYPE_CHECKING:
    import pyarrow as pa


def arrow_column(column: Any) -> pa.ChunkedArray[Any] | pa.Array[Any] | None:
    """The column as Arrow, if it offers that and has an Arrow type."""
    if not (hasattr(column, "__arrow_c_stream__") or hasattr(column, "__arrow_c_array__")):
        return None
    import pyarrow as pa

    if isinstance(column, (pa.Array, pa.ChunkedArray)):
        return column
    try:
        return pa.chunked_array(column) if hasattr(column, "__arrow_c_stream__") else pa.array(column)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return None


def arrow_values(p: Parameter, column: Any) -> list[Any]:
    import pyarrow as pa

    try:
        values = _exact(column).to_pylist()
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        values = [_element(p, x) for x in column]
    return [x if isinstance(x, Refused) else _value(p, x) for x in values]


def is_objects(column: Any) -> bool:
    """Is this a series of pandas that holds Python objects? Arrow would guess one type for all of them."""
    return type(column).__module__.partition(".")[0] == "pandas" and str(getattr(column, "dtype", "")) == "object"


def object_values(p: Parameter, column: Any) -> list[Any]:
    return [None if missing else _value(p, _plain(x)) for x, missing in zip(column, column.isna(), strict=True)]


def _plain(x: Any) -> Any:
    """What pandas made of Arrow data, as `to_pylist` gives it: it has arrays for lists."""
    if type(x).__module__ == "numpy" and getattr(x, "ndim", 0) > 0:
        return [_plain(item) for item in x]
    if x.__class__ in (list, tuple):
        return x.__class__(_plain(item) for item in x)
    return {key: _plain(item) for key, item in x.items()} if x.__class__ is dict else x


def _exact(column: Any) -> Any:
    """An array or a scalar in the unit of our values; raises `ArrowInvalid` where that is not exact."""
    import pyarrow as pa

    if pa.types.is_timestamp(column.type):
        return column.cast(pa.timestamp("us", tz=column.type.tz))
    if pa.types.is_duration(column.type):
        return column.cast(pa.duration("us"))
    return column.cast(pa.date32()) if pa.types.is_date64(column.type) else column


def _element(p: Parameter, x: Any) -> Any:
    """One element of a column of which some have no Python value."""
    import pyarrow as pa

    try:
        return _exact(x).as_py()
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        # What Arrow stores, as the scalar itself has no text: bytes of a string, the number of a time.
        value = x.as_buffer().to_pybytes() if isinstance(x, pa.BinaryScalar) else getattr(x, "value", x)
        coarse = getattr(x.type, "unit", "") in ("s", "ms")  # finer units lose data, coarser ones overflow
        return _refused(p, value, f"{show(value)} of {x.type}: {error}", OverflowError if coarse else type(error))


def _value(p: Parameter, x: Any) -> Any:
    assert p.type is not None
    try:
        return from_arrow(p.type, x)
    except Exception as error:  # a record may refuse its fields with any
        return _refused(p, x, f"{show(x)}: {error}", type(error))


def _refused(p: Parameter, value: Any, got: str, kind: type[Exception]) -> Refused:
    return Refused(p.name, f"expected {p.type}, got {got}", value, kind)
