"""What machines tell each other, and what their hosts add to it, as bytes.

Law: `decode(encode(m)) == m` for every message that leaves an address space; rows that kernels have made arrive as rows
of words again.
"""

from __future__ import annotations

import struct
from dataclasses import replace
from functools import lru_cache
from typing import Any

from anabranch.drivers.host_messages import (
    AllMoved,
    Broke,
    CatchUp,
    Content,
    Copied,
    Copy,
    Done,
    Drop,
    Flush,
    FromDisk,
    GiveUp,
    Goodbye,
    Grow,
    Hello,
    Install,
    Installed,
    Keep,
    Kept,
    Lead,
    Lifted,
    MovedRows,
    Packed,
    Part,
    Parted,
    Peers,
    Ping,
    Prepare,
    Ready,
    Report,
    Reported,
    SavedAt,
    Setup,
    Severed,
    Show,
    Shown,
    Slice,
    Split,
    SplitOff,
    Switch,
    WantContent,
)
from anabranch.drivers.pieces import Message
from anabranch.drivers.values import Malformed, Values, records_of
from anabranch.graph.nodes import Graph
from anabranch.runtime.messages import (
    Apply,
    AtWorkers,
    Begin,
    BeginColumns,
    Collect,
    End,
    Entries,
    Failed,
    Fetch,
    Finished,
    FinishedFused,
    Placed,
    Request,
    Results,
    Row,
    Rows,
    Settle,
    Settled,
    Version,
)
from anabranch.runtime.plan import Plan, make_plan
from anabranch.state.collected import Want

LONG = 4096  # bytes of a part that are worth a buffer of their own
MARK = 0xC1  # no value of `Values` begins with this byte
_SIZES = struct.Struct("<BIQ")  # the mark, how many parts follow, and how long the message itself is
_SIZE = struct.Struct("<Q")

HOSTS = (
    SavedAt,
    Split,
    SplitOff,
    Lead,
    Part,
    Parted,
    Setup,
    FromDisk,
    Copy,
    Copied,
    Keep,
    Kept,
    Hello,
    Ready,
    Peers,
    WantContent,
    Content,
    Prepare,
    Grow,
    Slice,
    CatchUp,
    Flush,
    Switch,
    Done,
    GiveUp,
    MovedRows,
    AllMoved,
    Install,
    Installed,
    Report,
    Reported,
    Show,
    Shown,
    Ping,
    Severed,
    Broke,
    Packed,
    Lifted,
    Drop,
    Goodbye,
)
MACHINES = (
    Version, Row, Request, AtWorkers, Placed, Results, Begin, BeginColumns, Collect, Settle, Rows, End, Want, Fetch,
    Entries, Apply, Finished, FinishedFused, Failed, Settled,
)  # fmt: skip


class Wire:
    """Encodes and decodes the messages of the runs of one program."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self.values = Values([*HOSTS, *MACHINES, *records_of(graph)])
        self._plan = lru_cache(maxsize=1024)(lambda entries: make_plan(graph, entries))

    def encode(self, message: Any) -> Message:
        """Bytes; or, for rows of words, buffers that follow each other, so that nobody copies them."""
        match message:
            case Begin():
                message = replace(message, plan=_names(message.plan))
            case BeginColumns():
                message = replace(message, plan=_names(message.plan), placed=self._packed(message.placed))
            case Rows(rows=((_, first), *_)) if not isinstance(first, Row):
                message = replace(message, rows=tuple([(stage, self._box(box)) for stage, box in message.rows]))
            case Finished(boxes=(_, *_)):
                result = self._graph.entry(message.entry).result
                message = replace(message, boxes=tuple([self._box(box, result) for box in message.boxes]))
        if isinstance(message, BeginColumns | Rows | Finished):
            return self._with_buffers(message)
        return self.values.encode(message)

    def _with_buffers(self, message: Any) -> Message:
        """Long parts of what is packed come behind the message itself."""
        long: list[Any] = []
        for packed in _packed_in(message):
            for i, part in enumerate(packed.parts):
                if not isinstance(part, int) and memoryview(part).nbytes >= LONG:
                    packed.parts[i] = Lifted(len(long))
                    long.append(memoryview(part).cast("B"))
        head = self.values.encode(message)
        if not long:
            return head
        sizes = _SIZES.pack(MARK, len(long), len(head)) + b"".join([_SIZE.pack(len(x)) for x in long])
        start = sizes + head
        found: list[Any] = [start + bytes(-len(start) % 8)]
        for part in long:
            found += [part, bytes(-len(part) % 8)]
        return found

    def decode(self, data: bytes | memoryview) -> Any:
        message = self._with_parts(data) if len(data) and data[0] == MARK else self.values.decode(data)
        match message:
            case Begin():
                return replace(message, plan=self._planned(message.plan))
            case BeginColumns():
                return replace(message, plan=self._planned(message.plan), placed=self._unpacked(message.placed))
            case Rows(rows=((_, Packed()), *_)):
                return replace(message, rows=tuple([(stage, self._unbox(box)) for stage, box in message.rows]))
            case Finished(boxes=(_, *_)):
                result = self._graph.entry(message.entry).result
                return replace(message, boxes=tuple([self._unbox(box, result) for box in message.boxes]))
        return message

    def _with_parts(self, data: bytes | memoryview) -> Any:
        view = memoryview(data)
        if len(view) < _SIZES.size:
            raise Malformed("a message that is cut off")
        _, count, size = _SIZES.unpack_from(view)
        at = _SIZES.size + count * _SIZE.size
        if at + size > len(view):
            raise Malformed("a message that is cut off")
        sizes = [_SIZE.unpack_from(view, _SIZES.size + i * _SIZE.size)[0] for i in range(count)]
        message = self.values.decode(view[at : at + size])
        at += size
        parts = []
        for size in sizes:
            at += -at % 8
            parts.append(view[at : at + size])
            at += size
        if at > len(view):
            raise Malformed("a message that is cut off")
        for packed in _packed_in(message):
            packed.parts[:] = [parts[x.number] if isinstance(x, Lifted) else x for x in packed.parts]
        return message

    def _planned(self, entries: Any) -> Plan:
        plan: Plan | None = self._plan(entries)
        assert plan is not None, f"no stages for {entries}"
        return plan

    # -- rows of kernels: see `anabranch.kernels.native.portable` -----------------------------------------------------

    def _packed(self, placed: Placed) -> Placed:
        if isinstance(placed.request.rows, AtWorkers):
            return placed
        from anabranch.kernels.native.portable import pack_block

        rows: Any = Packed(pack_block(placed.request.rows))  # type: ignore[arg-type]
        return placed._replace(request=placed.request._replace(rows=rows))

    def _unpacked(self, placed: Placed) -> Placed:
        from anabranch.kernels.native.portable import unpack_block

        request: Any = placed.request
        if isinstance(request.rows, AtWorkers):
            return placed
        types = tuple(p.type for p in self._graph.entry(request.entry).parameters)
        return placed._replace(request=request._replace(rows=unpack_block(types, request.rows.parts)))

    def _box(self, box: Any, result: Any = None) -> Packed:
        from anabranch.kernels.native.portable import pack_box

        return Packed(pack_box(self._graph, result, box))

    def _unbox(self, packed: Any, result: Any = None) -> Any:
        from anabranch.kernels.native.portable import unpack_box

        return unpack_box(self._graph, result, packed.parts)


def _packed_in(message: Any) -> list[Packed]:
    match message:
        case BeginColumns():
            rows: Any = message.placed.request.rows
            return [rows] if isinstance(rows, Packed) else []
        case Rows():
            return [x for _, x in message.rows if isinstance(x, Packed)]
        case Finished():
            return list(message.boxes)
    return []


def _names(plan: Plan) -> Any:
    return tuple(sorted(plan.entries))
