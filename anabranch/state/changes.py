"""What an epoch has left of a state, as rows of Arrow columns: what logs and snapshots hold.

The columns of a state are those of `load` (see `tables`), all of them nullable, and `present`: a row in which that is
false says that the entry of its key is gone, and its value is null. An own type has one row, `content`.

Laws: to apply the changes of an epoch to what was there before gives what is there after; to apply them twice changes
nothing more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from anabranch.graph.nodes import State
from anabranch.lang import DenseMatrix, DenseVector, Matrix, Table, Value, Vector
from anabranch.lang.arrow import arrow_array, arrow_type, from_arrow
from anabranch.lang.journal import Journal
from anabranch.lang.marks import _restore, is_builtin
from anabranch.lang.table import MISSING
from anabranch.lang.types import Type
from anabranch.state.own import decode, encode
from anabranch.state.parts import entry_keys
from anabranch.state.tables import load_columns, put, stored_in

if TYPE_CHECKING:
    import pyarrow as pa

PRESENT = "present"
CONTENT = "content"


class Change(NamedTuple):
    """New rows of a state of an instance. With `whole` they are all that there is, else what they name changes."""

    state: str
    instance: int
    whole: bool
    rows: pa.RecordBatch


def schema_of(state: State) -> pa.Schema:
    """The columns in which a state is saved."""
    import pyarrow as pa

    if not is_builtin(state.cls):
        columns: list[tuple[str, Any]] = [(CONTENT, pa.binary())]
    else:
        columns = [(name, arrow_type(t)) for name, t in load_columns(state)]
    return pa.schema([*(pa.field(name, t) for name, t in columns), pa.field(PRESENT, pa.bool_(), nullable=False)])


class OwnCodec(Protocol):
    """The attributes of an own state as bytes; see `own`."""

    def encode(self, attributes: Any) -> bytes: ...
    def decode(self, data: bytes) -> Any: ...


# -- from memory ------------------------------------------------------------------------------------------------------

Keys = dict[Any, None] | None  # of the entries that were written; None for all there is


def written(journal: Journal, parts: Mapping[str, Any]) -> dict[str, Keys]:
    """What the writes that a journal could take back have touched, by state."""
    names = {id(part): name for name, part in parts.items()}
    names |= {id(part._data): name for name, part in parts.items() if isinstance(part, DenseVector | DenseMatrix)}
    found: dict[str, Keys] = {}
    for undo, args in journal.steps():
        owner, key = touched(undo, args)
        name = names.get(id(owner))
        if name is None:  # of a state that is none of these
            continue
        if key is ALL:
            found[name] = None
            continue
        keys = found.setdefault(name, {})
        if keys is not None:
            keys[key] = None
    return found


ALL = object()


def touched(undo: Any, args: tuple[Any, ...]) -> tuple[Any, Any]:
    """The state, or the array of one, that an undo step writes to, and the key of the entry."""
    if undo in (_restore, np.copyto):
        return args[0], ALL
    owner = undo.__self__
    if isinstance(owner, np.ndarray):
        return owner, args[0]
    if undo.__name__ == "_reset" or isinstance(owner, Value):
        return owner, ALL
    return owner, args[:2] if isinstance(owner, Matrix) else args[0]


def rows_of(state: State, part: Any, keys: Iterable[Any] | None, own: OwnCodec) -> pa.RecordBatch:
    """The entries of a plain part that have these keys as they are now, or all there are."""
    import pyarrow as pa

    schema = schema_of(state)
    if not is_builtin(part):
        return pa.record_batch([[own.encode(encode(part))], [True]], schema=schema)
    pairs = _all(part) if keys is None else [(key, _now(part, key)) for key in _each(part, keys)]
    rows = [_row(part, key, value) for key, value in pairs]
    present = [value is not MISSING for _, value in pairs]
    columns = [_array(t, [row[i] for row in rows]) for i, (_, t) in enumerate(load_columns(state))]
    return pa.RecordBatch.from_arrays([*columns, pa.array(present, pa.bool_())], schema=schema)


def _row(part: Any, key: Any, value: Any) -> tuple[Any, ...]:
    if isinstance(part, Value):
        return (value,)
    return (*key, value) if isinstance(part, Matrix | DenseMatrix) else (key, value)


def _array(t: Type, values: list[Any]) -> pa.Array[Any]:
    return arrow_array(t, [None if x is MISSING else x for x in values])


def _all(part: Any) -> list[tuple[Any, Any]]:
    if isinstance(part, Value):
        return [(None, part.value)]
    return [(key, _now(part, key)) for key in entry_keys(part)]


def _now(part: Any, key: Any) -> Any:
    if isinstance(part, Table):
        return part._data.get(key, MISSING)
    return part[key]


def _each(part: Any, keys: Iterable[Any]) -> Iterable[Any]:
    """The keys of entries, where some may be those of whole rows."""
    if not isinstance(part, DenseMatrix):
        return keys
    columns = range(part.shape[1])
    found = [[(key, j) for j in columns] if isinstance(key, int) else [key] for key in keys]
    return dict.fromkeys(key for several in found for key in several)


def slices(state: State, part: Any, own: OwnCodec, rows: int) -> Iterator[pa.RecordBatch]:
    """All of a plain part, some rows at a time. Others may write between two of them.

    Law: what is not written meanwhile is in one of them as it is; what is, is in one of them, or not, or it is gone.
    """
    if not is_builtin(part) or isinstance(part, Value):
        yield rows_of(state, part, None, own)
        return
    keys = list(entry_keys(part))
    for at in range(0, len(keys), rows):
        yield rows_of(state, part, keys[at : at + rows], own)


# -- and back ---------------------------------------------------------------------------------------------------------


def apply_rows(state: State, part: Any, rows: pa.RecordBatch, whole: bool, own: OwnCodec) -> None:
    """Let a plain part hold what these rows say. Nobody else writes to it."""
    columns = [column.to_pylist() for column in rows.columns]
    if not is_builtin(part):
        for content in columns[0]:
            _restore(part, decode(own.decode(content)))
        return
    if whole and isinstance(part, Table | Vector | Matrix):
        part.clear()
    types = [t for _, t in load_columns(state)]
    for i, present in enumerate(columns[-1]):
        key, value = stored_in(state, tuple([from_arrow(t, columns[j][i]) for j, t in enumerate(types)]))
        if present:
            put(part, key, value)
        elif isinstance(part, Table):
            part.pop(key, None)
        else:
            part[key] = 0.0
