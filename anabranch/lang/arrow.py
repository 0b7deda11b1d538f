"""Values as Arrow: one Arrow type per value type, and the way there and back.

| value type | Arrow type |
|---|---|
| int, float, bool, str, bytes | int64, double, bool, string, binary |
| date, datetime, UTCDateTime, timedelta | date32, timestamp[us], timestamp[us, UTC], duration[us] |
| T or None | T, nullable; all else is not |
| tuple | struct with fields "0", "1", ... |
| record | struct with its fields |
| list[T], set[T] | list with items named "item", "member" |
| dict[K, V] | map |
| Vector | list of struct(index: int64, value: double), named "entry", by ascending index |
| DenseVector | list of double named "component" |

Law: `from_arrow(t, to_arrow(t, x)) == x`; no two types share an Arrow type, but for records with equal fields.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anabranch.lang import types
from anabranch.lang.dense import DenseVector
from anabranch.lang.types import Type
from anabranch.lang.vector import Vector

if TYPE_CHECKING:
    import pyarrow as pa


def arrow_type(t: Type) -> pa.DataType:
    """The Arrow type of a value type.

    >>> from anabranch.lang.annotations import parse
    >>> print(arrow_type(parse(dict[str, list[int]])))
    map<string, list<item: int64 not null>>
    """
    import pyarrow as pa

    match t:
        case types.Scalar():
            return _scalars()[t]
        case types.Optional(of):
            return arrow_type(of)
        case types.Tuple(items):
            return pa.struct([arrow_field(str(i), x) for i, x in enumerate(items)])
        case types.Record(_, fields):
            return pa.struct([arrow_field(name, x) for name, x in fields])
        case types.List(of):
            return pa.list_(arrow_field("item", of))
        case types.Set(of):
            return pa.list_(arrow_field("member", of))
        case types.Dict(key, value):
            return pa.map_(arrow_field("key", key), arrow_field("value", value))
        case types.Sparse():
            entry = pa.struct([arrow_field("index", types.INT), arrow_field("value", types.FLOAT)])
            return pa.list_(pa.field("entry", entry, nullable=False))
        case types.Dense():
            return pa.list_(arrow_field("component", types.FLOAT))
    raise types.UnsupportedType(f"{t} has no Arrow type: it lives inside one task only")


def arrow_field(name: str, t: Type) -> pa.Field[Any]:
    import pyarrow as pa

    return pa.field(name, arrow_type(t), nullable=isinstance(t, types.Optional) or t == types.NONE)


def _scalars() -> dict[Type, pa.DataType]:
    import pyarrow as pa

    return {
        types.INT: pa.int64(),
        types.FLOAT: pa.float64(),
        types.BOOL: pa.bool_(),
        types.STR: pa.string(),
        types.BYTES: pa.binary(),
        types.DATE: pa.date32(),
        types.DATETIME: pa.timestamp("us"),
        types.UTC_DATETIME: pa.timestamp("us", tz="UTC"),
        types.TIMEDELTA: pa.duration("us"),
        types.NONE: pa.null(),
    }


def to_arrow(t: Type, value: Any) -> Any:
    """What pyarrow builds an element of `arrow_type(t)` from."""
    if value is None:
        return None
    match t:
        case types.Optional(of):
            return to_arrow(of, value)
        case types.Tuple(items):
            return {str(i): to_arrow(x, value[i]) for i, x in enumerate(items)}
        case types.Record(_, fields):
            return {name: to_arrow(x, getattr(value, name)) for name, x in fields}
        case types.List(of):
            return [to_arrow(of, x) for x in value]
        case types.Set(of):
            # A set has no order; its text gives one that does not depend on hashing.
            return [to_arrow(of, x) for x in sorted(value, key=repr)]
        case types.Dict(key, item):
            return [(to_arrow(key, k), to_arrow(item, x)) for k, x in value.items()]
        case types.Sparse():
            return [{"index": i, "value": x} for i, x in value.items()]
        case types.Dense():
            return value.tolist()
    return value


def from_arrow(t: Type, value: Any) -> Any:
    """The Python value of what `to_pylist` gave; what does not look like `t` is left for `coerce` to refuse."""
    match t:
        case types.Optional(of):
            return from_arrow(of, value)
        case types.Tuple(items) if isinstance(value, dict) and len(value) == len(items):
            names = [str(i) for i in range(len(items))]
            given = [value[name] for name in names] if value.keys() == set(names) else value.values()
            return tuple(from_arrow(x, y) for x, y in zip(items, given, strict=True))
        case types.Record(cls, fields) if isinstance(value, dict) and value.keys() == {name for name, _ in fields}:
            return cls(**{name: from_arrow(x, value[name]) for name, x in fields})
        case types.List(of) if isinstance(value, list):
            return [from_arrow(of, x) for x in value]
        case types.Set(of) if isinstance(value, list):
            return {from_arrow(of, x) for x in value}
        case types.Dict(key, item) if (pairs := _pairs(value, "key", "value")) is not None:
            return _unique([(from_arrow(key, k), from_arrow(item, x)) for k, x in pairs])
        case types.Sparse() if (pairs := _pairs(value, "index", "value")) is not None:
            return Vector(_unique(pairs))
        case types.Dense() if isinstance(value, list):
            return DenseVector(value)
    return value


def _pairs(value: Any, first: str, second: str) -> list[tuple[Any, Any]] | None:
    """The entries of a map, or of a list of structs of two fields, which libraries without maps have; else None."""
    if not isinstance(value, list):
        return None
    if all(x.__class__ is tuple and len(x) == 2 for x in value):
        return value
    if all(isinstance(x, dict) and x.keys() == {first, second} for x in value):
        return [(x[first], x[second]) for x in value]
    return None


def _unique(pairs: list[tuple[Any, Any]]) -> dict[Any, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("it has two entries of one key")
    return found


def arrow_array(t: Type, values: list[Any]) -> pa.Array[Any]:
    """The values of one column."""
    import pyarrow as pa

    return pa.array([to_arrow(t, x) for x in values], type=arrow_type(t))
