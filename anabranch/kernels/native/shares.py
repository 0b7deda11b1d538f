"""The rows of a batch dealt out to the workers at which they start.

Laws: each row of the block is in the share of exactly one worker, in order, with its sequence number (of an entry that
starts everywhere, in every share); the worker is the one of the instance that `anabranch.runtime.rows.Start` gives.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from anabranch.graph.code import Apply, Config, Const, Expr, Local
from anabranch.graph.nodes import Dispatch, Graph
from anabranch.kernels.native.blocks import Block
from anabranch.kernels.native.columns import Words
from anabranch.kernels.native.driver import BOOL_KEY, BYTES_KEY, INT_KEY, STR_KEY
from anabranch.kernels.native.gathering import deal_rows, hash_column, hash_further
from anabranch.kernels.native.hashing import hash_tuple_start
from anabranch.kernels.native.layout import TEXT, NotInKernels, kinds
from anabranch.lang.keys import BLOCK, BUCKETS, hash_key
from anabranch.lang.types import BOOL, BYTES, INT, STR, Record, Tuple, Type, thaw

KINDS = {INT: INT_KEY, STR: STR_KEY, BYTES: BYTES_KEY, BOOL: BOOL_KEY}
InstanceOf = Callable[[int, tuple[Any, ...]], int]  # given the sequence number and the values of a row


class Routing(Protocol):
    """See `anabranch.runtime.routing`."""

    @property
    def instance_of_bucket(self) -> Sequence[int]: ...
    @property
    def worker_of_instance(self) -> Sequence[int]: ...


@dataclass(frozen=True, slots=True, eq=False)
class Share(Block):
    """Rows of a block, each with its sequence number; these ascend."""

    sequences: Words = field(kw_only=True, repr=False)


def shares(
    graph: Graph,
    entry: str,
    program: Any,
    block: Block,
    sequence: int,
    routing: Routing,
    instance_of: InstanceOf | None = None,
) -> list[Share]:
    """The share of each worker of a block whose first row has this sequence number.

    `program` has the configuration. Where a key cannot be had from columns, `instance_of` is asked for each row;
    `NotInKernels` if it is not given.
    """
    node, count = graph.entry(entry), len(block)
    sequences = np.arange(sequence, sequence + count, dtype=np.int64)
    workers = max(routing.worker_of_instance) + 1
    if node.dispatch is Dispatch.ALL or workers == 1:
        return [_share(block, block.columns, sequences) for _ in range(workers)]
    worker_of = np.array(routing.worker_of_instance, dtype=np.int64)
    by_bucket = worker_of[np.array(routing.instance_of_bucket, dtype=np.int64)]
    try:
        if node.dispatch is Dispatch.BY_KEY and node.key is not None:
            hashes = _Keys(block, [p.name for p in node.parameters], program).hashes(node.key)
        else:
            hashes = _hashes(INT, [sequences // BLOCK])
        piles = by_bucket[hashes & (BUCKETS - 1)]
    except NotInKernels:
        if instance_of is None:
            raise
        found = (instance_of(sequence + i, row) for i, row in enumerate(block))
        piles = worker_of[np.fromiter(found, dtype=np.int64, count=count)]
    ends, order = np.zeros(workers, dtype=np.int64), np.empty(count, dtype=np.int64)
    deal_rows(piles.ctypes.data, count, workers, ends.ctypes.data, order.ctypes.data)
    dealt = [order[end - len_ : end] for end, len_ in zip(ends, np.diff(ends, prepend=0), strict=True)]
    return [_share(block, [c.take(rows) for c in block.columns], rows + sequence) for rows in dealt]


def _share(block: Block, columns: Sequence[Words], sequences: Words) -> Share:
    return Share(block.types, tuple(columns), len(sequences), block.kept, sequences=sequences)


# -- keys -------------------------------------------------------------------------------------------------------------

Held = tuple[Type, Sequence[Words]]  # a type and the columns of its words


class _Keys:
    """The keys of all rows of a block at once."""

    def __init__(self, block: Block, names: Sequence[str], program: Any) -> None:
        self._count, self._program = len(block), program
        at, self._given = 0, dict[str, Held]()
        for name, t in zip(names, block.types, strict=True):
            width = len(kinds(t))
            self._given[name] = thaw(t), block.columns[at : at + width]
            at += width

    def hashes(self, key: Expr) -> Words:
        match key:
            case Const(value):
                return self._all(value)
            case Config(name):
                if not hasattr(self._program, name):
                    raise NotInKernels(f"{name} was never set")
                return self._all(getattr(self._program, name))
            case Apply("tuple", args):
                return _of_tuples(self._count, [self.hashes(a) for a in args])
        return _hashes(*self._held(key))

    def _all(self, value: Any) -> Words:
        try:
            return np.full(self._count, hash_key(value), dtype=np.uint64).view(np.int64)
        except (TypeError, ValueError) as error:
            raise NotInKernels(str(error)) from None

    def _held(self, key: Expr) -> Held:
        """The words of a parameter, or of an item or field of one."""
        match key:
            case Local(name) if name in self._given:
                return self._given[name]
            case Apply("[]", (of, Const(value=int(i)))):
                items = _items(self._held(of))
                return list(items.values())[i]
            case Apply(op, (of,)) if op.startswith("attr:"):
                return _items(self._held(of))[op.removeprefix("attr:")]
        raise NotInKernels("a key that is computed")


def _items(held: Held) -> Mapping[Any, Held]:
    """The items of a tuple by their numbers, the fields of a record by their names."""
    t, columns = held
    match t:
        case Tuple(items):
            named: Sequence[tuple[Any, Type]] = list(enumerate(items))
        case Record(_, fields):
            named = fields
        case _:
            raise NotInKernels(f"an item of {t} in a key")
    found, at = {}, 0
    for name, item in named:
        width = len(kinds(item))
        found[name] = thaw(item), columns[at : at + width]
        at += width
    return found


def _hashes(t: Type, columns: Sequence[Words]) -> Words:
    if isinstance(t, Tuple):
        items = _items((t, columns)).values()
        return _of_tuples(len(columns[0]) if columns else 0, [_hashes(*item) for item in items])
    if t not in KINDS:
        raise NotInKernels(f"a key of type {t}")
    words, sizes = columns[0], columns[1 if t in TEXT else 0]
    found = np.empty(len(words), dtype=np.int64)
    hash_column(
        KINDS[t],
        words.ctypes.data,
        words.strides[0],
        sizes.ctypes.data,
        sizes.strides[0],
        len(words),
        found.ctypes.data,
    )
    return found


def _of_tuples(count: int, items: Sequence[Words]) -> Words:
    found = np.full(count, hash_tuple_start.py_func(len(items)), dtype=np.int64)
    for item in items:
        hash_further(found.ctypes.data, item.ctypes.data, count)
    return found
