"""Rows that an earlier version of a program saved, in the columns of today's.

What may change in a value, and in what is nested in it: a record gets a field that has a default, int becomes float, T
becomes T | None. Keys stay as they are: their hashes say where entries are.

Laws: what is refused is refused for the types, before any row is read, but for an int that no float is; a row that is
converted is what the program of today would have stored.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from anabranch.graph.nodes import State
from anabranch.lang import types
from anabranch.lang.arrow import arrow_field, arrow_type, to_arrow
from anabranch.lang.errors import ProgramError
from anabranch.lang.marks import is_builtin
from anabranch.lang.types import Type
from anabranch.lang.values import coerce
from anabranch.state.changes import schema_of
from anabranch.state.tables import load_columns

if TYPE_CHECKING:
    import pyarrow as pa

Convert = Callable[[Any], Any]
"""Of a value as `to_pylist` gives it."""


class Unlike(Exception):
    """A type that cannot become another: `place` in the value, what there `was`, what there `is` now."""

    def __init__(self, place: str, was: str, now: str) -> None:
        super().__init__(place, was, now)
        self.place, self.was, self.now = place, was, now


def conversion(state: State, was: pa.Schema, *, optional: bool = False) -> Convert | None:
    """How a saved value becomes one of today; None if it is one. `Unlike` if it cannot. `optional` if what was saved
    could be None: columns do not say it.
    """
    now = schema_of(state)
    if not is_builtin(state.cls) or state.cls.__name__ not in ("Table", "Value"):
        if was != now:
            raise Unlike("", _columns(was), _columns(now))
        return None
    if was.names != now.names:
        raise Unlike("", _columns(was), _columns(now))
    *keys, (value, t) = load_columns(state)
    for name, _ in keys:
        if was.field(name).type != now.field(name).type:
            raise Unlike(name, str(was.field(name).type), str(now.field(name).type))
    if optional and not isinstance(t, types.Optional):
        raise Unlike(value, "a value or None", str(t))
    return _convert(t, was.field(value).type, value)


def converted(state: State, rows: pa.RecordBatch) -> pa.RecordBatch:
    """The rows in the columns of today."""
    import pyarrow as pa

    now = schema_of(state)
    if rows.schema.equals(now):
        return rows
    convert = conversion(state, rows.schema)
    if convert is None:
        return rows
    name, t = load_columns(state)[-1]
    try:
        values = [None if x is None else convert(x) for x in rows[name].to_pylist()]
    except ValueError as error:
        raise ProgramError(
            f"{state.name} cannot be restored as {state.type}: {error}: keep the type that it was saved with"
        ) from None
    columns = [rows[n] for n in now.names]
    columns[now.get_field_index(name)] = pa.array(values, arrow_type(t))
    return pa.RecordBatch.from_arrays(columns, schema=now)


def _convert(t: Type, was: pa.DataType, place: str) -> Convert | None:
    """None where nothing is to be done."""
    import pyarrow as pa

    if isinstance(t, types.Optional):
        return _if_there(_convert(t.of, was, place))
    now = arrow_type(t)
    if was == now:
        return None
    match t:
        case types.Scalar() if t == types.FLOAT and was == pa.int64():
            return lambda x: coerce(types.FLOAT, x)
        case types.Record(cls, fields) if pa.types.is_struct(was):
            return _record(cls, fields, was, place)
        case types.Tuple(items) if pa.types.is_struct(was) and was.num_fields == len(items):
            parts = {str(i): _field(str(i), x, was.field(i), f"{place}[{i}]") for i, x in enumerate(items)}
            if [f.name for f in was] == list(parts):
                return lambda x: {name: _apply(part, x[name]) for name, part in parts.items()}
        case types.List(of) if pa.types.is_list(was) and was.value_field.name == "item":
            item = _field("item", of, was.value_field, f"{place}[...]")
            return lambda x: [_apply(item, y) for y in x]
        case types.Set(of) if pa.types.is_list(was) and was.value_field.name == "member":
            member = _field("member", of, was.value_field, f"{place}[...]")
            return lambda x: [_apply(member, y) for y in x]
        case types.Dict(key, value) if pa.types.is_map(was) and was.key_type == arrow_type(key):
            item = _field("value", value, was.item_field, f"{place}[...]")
            return lambda x: [(k, _apply(item, y)) for k, y in x]
    raise Unlike(place, str(was), str(now))


def _field(name: str, t: Type, was: pa.Field[Any], place: str) -> Convert | None:
    if was.nullable and not arrow_field(name, t).nullable:
        raise Unlike(place, f"{was.type} or None", str(t))
    return _convert(t, was.type, place)


def _record(cls: type, fields: tuple[tuple[str, Type], ...], was: Any, place: str) -> Convert:
    """Its fields in their order, and those that are new from their defaults."""
    had = [f.name for f in was]
    names = [name for name, _ in fields]
    gone = [name for name in had if name not in names]
    if gone:
        raise Unlike(f"{place}.{gone[0]}", f"the field {gone[0]}", f"no such field in {cls.__name__}")
    if [name for name in names if name in had] != had:
        raise Unlike(place, f"the fields in the order {', '.join(had)}", f"{', '.join(names)} in {cls.__name__}")
    parts: dict[str, Convert | None] = {}
    made: dict[str, Any] = {}
    defaults = _defaults(cls)
    for name, t in fields:
        if name in had:
            parts[name] = _field(name, t, was.field(name), f"{place}.{name}")
        elif name in defaults:
            made[name] = to_arrow(t, coerce(t, defaults[name]))
        else:
            raise Unlike(f"{place}.{name}", "no such field", f"{name}: {t} in {cls.__name__}, without a default")
    return lambda x: {n: made[n] if n in made else _apply(parts[n], x[n]) for n in names}


def _defaults(cls: Any) -> dict[str, Any]:
    if not dataclasses.is_dataclass(cls):
        return dict(cls._field_defaults)
    made = {f.name: f.default_factory() for f in dataclasses.fields(cls) if callable(f.default_factory)}
    return made | {f.name: f.default for f in dataclasses.fields(cls) if f.default is not dataclasses.MISSING}


def _if_there(convert: Convert | None) -> Convert | None:
    return None if convert is None else lambda x: None if x is None else convert(x)


def _apply(convert: Convert | None, x: Any) -> Any:
    return x if convert is None else convert(x)


def _columns(schema: pa.Schema) -> str:
    return ", ".join(f"{field.name}: {field.type}" for field in schema)
