"""An app as its clients see it: the types, entries and states of its program as plain values.

Law: a client that has only the description checks inputs as the app does, but for what constructors of records check.
"""

from __future__ import annotations

import dataclasses
from collections import namedtuple
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from anabranch.drivers.carried import known_class
from anabranch.drivers.typecodes import code_of, field_names, records_in, type_of_code
from anabranch.drivers.values import Malformed, Values
from anabranch.graph.nodes import Graph, State
from anabranch.lang import DenseMatrix, DenseVector, Matrix, Table, Value, Vector
from anabranch.lang.access import MARK
from anabranch.lang.annotations import parse
from anabranch.lang.distribution import Distribution
from anabranch.lang.marks import is_builtin
from anabranch.lang.release import VERSION
from anabranch.lang.spec import EntrySpec, Parameter, StateSpec
from anabranch.lang.types import Record, Type, UnsupportedType

PROTOCOL = 1
BUILTIN: dict[str, type] = {c.__name__: c for c in (Table, Vector, Matrix, DenseVector, DenseMatrix, Value)}


@dataclass(frozen=True, slots=True)
class Described:
    """`made` are the record classes that were made here; `values` has all of them, in the order of both ends."""

    program: str
    records: tuple[Record, ...]
    made: frozenset[type]
    entries: Mapping[str, EntrySpec]
    docs: Mapping[str, str | None]  # of entries
    states: Mapping[str, StateDescribed]
    values: Values


@dataclass(frozen=True, slots=True)
class StateDescribed:
    """A state, and the names of its methods that read, its methods that write, and its properties."""

    spec: StateSpec
    reads: frozenset[str]
    writes: frozenset[str]
    properties: frozenset[str]

    @property
    def name(self) -> str:
        return self.spec.name


# -- at the app -------------------------------------------------------------------------------------------------------


def values_of(graph: Graph) -> Values:
    return Values([record.cls for record in records_in(graph)])


def describe_app(graph: Graph, specs: Mapping[str, EntrySpec]) -> bytes:
    """Defaults are values that only who has read the records before them can read, so they go as bytes."""
    records = records_in(graph)
    numbers = {record.cls: i for i, record in enumerate(records)}
    classes = list(numbers)
    packed = tuple(_pack_record(r, numbers, Values(classes[:i])) for i, r in enumerate(records))
    values = Values(classes)
    entries = []
    for entry in graph.entries:
        spec = specs[entry.name]
        parameters = tuple((p.name, code_of(p.type, numbers), p.has_default) for p in spec.parameters)
        defaults = values.encode({p.name: p.default for p in spec.parameters if p.has_default})
        entries.append((spec.name, parameters, defaults, code_of(spec.result, numbers), spec.function.__doc__))
    described = {
        "program": graph.name,
        "records": packed,
        "entries": tuple(entries),
        "states": tuple(_pack_state(state, numbers) for state in graph.states),
    }
    return Values().encode((PROTOCOL, VERSION, described))


def _pack_record(record: Record, numbers: Mapping[type, int], inner: Values) -> tuple[Any, ...]:
    cls = record.cls
    fields = tuple((n, code_of(t, numbers)) for n, t in record.fields)
    return cls.__module__, cls.__qualname__, fields, inner.encode(_defaults_of(record))


def _defaults_of(record: Record) -> dict[str, Any]:
    cls: Any = record.cls
    if not dataclasses.is_dataclass(cls):
        return dict(cls._field_defaults)
    made = {f.name: f.default_factory() for f in dataclasses.fields(cls) if callable(f.default_factory)}
    return made | {f.name: f.default for f in dataclasses.fields(cls) if f.default is not dataclasses.MISSING}


def _pack_state(state: State, numbers: Mapping[type, int]) -> tuple[Any, ...]:
    marks = {name: getattr(getattr(state.cls, name, None), MARK, None) for name in dir(state.cls)}
    reads, writes = (tuple(n for n, m in marks.items() if m == which and n[0] != "_") for which in ("reads", "writes"))
    properties = tuple(n for n in marks if isinstance(getattr(state.cls, n, None), property) and n[0] != "_")
    cls = state.cls.__name__
    kind = (cls, is_builtin(state.cls), state.distribution.value)
    types = (code_of(state.key, numbers), code_of(state.value, numbers))
    return state.name, kind, types, reads, writes, properties


# -- at the client ----------------------------------------------------------------------------------------------------


def read_description(data: bytes) -> Described:
    try:
        protocol, release, described = Values().decode(data)
        if protocol != PROTOCOL:
            raise RuntimeError(
                f"the app runs on anabranch {release} and this is {VERSION}, and they do not understand each other: "
                "install the same version at both ends"
            )
        return _read(described)
    except (Malformed, LookupError, TypeError, ValueError, AttributeError) as error:
        raise Malformed(f"this is no description of an app: {error}") from None


def _read(described: dict[str, Any]) -> Described:
    records: list[Record] = []
    made: set[type] = set()
    for module, qualname, fields, packed in described["records"]:
        defaults = Values([r.cls for r in records]).decode(packed)
        record = _record(module, qualname, tuple((n, type_of_code(c, records)) for n, c in fields), defaults)
        made.update([record.cls] if record.cls is not known_class(module, qualname) else [])
        records.append(record)
    values = Values([r.cls for r in records])
    entries, docs = {}, {}
    for name, parameters, packed, result, doc in described["entries"]:
        given = values.decode(packed)
        read = [Parameter(n, type_of_code(c, records), given.get(n), bool(has)) for n, c, has in parameters]
        entries[str(name)] = EntrySpec(str(name), tuple(read), type_of_code(result, records), _elsewhere)
        docs[str(name)] = doc
    states = {state[0]: _state(state, records) for state in described["states"]}
    return Described(str(described["program"]), tuple(records), frozenset(made), entries, docs, states, values)


def _record(module: str, qualname: str, fields: tuple[tuple[str, Type], ...], defaults: dict[str, Any]) -> Record:
    """The class itself where it is imported here and has these fields, else one of its name and fields."""
    found = known_class(module, qualname)
    if found is not None and field_names(found) == tuple(n for n, _ in fields):
        try:
            known = parse(found)
        except UnsupportedType:
            known = None
        if isinstance(known, Record) and known.fields == fields:
            return known
    return Record(_made(qualname.rpartition(".")[2], fields, defaults), fields)


def _made(name: str, fields: tuple[tuple[str, Type], ...], defaults: dict[str, Any]) -> type:
    names = [n for n, _ in fields]
    last = names[len(names) - len(defaults) :]
    if set(last) == set(defaults):
        made: Any = namedtuple(name, names, defaults=[defaults[n] for n in last])  # type: ignore[misc]
        return made
    # A dataclass whose fields go by name may have one without a default after one that has it.
    given = [
        (n, Any, dataclasses.field(default_factory=lambda n=n: defaults[n])) if n in defaults else (n, Any)  # type: ignore[misc]
        for n in names
    ]
    return dataclasses.make_dataclass(name, given, frozen=True, kw_only=True)


def _state(packed: Any, records: list[Record]) -> StateDescribed:
    name, (cls, ours, distribution), codes, reads, writes, properties = packed
    key, value = (None if code is None else type_of_code(code, records) for code in codes)
    kind = BUILTIN[cls] if ours else type(str(cls), (), {})
    spec = StateSpec(str(name), Distribution(distribution), kind, key, value)
    return StateDescribed(spec, frozenset(reads), frozenset(writes), frozenset(properties))


def _elsewhere(*args: Any) -> NoReturn:
    raise AssertionError("the code of an entry is where the app is")
