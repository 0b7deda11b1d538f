"""Single values as words in memory, and back: what Python-tier accesses use, one at a time.

Laws: as for `columns`. A codec has one buffer, at a fixed address; what was packed before is gone.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from anabranch.kernels.native.columns import address_of, filling, maker, vector_at
from anabranch.kernels.native.layout import TEXT, kinds
from anabranch.kernels.native.moments import FROM_WORD, TO_WORD
from anabranch.lang.dense import DenseVector
from anabranch.lang.types import BOOL, BYTES, FLOAT, INT, Dense, List, Optional, Record, Scalar, Sparse, Tuple, Type

Keep = Callable[[bytes], int]  # where the bytes are kept


class Codec:
    """Packs values of one type into words. `keep` says where text and lists go.

    `pack_into(value, memory, offset)` puts the words of a value into a buffer of bytes, `unpack(memory, offset)` gives
    the value whose words are there.
    """

    def __init__(self, t: Type, keep: Keep) -> None:
        form = struct.Struct("=" + _letters(t))
        self._buffer = np.zeros(max(form.size, 8), dtype=np.uint8)
        self.address = self._buffer.ctypes.data
        self.pack_into, self.unpack = _packer(t, form, keep), _unpacker(t, form)

    def pack(self, value: Any) -> int:
        """Put the words of a value into the buffer of the codec; gives its address."""
        self.pack_into(value, self._buffer, 0)
        return self.address


def _letters(t: Type) -> str:
    return "".join("d" if k == "f" else "q" for k in kinds(t))


def _packer(t: Type, form: struct.Struct, keep: Keep) -> Callable[[Any, Any, int], None]:
    put, flatten = form.pack_into, _flattener(t, keep)
    if t in (INT, FLOAT, BOOL):
        return lambda value, memory, offset: put(memory, offset, value)

    def pack_into(value: Any, memory: Any, offset: int) -> None:
        flat: list[Any] = []
        flatten(value, flat)
        put(memory, offset, *flat)

    return pack_into


def _unpacker(t: Type, form: struct.Struct) -> Callable[[Any, int], Any]:
    get, build = form.unpack_from, _builder(t)
    if t in (INT, FLOAT):
        return lambda memory, offset: get(memory, offset)[0]
    return lambda memory, offset: build(iter(get(memory, offset)))


class Pad:
    """Text that is needed for the time of one access."""

    def __init__(self) -> None:
        self._kept: list[bytes] = []

    def clear(self) -> None:
        self._kept.clear()

    def keep(self, data: bytes) -> int:
        self._kept.append(data)
        return address_of(data)


def _flattener(t: Type, keep: Keep) -> Callable[[Any, list[Any]], None]:
    match t:
        case Scalar():
            if t in TEXT:

                def text(value: Any, out: list[Any]) -> None:
                    data = value if value.__class__ is bytes else value.encode()
                    out += (keep(data) if data else 0, len(data))

                return text
            if t in TO_WORD:
                word = TO_WORD[t]
                return lambda value, out: out.append(word(value))
            if kinds(t):
                return lambda value, out: out.append(value)
            return lambda value, out: None
        case Optional(of):
            inner, filler = _flattener(of, keep), filling(of)

            def maybe(value: Any, out: list[Any]) -> None:
                out.append(value is not None)
                inner(filler if value is None else value, out)

            return maybe
        case Tuple(items):
            parts = [_flattener(i, keep) for i in items]

            def all_of(value: Any, out: list[Any]) -> None:
                for part, x in zip(parts, value, strict=True):
                    part(x, out)

            return all_of
        case Record(_, fields):
            named = [(name, _flattener(f, keep)) for name, f in fields]

            def record(value: Any, out: list[Any]) -> None:
                for name, part in named:
                    part(getattr(value, name), out)

            return record
        case Dense():

            def entries_of(value: Any, out: list[Any]) -> None:
                data = value.to_numpy().tobytes()
                out += (keep(data) if data else 0, len(value))

            return entries_of
        case Sparse():

            def pairs_of(value: Any, out: list[Any]) -> None:
                items = value.items()
                data = struct.pack("=" + "qd" * len(items), *(word for item in items for word in item))
                out += (keep(data) if data else 0, len(items))

            return pairs_of
        case List(of):
            item, code, empty = _flattener(of, keep), _letters(of) or "q", not kinds(of)

            def items_of(value: Any, out: list[Any]) -> None:
                flat: list[Any] = []
                for x in value:
                    item(x, flat)
                    if empty:
                        flat.append(0)
                data = struct.pack("=" + code * len(value), *flat)
                out += (keep(data) if data else 0, len(value))

            return items_of
    raise AssertionError(f"no codec for {t}")


def _builder(t: Type) -> Callable[[Iterator[Any]], Any]:
    match t:
        case Scalar():
            if t == BOOL:
                return lambda words: bool(next(words))
            if t in TEXT:
                raw = t == BYTES

                def text(words: Iterator[Any]) -> Any:
                    address, size = next(words), next(words)
                    data = ctypes.string_at(address, size) if size else b""
                    return data if raw else data.decode()

                return text
            if t in FROM_WORD:
                made = FROM_WORD[t]
                return lambda words: made(next(words))
            return next if kinds(t) else lambda words: None
        case Optional(of):
            inner, width = _builder(of), len(kinds(of))

            def maybe(words: Iterator[Any]) -> Any:
                if next(words):
                    return inner(words)
                for _ in range(width):
                    next(words)
                return None

            return maybe
        case Tuple(items):
            parts = [_builder(i) for i in items]
            return lambda words: tuple([part(words) for part in parts])
        case Record(cls, fields):
            make, builders = maker(cls, [n for n, _ in fields]), [_builder(f) for _, f in fields]
            return lambda words: make(*[build(words) for build in builders])
        case Dense():

            def vector(words: Iterator[Any]) -> Any:
                address, size = next(words), next(words)
                return DenseVector(np.frombuffer(ctypes.string_at(address, 8 * size) if size else b""))

            return vector
        case Sparse():
            return lambda words: vector_at(next(words), next(words))
        case List(of):
            item, code, step = _builder(of), _letters(of), 8 * len(kinds(of))

            def items_of(words: Iterator[Any]) -> Any:
                address, size = next(words), next(words)
                data = ctypes.string_at(address, size * step) if size * step else b""
                flat = iter(struct.unpack("=" + code * size, data))
                return [item(flat) for _ in range(size)]

            return items_of
    raise AssertionError(f"no codec for {t}")
