"""Pieces of a part: asked for, read, written to, and put together again.

What is found in a part consists of values, `Vector`, `DenseVector` and numpy arrays, so that it can be sent and stored:

| state        | an entry             | a line               | all                                 |
|--------------|----------------------|----------------------|-------------------------------------|
| Table        | `(value,)` or `()`   | a dict by whole keys | a dict                              |
| Vector       | a float              |                      | a Vector                            |
| Matrix       | a float              | a Vector             | two arrays: indices and values      |
| DenseVector  | a float              |                      | an array                            |
| DenseMatrix  | a float              | a DenseVector        | an array                            |
| Value        |                      |                      | the value                           |
| an own type  |                      |                      | a dict by attribute, see `own`      |

Laws: `look_up` changes nothing; `part_of(content(part))` is the same state as `part`, of the plain type; what `apply`
writes, the journal of the part takes back; to apply what `look_up` found in another part makes the two alike there.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from anabranch.graph.nodes import State
from anabranch.lang import DenseMatrix, DenseVector, Matrix, Program, Table, Value, Vector
from anabranch.lang.marks import _before_write, _restore
from anabranch.lang.table import MISSING
from anabranch.lang.types import Tuple
from anabranch.state.own import decode, encode, matrix_arrays, matrix_cells

Found = Any
Effect = tuple[str, str, Any, Found]  # state, unit, key, and what is there now; a line is a row


@dataclass(frozen=True, slots=True)
class Want:
    """A piece of an instance of a state: one entry, a line, or all.

    `key` is the key of the entry as the state stores it, or the number of the line. The lines of a matrix are its rows
    and its columns, as `axis` says; the line of a table is all entries whose keys start with `key`.
    """

    state: str
    instance: int
    unit: str  # "entry", "line" or "all"
    key: Any = None
    axis: str = "row"


def look_up(state: State, part: Any, want: Want) -> Found:
    """What is there, in a plain part or one in flat memory."""
    key = want.key
    match part, want.unit:
        case Table(), "entry":
            return (part[key],) if key in part else ()
        case Table(), "line":
            return {_whole_key(state, key, rest): x for rest, x in part.row(key).items()}
        case ((Vector() | Matrix() | DenseVector() | DenseMatrix()), "entry"):
            return part[key]
        case Matrix(), "line":
            return part.row(key) if want.axis == "row" else part.column(key)
        case DenseMatrix(), "line":
            return part.row(key)
        case _, "all":
            return content(state, part)
    raise AssertionError(f"{state.name} has no {want.unit}")


def content(state: State, part: Any) -> Found:
    """All that a part holds."""
    match part:
        case Table():
            return dict(part.items())
        case Vector():
            return part.copy()
        case Matrix():
            return matrix_arrays(part)
        case DenseVector() | DenseMatrix():
            return part.to_numpy()
        case Value():
            return part.value
    return encode(part)


def apply(state: State, part: Any, effect: Effect) -> None:
    """Let a piece of the part be what the effect says; its journal can take it back."""
    _, unit, key, found = effect
    match part, unit:
        case Table(), "entry":
            if found:
                part[key] = found[0]
            else:
                part.pop(key, None)
        case ((Vector() | Matrix() | DenseVector() | DenseMatrix()), "entry"):
            part[key] = found
        case ((Matrix() | DenseMatrix()), "line"):
            part.set_row(key, found)
        case Matrix(), "all":
            part.assign(Matrix(matrix_cells(*found)))
        case ((Table() | Vector() | DenseVector() | DenseMatrix() | Value()), "all"):
            part.assign(found)
        case _, "all":
            _before_write(part)
            _restore(part, decode(found))
        case _:
            raise AssertionError(f"{state.name} has no effect on a {unit}")


def blank(held: Any) -> Any:
    """A new plain state that has the schema, the default and the shape of another, and nothing of its content.

    A `Value` cannot be without one, and keeps it.
    """
    match held:
        case Table():
            new: Table[Any, Any] = Table()
            new._default = held._default
            new._key, new._value, new._first = held._key, held._value, held._first
            return new
        case Vector():
            return Vector()
        case Matrix():
            return Matrix()
        case DenseVector():
            return DenseVector.zeros(len(held))
        case DenseMatrix():
            return DenseMatrix.zeros(*held.shape)
        case Value():
            return held._copy()
    return object.__new__(type(held))


def part_of(state: State, program: Program, found: Found) -> Any:
    """A new plain part with this content; the program says its schema."""
    part = blank(program.__anabranch_states__[state.name])
    apply(state, part, (state.name, "all", None, found))
    return part


def cells(state: State, kept: Any, want: Want, found: Found) -> Iterable[tuple[Any, Any]]:
    """What was found in a sparse state, by entries; an entry that is known to be absent is MISSING, or 0.0."""
    match kept, want.unit:
        case Table(), "entry":
            return [(want.key, kept._value(found[0]) if found else MISSING)]
        case Table(), _:
            return [(kept._key(k), kept._value(x)) for k, x in found.items()]
        case _, "entry":
            return [(want.key, found)]
        case Matrix(), "line":
            return [((want.key, k) if want.axis == "row" else (k, want.key), x) for k, x in found.items()]
        case Matrix(), _:
            return matrix_cells(*found)
    return found.items()  # type: ignore[no-any-return]


def _whole_key(state: State, first: Any, rest: Any) -> Any:
    pair = isinstance(state.key, Tuple) and len(state.key.items) == 2
    return (first, rest) if pair else (first, *rest)
