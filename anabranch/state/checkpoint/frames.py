"""The records of a log file: a checked header, a msgpack head and Arrow messages, and an end mark.

    magic  length of head  length of the rest  crc of the body  crc of this header   24 bytes, little endian
    head, zeros up to a multiple of 8                                                \\  the body
    Arrow messages (without schema), each with zeros up to a multiple of 8           /
    end mark                                                                          8 bytes

A whole record never ends in zeros, so that a tail of zeros is one that never reached the disk. Laws: `scan` gives back
what `packed` wrote; where one bit of a record differs, it raises.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgpack
import pyarrow as pa

from anabranch.state.changes import Change
from anabranch.state.checkpoint.location import Part

PIECE, FRAME, NOTE = b"AbP1", b"AbF1", b"AbN1"
END = b"\xabframe.\xba"

_HEADER = struct.Struct("<4sIQI")
_CRC = struct.Struct("<I")
HEADER_SIZE = _HEADER.size + _CRC.size
_ZEROS = bytes(8)


class Bad(Exception):
    """Why the bytes at an offset are no record."""


class Torn(Exception):
    """The bytes at an offset are the beginning of a record, of which the rest never reached the disk."""


@dataclass(frozen=True, slots=True)
class Frame:
    """What one writer says about an attempt of an epoch."""

    epoch: int
    attempt: int
    head: dict[str, Any]
    changes: tuple[Change, ...] = ()


class Record(NamedTuple):
    """A record as it was found: where it ends, its head, its Arrow messages."""

    magic: bytes
    end: int
    head: Any
    body: pa.Buffer


class Packed(NamedTuple):
    """A record that is not yet checked: its crc is made by who writes it."""

    magic: bytes
    head: int
    parts: Sequence[Part]
    size: int

    def written(self) -> list[Part]:
        """The bytes of the record."""
        crc = 0
        for part in self.parts:
            crc = zlib.crc32(part, crc)
        header = _HEADER.pack(self.magic, self.head, self.size - HEADER_SIZE - _padded(self.head) - len(END), crc)
        return [header + _CRC.pack(zlib.crc32(header)), *self.parts, END]


def packed(magic: bytes, head: Any, buffers: Sequence[pa.Buffer] = ()) -> Packed:
    """A record of a head of plain values and of Arrow messages."""
    data = msgpack.packb(head)
    parts: list[Part] = [data + _ZEROS[: -len(data) % 8]]
    size = len(parts[0])
    for buffer in buffers:
        parts.append(memoryview(buffer))
        size += buffer.size
        if gap := -buffer.size % 8:
            parts.append(_ZEROS[:gap])
            size += gap
    return Packed(magic, len(data), parts, HEADER_SIZE + size + len(END))


def scan(data: memoryview, offset: int) -> Record:
    """The record at an offset, which is not the end of the data; `Torn` or `Bad` if there is none."""
    if len(data) - offset < HEADER_SIZE:
        raise Torn("the file ends within a header")
    header = data[offset : offset + _HEADER.size]
    magic, head, rest, crc = _HEADER.unpack(header)
    if zlib.crc32(header) != _CRC.unpack_from(data, offset + _HEADER.size)[0] or magic not in (PIECE, FRAME, NOTE):
        if _zeros(data, offset + HEADER_SIZE):  # a whole record has its end mark there
            raise Torn("zeros up to the end of the file")
        raise Bad("the header of a record does not match its checksum")
    begin = offset + HEADER_SIZE
    end = begin + _padded(head) + rest
    if len(data) < end + len(END):
        raise Torn("the file ends within a record")
    mark = bytes(data[end : end + len(END)])
    if mark != END and END.startswith(mark.rstrip(b"\0")) and _zeros(data, end + len(END)):
        raise Torn("zeros up to the end of the file")
    if mark != END or zlib.crc32(data[begin:end]) != crc:
        raise Bad("a record does not match its checksum")
    try:
        values = msgpack.unpackb(data[begin : begin + head], strict_map_key=False)
    except ValueError as error:
        raise Bad(f"the head of a record cannot be read: {error}") from error
    return Record(magic, end + len(END), values, pa.py_buffer(data[begin + _padded(head) : end]))


def pack_frame(frame: Frame) -> Packed:
    """A frame as a record. Its rows are copied here: what they were made from may change afterwards."""
    buffers = [change.rows.serialize() for change in frame.changes]
    changes = [(c.state, c.instance, c.whole, b.size) for c, b in zip(frame.changes, buffers, strict=True)]
    return packed(FRAME, [frame.epoch, frame.attempt, frame.head, changes], buffers)


def frame_of(record: Record, schemas: dict[str, pa.Schema]) -> Frame:
    """The frame of a record. Its rows are views of the record's bytes."""
    try:
        epoch, attempt, head, listed = record.head
        changes, at = [], 0
        for state, instance, whole, size in listed:
            rows = pa.ipc.read_record_batch(record.body.slice(at, size), schemas[state])
            changes.append(Change(state, instance, whole, rows))
            at += size + -size % 8
    except (ValueError, TypeError, KeyError, pa.ArrowException) as error:
        raise Bad(f"a frame cannot be read: {error!r}") from error
    return Frame(epoch, attempt, head, tuple(changes))


def _padded(size: int) -> int:
    return size + -size % 8


def _zeros(data: memoryview, offset: int) -> bool:
    """Whether there is nothing but zeros from there to the end."""
    step = 1 << 20
    return all(not data[at : at + step].tobytes().strip(b"\0") for at in range(offset, len(data), step))
