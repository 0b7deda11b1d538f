"""Values as bytes, and back: self-describing msgpack, nothing pickled.

Scalars and tuples are what msgpack has, so that rows are written and read in C. Everything else is a map of one pair,
from a tag to a payload of scalars and tuples, and there are no other maps.

Laws: `decode(encode(x))` is `x`, with the same types at every depth and the same bits; what is no value is a
`TypeError` that says what and where; what `encode` cannot have made is `Malformed`, or else some other value; either
way it costs memory and time in proportion to its length.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import operator
import re
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, NoReturn

import msgpack
import numpy as np

from anabranch.graph.nodes import Graph
from anabranch.kernels.values import UNSET, Unset
from anabranch.lang import types
from anabranch.lang.dense import DenseVector, wrap
from anabranch.lang.frozen import ConfigDict, ConfigList, ConfigSet, FrozenDict, FrozenList, FrozenSet
from anabranch.lang.scalars import show
from anabranch.lang.table import MISSING, Missing
from anabranch.lang.vector import Vector

SMALL = 256  # bytes, in which no length can lie by enough to cost memory
MANY = 16  # items, for which it pays to ask first whether all of them can stay as they are

_ATOMS = frozenset((type(None), bool, int, float, str, bytes))
_LISTS = (list, FrozenList, ConfigList)
_DICTS = (dict, FrozenDict, ConfigDict)
_SETS = (set, FrozenSet, ConfigSet)

# The tags. Bytes may be kept and peers may be older: a tag is never given another meaning.
_INT, _STR, _DATE, _NAIVE, _UTC, _DELTA, _UNSET, _MISSING, _VECTOR, _DENSE, _ARRAY = range(11)
_FIRST_LIST, _FIRST_DICT, _FIRST_SET, _FIRST_RECORD = 16, 19, 22, 32

_DTYPE = re.compile(r"\|b1|\|[iu]1|[<>](?:[iu][248]|f[248]|U[1-9][0-9]{0,8})")

Lower = Callable[[Sequence[Any]], Any]
Write = Callable[[Any, Lower], Any]
Read = Callable[[Any], Any]


class Malformed(ValueError):
    """Bytes that are no value: cut off, altered, or made by someone else."""


class Values:
    """Encodes and decodes. `records` are the record classes that may occur: the same, in one order, at both ends.

    >>> values = Values()
    >>> values.decode(values.encode((1, [2.5], {"a": None})))
    (1, [2.5], {'a': None})
    """

    def __init__(self, records: Sequence[type] = ()) -> None:
        self._readers = dict(_READERS)
        writers = dict(_WRITERS)
        for tag, cls in enumerate(records, _FIRST_RECORD):
            writers[cls], self._readers[tag] = _record(cls, tag)
        self._quick = _Lowering(_ATOMS, writers)
        # Looks at every int and str; there is hardly ever one that msgpack cannot have.
        self._careful = _Lowering(_ATOMS - _RARE.keys(), writers | _RARE)

    def encode(self, value: Any) -> bytes:
        try:
            try:
                return _packed(self._quick(value))
            except (OverflowError, UnicodeEncodeError):
                return _packed(self._careful(value))
        except TypeError:
            raise TypeError(self._explain(value)) from None
        except (RecursionError, ValueError) as error:
            raise TypeError(f"the value is nested too deep, or too large, to be sent: {error}") from None

    def decode(self, data: bytes | memoryview) -> Any:
        try:
            if len(data) > SMALL:
                _walk(data)
            return msgpack.unpackb(
                data,
                use_list=False,
                strict_map_key=False,
                object_pairs_hook=self._tagged,
                ext_hook=_refuse_extension,
                max_ext_len=0,  # also refuses msgpack's own timestamps
            )
        except Malformed:
            raise
        except Exception as error:  # msgpack's, or of a constructor that was given nonsense
            raise Malformed(f"{len(data)} bytes are no value: {type(error).__name__}: {error}") from None

    def _tagged(self, pairs: list[tuple[Any, Any]]) -> Any:
        if len(pairs) != 1:
            raise Malformed(f"expected a tag and its payload, got {len(pairs)} pairs")
        tag, payload = pairs[0]
        found = self._readers.get(tag)
        if found is None:
            raise Malformed(f"no kind of value and no record of the program has the tag {tag!r}")
        kind, read = found
        if payload.__class__ is not kind:
            raise Malformed(f"the payload of tag {tag} is a {kind.__name__}, got a {type(payload).__name__}")
        return read(payload)

    def _explain(self, value: Any) -> str:
        """Where in the value the first part is that cannot be sent: only now, so that `encode` need not keep track."""
        path, why = "value", self._refusal(value)
        while True:
            for step, part in _parts(value):
                refusal = self._refusal(part)
                if refusal is not None:
                    path, value, why = path + step, part, refusal
                    break
            else:
                return f"{path}: {show(value)} cannot be sent: {why}"

    def _refusal(self, value: Any) -> str | None:
        try:
            self._careful(value)
        except TypeError as error:
            return str(error)
        return None


class _Writers(dict[type, Write]):
    def __missing__(self, cls: type) -> NoReturn:
        if _is_record(cls):
            raise TypeError(f"the record {cls.__name__} is not among those that both ends know")
        raise TypeError(f"{cls.__name__} is not a value type")


class _Lowering:
    """Turns a value into what msgpack has; leaves alone what is that already."""

    def __init__(self, atoms: frozenset[type], writers: dict[type, Write]) -> None:
        self._atoms, self._rows, self._writers = atoms, atoms | {tuple}, _Writers(writers)

    def __call__(self, x: Any) -> Any:
        return x if x.__class__ in self._atoms else self._writers[x.__class__](x, self._all)

    def _all(self, xs: Sequence[Any]) -> Sequence[Any]:
        if len(xs) >= MANY and self._plain(xs):
            return xs
        atoms, writers, lower = self._atoms, self._writers, self._all
        return [x if x.__class__ in atoms else writers[x.__class__](x, lower) for x in xs]

    def _plain(self, level: Sequence[Any]) -> bool:
        """Are there only scalars and tuples, at every depth? By level, as the set of types of many is made in C."""
        while True:
            found = set(map(type, level))
            if found <= self._atoms:
                return True
            if not found <= self._rows:
                return False
            rows = level if len(found) == 1 else [x for x in level if x.__class__ is tuple]
            level = list(chain.from_iterable(rows))


def _packed(lowered: Any) -> bytes:
    # In a tuple of one, whose byte is taken off again: msgpack writes one level more than it reads.
    packed: bytes = msgpack.packb((lowered,))[1:]
    return packed


def _walk(data: bytes | memoryview) -> None:
    """Reads all lengths and builds nothing: an array that is said to be long gets its memory when it is long."""
    unpacker = msgpack.Unpacker(max_buffer_size=len(data))
    unpacker.feed(data)
    unpacker.skip()


def _refuse_extension(code: int, data: bytes) -> NoReturn:
    raise Malformed(f"there are no extensions, got one of code {code}")


def _parts(value: Any) -> Iterable[tuple[str, Any]]:
    """The parts of a value, with the steps that lead to them."""
    cls = value.__class__
    if cls is tuple or cls in _LISTS:
        return [(f"[{i}]", x) for i, x in enumerate(value)]
    if cls in _DICTS:
        keys = [(f"[key {show(k)}]", k) for k in value]
        return keys + [(f"[{k!r}]", x) for k, x in value.items()]
    if cls in _SETS:
        return [("[member]", x) for x in value]
    return [(f".{name}", getattr(value, name)) for name in _fields(cls) if hasattr(value, name)]


# -- records ----------------------------------------------------------------------------------------------------


def _is_record(cls: type) -> bool:
    return dataclasses.is_dataclass(cls) or (issubclass(cls, tuple) and hasattr(cls, "_fields"))


def _fields(cls: Any) -> tuple[str, ...]:
    if not _is_record(cls):
        return ()
    return tuple(cls._fields) if issubclass(cls, tuple) else tuple(f.name for f in dataclasses.fields(cls))


def _record(cls: Any, tag: int) -> tuple[Write, tuple[type, Read]]:
    """How to write and read a record class. It is not called: what was built and checked once is so already."""
    if not _is_record(cls):
        raise TypeError(f"{cls.__name__} is no record: write a NamedTuple or a frozen dataclass")
    names = _fields(cls)

    def write(x: Any, lower: Lower) -> Any:
        try:
            return {tag: lower(tuple([getattr(x, name) for name in names]))}
        except AttributeError as error:
            raise TypeError(str(error)) from None

    def read(payload: tuple[Any, ...]) -> Any:
        if len(payload) != len(names):
            raise Malformed(f"{cls.__name__} has {len(names)} fields, got {len(payload)}")
        if issubclass(cls, tuple):
            return tuple.__new__(cls, payload)
        new = object.__new__(cls)
        for name, x in zip(names, payload, strict=True):
            object.__setattr__(new, name, x)
        return new

    return write, (tuple, read)


def records_of(graph: Graph) -> tuple[type, ...]:
    """The record classes in the types of a graph; two processes that compile one program get them in one order."""
    found: dict[type, None] = {}
    for kind in _types_of(graph):
        _collect(kind, found)
    return tuple(found)


def _types_of(graph: Graph) -> Iterator[types.Type | None]:
    for state in graph.states:
        yield from (state.key, state.value)
    for entry in graph.entries:
        yield from (p.type for p in entry.parameters)
        yield entry.result
    for task in graph.tasks:
        yield from (v.type for v in task.inputs)
    for flow in graph.flows:
        yield from (v.type for v in flow.carries)


def _collect(kind: types.Type | None, found: dict[type, None]) -> None:
    match kind:
        case types.Record(cls, fields):
            found.setdefault(cls)
            for _, inner in fields:
                _collect(inner, found)
        case types.Optional(of) | types.List(of) | types.Set(of) | types.Iter(of):
            _collect(of, found)
        case types.Dict(key, value):
            _collect(key, found)
            _collect(value, found)
        case types.Tuple(items):
            for inner in items:
                _collect(inner, found)


# -- the kinds: how each is written, and read -------------------------------------------------------------------


def _expect(holds: bool, what: str) -> None:
    if not holds:
        raise Malformed(f"expected {what}")


def _write_int(x: int, lower: Lower) -> Any:
    small = -(1 << 63) <= x < 1 << 64
    return x if small else {_INT: x.to_bytes(x.bit_length() // 8 + 1, "little", signed=True)}


def _write_str(x: str, lower: Lower) -> Any:
    try:
        x.encode()
    except UnicodeEncodeError:
        return {_STR: x.encode("utf-8", "surrogatepass")}
    return x


def _write_datetime(x: dt.datetime, lower: Lower) -> Any:
    if x.tzinfo is not None and x.tzinfo is not dt.UTC:
        raise TypeError("its time zone is not datetime.UTC")
    fields = (x.year, x.month, x.day, x.hour, x.minute, x.second, x.microsecond, x.fold)
    return {_NAIVE if x.tzinfo is None else _UTC: fields}


def _read_datetime(zone: dt.tzinfo | None) -> Read:
    def read(fields: tuple[Any, ...]) -> dt.datetime:
        year, month, day, hour, minute, second, microsecond, fold = fields
        return dt.datetime(year, month, day, hour, minute, second, microsecond, zone, fold=fold)

    return read


def _read_timedelta(fields: tuple[Any, ...]) -> dt.timedelta:
    _expect(len(fields) == 3 and set(map(type, fields)) == {int}, "days, seconds and microseconds")
    return dt.timedelta(*fields)


def _write_list(tag: int) -> Write:
    return lambda xs, lower: {tag: lower(xs)}


def _write_dict(tag: int) -> Write:
    return lambda d, lower: {tag: (lower(tuple(d)), lower(tuple(d.values())))}


def _write_set(tag: int) -> Write:
    return lambda xs, lower: {tag: lower(tuple(xs))}


def _read_dict(cls: Callable[[dict[Any, Any]], Any]) -> Read:
    def read(halves: tuple[Any, ...]) -> Any:
        _expect(len(halves) == 2 and set(map(type, halves)) == {tuple}, "keys and values")
        found = dict(zip(*halves, strict=True))
        _expect(len(found) == len(halves[0]), "keys that differ")
        return cls(found)

    return read


def _read_set(cls: Callable[[Any], Any]) -> Read:
    def read(members: tuple[Any, ...]) -> Any:
        found = cls(members)
        _expect(len(found) == len(members), "members that differ")
        return found

    return read


def _write_vector(v: Vector, lower: Lower) -> Any:
    data = v._sorted()
    indices, entries = struct.pack(f"<{len(data)}q", *data), struct.pack(f"<{len(data)}d", *data.values())
    return {_VECTOR: (v._frozen, indices, entries)}


def _read_vector(payload: tuple[Any, ...]) -> Vector:
    frozen, indices, entries = payload
    _expect(type(frozen) is bool and len(indices) == len(entries), "as many entries as indices")
    keys, values = struct.unpack(f"<{len(indices) // 8}q", indices), struct.unpack(f"<{len(entries) // 8}d", entries)
    _expect(all(map(operator.lt, keys, keys[1:])) and 0.0 not in values, "ascending indices and no zeros")
    vector = Vector()
    vector._data, vector._frozen = dict(zip(keys, values, strict=True)), frozen
    return vector


def _write_array(x: np.ndarray[Any, Any], lower: Lower) -> Any:
    return {_ARRAY: (x.flags.writeable, x.shape, *_content(x))}


def _content(x: np.ndarray[Any, Any]) -> tuple[str, Any]:
    if _DTYPE.fullmatch(x.dtype.str) is None:
        raise TypeError(f"an array of {x.dtype} has no fixed form as bytes")
    return x.dtype.str, np.ascontiguousarray(x).reshape(-1).view(np.uint8).tobytes()


def _read_array(payload: tuple[Any, ...]) -> np.ndarray[Any, Any]:
    writeable, shape, dtype, content = payload
    _expect(type(writeable) is bool and type(shape) is tuple, "the shape of an array")
    _expect(all(type(n) is int and n >= 0 for n in shape), "sizes from 0")
    array = _flat(dtype, content).reshape(shape)
    array.setflags(write=writeable)
    return array


def _flat(dtype: str, content: bytes) -> np.ndarray[Any, Any]:
    _expect(_DTYPE.fullmatch(dtype) is not None, f"a type of arrays, got {dtype!r}")
    array = np.frombuffer(content, dtype).copy()
    # No array of numpy's holds such entries, and who reads one fails far from here.
    if array.dtype.kind == "b":
        _expect(bool((array.view(np.uint8) <= 1).all()), "booleans")
    elif array.dtype.kind == "U":
        points = array.view(f"{dtype[0]}u4")
        _expect(bool((points <= 0x10FFFF).all()), "characters")
    return array


def _write_dense(v: DenseVector, lower: Lower) -> Any:
    return {_DENSE: (v._frozen, *_content(v._data))}


def _read_dense(payload: tuple[Any, ...]) -> DenseVector:
    frozen, dtype, content = payload
    _expect(type(frozen) is bool, "whether it is frozen")
    vector = wrap(_flat(dtype, content))
    vector._frozen = frozen
    return vector


_RARE: dict[type, Write] = {int: _write_int, str: _write_str}
_WRITERS: dict[type, Write] = {
    tuple: lambda xs, lower: lower(xs),
    dt.date: lambda x, lower: {_DATE: x.toordinal()},
    dt.datetime: _write_datetime,
    dt.timedelta: lambda x, lower: {_DELTA: (x.days, x.seconds, x.microseconds)},
    Unset: lambda x, lower: {_UNSET: None},
    Missing: lambda x, lower: {_MISSING: None},
    Vector: _write_vector,
    DenseVector: _write_dense,
    np.ndarray: _write_array,
}
_READERS: dict[int, tuple[type, Read]] = {
    _INT: (bytes, lambda x: int.from_bytes(x, "little", signed=True)),
    _STR: (bytes, lambda x: x.decode("utf-8", "surrogatepass")),
    _DATE: (int, dt.date.fromordinal),
    _NAIVE: (tuple, _read_datetime(None)),
    _UTC: (tuple, _read_datetime(dt.UTC)),
    _DELTA: (tuple, _read_timedelta),
    _UNSET: (type(None), lambda x: UNSET),
    _MISSING: (type(None), lambda x: MISSING),
    _VECTOR: (tuple, _read_vector),
    _DENSE: (tuple, _read_dense),
    _ARRAY: (tuple, _read_array),
}
_WRITERS |= {cls: _write_list(tag) for tag, cls in enumerate(_LISTS, _FIRST_LIST)}
_WRITERS |= {cls: _write_dict(tag) for tag, cls in enumerate(_DICTS, _FIRST_DICT)}
_WRITERS |= {cls: _write_set(tag) for tag, cls in enumerate(_SETS, _FIRST_SET)}
_READERS |= {tag: (tuple, cls) for tag, cls in enumerate(_LISTS, _FIRST_LIST)}
_READERS |= {tag: (tuple, _read_dict(cls)) for tag, cls in enumerate(_DICTS, _FIRST_DICT)}
_READERS |= {tag: (tuple, _read_set(cls)) for tag, cls in enumerate(_SETS, _FIRST_SET)}
