"""Types as plain values, for a client that has not the source of the program.

A scalar is its name; all else a tuple that begins with what it is. A record is its number among the records of the
program, of which those that others contain come first.

Laws: `type_of_code(code_of(t))` is t, but for the classes of its records; what `code_of` cannot have made is
`Malformed`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from anabranch.drivers.values import Malformed
from anabranch.graph.nodes import Graph
from anabranch.lang import types
from anabranch.lang.types import Record, Type

_SCALARS = {
    t.name: t
    for t in (
        types.INT,
        types.FLOAT,
        types.BOOL,
        types.STR,
        types.BYTES,
        types.DATE,
        types.DATETIME,
        types.UTC_DATETIME,
        types.TIMEDELTA,
        types.NONE,
    )
}
_NAMED: dict[str, Type] = {**_SCALARS, "Vector": types.VECTOR, "DenseVector": types.DENSE_VECTOR}

Rebuild = Callable[[Any], Any]


def records_in(graph: Graph) -> tuple[Record, ...]:
    """The records that go in and out of a program, inner ones first."""
    found: dict[type, Record] = {}
    for kind in _types_of(graph):
        _collect(kind, found)
    return tuple(found.values())


def _types_of(graph: Graph) -> Iterable[Type | None]:
    for entry in graph.entries:
        yield from (p.type for p in entry.parameters)
        yield entry.result
    for state in graph.states:
        yield from (state.key, state.value)


def _collect(t: Type | None, found: dict[type, Record]) -> None:
    match t:
        case Record(cls, fields):
            for _, inner in fields:
                _collect(inner, found)
            found.setdefault(cls, t)
        case types.Optional(of) | types.List(of) | types.Set(of):
            _collect(of, found)
        case types.Dict(key, value):
            _collect(key, found)
            _collect(value, found)
        case types.Tuple(items):
            for inner in items:
                _collect(inner, found)


def code_of(t: Type | None, numbers: Mapping[type, int]) -> Any:
    """
    >>> from anabranch.lang.annotations import parse
    >>> code_of(parse(dict[str, list[int] | None]), {})
    ('dict', 'str', ('optional', ('list', 'int')))
    """
    match t:
        case None:
            return None
        case Record(cls, _):
            return ("record", numbers[cls])
        case types.Optional(of):
            return ("optional", code_of(of, numbers))
        case types.List(of):
            return ("list", code_of(of, numbers))
        case types.Set(of):
            return ("set", code_of(of, numbers))
        case types.Dict(key, value):
            return ("dict", code_of(key, numbers), code_of(value, numbers))
        case types.Tuple(items):
            return ("tuple", tuple(code_of(x, numbers) for x in items))
    if str(t) not in _NAMED:
        raise TypeError(f"{t} is no type of values")
    return str(t)


def type_of_code(code: Any, records: Sequence[Record]) -> Type:
    match code:
        case str() if code in _NAMED:
            return _NAMED[code]
        case ("record", int(number)) if not isinstance(number, bool) and 0 <= number < len(records):
            return records[number]
        case ("optional", of):
            inner = type_of_code(of, records)
            if isinstance(inner, types.Optional) or inner == types.NONE:
                raise Malformed(f"{inner} may be None already")
            return types.Optional(inner)
        case ("list", of):
            return types.List(type_of_code(of, records))
        case ("set", of):
            return types.Set(type_of_code(of, records))
        case ("dict", key, value):
            return types.Dict(type_of_code(key, records), type_of_code(value, records))
        case ("tuple", tuple(items)):
            return types.Tuple(tuple(type_of_code(x, records) for x in items))
    raise Malformed(f"{code!r} is no type")


# -- records in values ------------------------------------------------------------------------------------------------


def field_names(cls: Any) -> tuple[str, ...]:
    """Of a record class; none of anything else."""
    if issubclass(cls, tuple):
        return tuple(getattr(cls, "_fields", ()))
    return tuple(f.name for f in dataclasses.fields(cls)) if dataclasses.is_dataclass(cls) else ()


def rebuilder(t: Type, build: Callable[[Record, Any, dict[str, Any]], Any]) -> Rebuild | None:
    """Replaces every record in a value, inner ones first; None if the type has none.

    What has the name and the fields of a record is one, whatever its class; what does not look like `t` is left for
    `coerce` to refuse.
    """
    match t:
        case Record(cls, fields):
            inner = {name: rebuilder(x, build) or _same for name, x in fields}

            def record(x: Any) -> Any:
                if type(x).__name__ != cls.__name__ or field_names(type(x)) != tuple(inner):
                    return x
                return build(t, x, {name: visit(getattr(x, name)) for name, visit in inner.items()})

            return record
        case types.Optional(of):
            return rebuilder(of, build)
        case types.List(of):
            return _all(list, rebuilder(of, build))
        case types.Set(of):
            return _all(set, rebuilder(of, build))
        case types.Dict(key, value):
            return _dict(rebuilder(key, build), rebuilder(value, build))
        case types.Tuple(items):
            return _tuple([rebuilder(x, build) for x in items])
    return None


def _same(x: Any) -> Any:
    return x


def _all(cls: type, of: Rebuild | None) -> Rebuild | None:
    return None if of is None else lambda xs: cls([of(x) for x in xs]) if isinstance(xs, cls) else xs  # type: ignore[attr-defined]


def _dict(key: Rebuild | None, value: Rebuild | None) -> Rebuild | None:
    if key is None and value is None:
        return None
    k, v = key or _same, value or _same
    return lambda d: {k(name): v(x) for name, x in d.items()} if isinstance(d, dict) else d


def _tuple(items: list[Rebuild | None]) -> Rebuild | None:
    if not any(items):
        return None
    visits = [visit or _same for visit in items]

    def rebuild(xs: Any) -> Any:
        if xs.__class__ is not tuple or len(xs) != len(visits):
            return xs
        return tuple([visit(x) for visit, x in zip(visits, xs, strict=True)])

    return rebuild
