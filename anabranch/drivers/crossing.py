"""What goes between an app and its clients that is not a plain value: tables and whole states.

Laws: a table arrives with its names, types and values, or is `Malformed`; a state arrives with its entries, read-only.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from anabranch.drivers.values import Malformed
from anabranch.lang import DenseMatrix, DenseVector, Matrix, Table, Value, Vector
from anabranch.lang.errors import BadInput
from anabranch.lang.marks import freeze_state
from anabranch.lang.spec import StateSpec
from anabranch.lang.table import Missing
from anabranch.state.own import matrix_arrays, matrix_cells

ROWS = 8  # in a byte: a column of bits has so many, and one that has more would cost memory that nobody sent


def pack_table(table: pa.Table) -> bytes:
    """As a stream of Arrow's IPC."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        for batch in table.to_batches():
            if batch.num_rows:  # Arrow 26 writes some slices without rows so that nobody can read what comes after
                writer.write_batch(batch)
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]


def unpack_table(data: bytes) -> pa.Table:
    try:
        with pa.ipc.open_stream(data) as reader:
            table = reader.read_all()
        table.validate()
        if table.num_rows > ROWS * len(data):
            raise ValueError(f"it says that it has {table.num_rows} rows")
    except (pa.ArrowException, OSError, ValueError, TypeError) as error:
        raise Malformed(f"{len(data)} bytes are no table: {error}") from None
    return table


def refuse_invalid(table: pa.Table, entry: str) -> None:
    """Offsets that lead outside, text that is no UTF-8: whoever read that would read the memory of others."""
    try:
        table.validate(full=True)
    except (pa.ArrowException, ValueError) as error:
        raise BadInput(f"expected a table, got one that is damaged: {error}", entry=entry) from None


def pack_state(state: Any) -> Any:
    """A copy of a state as a value; of an own type only its name, since its code stays where the app is."""
    match state:
        case Vector() | DenseVector():
            return ("vector", state)
        case Table():
            default = () if isinstance(state._default, Missing) else (state._default,)
            return ("table", default, dict(state._cells()))
        case Matrix():
            return ("matrix", *matrix_arrays(state))
        case DenseMatrix():
            return ("dense matrix", state.to_numpy())
        case Value():
            return ("value", state.value)
    return ("own", type(state).__name__)


def unpack_state(packed: Any, spec: StateSpec) -> Any:
    match packed:
        case ("vector", Vector() | DenseVector() as vector):
            return freeze_state(vector)
        case ("table", tuple(default), dict(entries)):
            table: Table[Any, Any] = Table(**({"default": default[0]} if default else {}))
            table._schema(spec.key, spec.value)
            table._data = entries  # as they were stored: checked and frozen
            return freeze_state(table)
        case ("matrix", indices, entries):
            return freeze_state(Matrix(matrix_cells(indices, entries)))
        case ("dense matrix", array):
            return freeze_state(DenseMatrix(array))
        case ("value", content):
            value: Value[Any] = Value(content)
            value._schema(spec.key, spec.value)
            return freeze_state(value)
        case ("own", str(name)):
            raise TypeError(
                f"{spec.name} is a {name}, an own type, whose code is where the app is: "
                "over a connection only its methods and properties can be used"
            )
    raise Malformed(f"this is no state: {packed!r:.100}")
