"""How each state of a program is laid out in flat memory, or why it is not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from anabranch.graph.code import Access, walk
from anabranch.graph.nodes import Graph, State
from anabranch.kernels.native.layout import NotInKernels, has_sparse, kinds
from anabranch.kernels.native.lines import LINE_WORDS
from anabranch.kernels.native.registers import registers
from anabranch.lang import DenseMatrix, DenseVector, Matrix, Table, Value, Vector
from anabranch.lang.table import MISSING, Missing
from anabranch.lang.types import FLOAT, INT, NONE, Tuple, Type, thaw


@dataclass(frozen=True, slots=True)
class Shape:
    """`number` is that of its store in an instance. An entry is its meta word, its key and its value.

    `axis` says of a matrix what its lines are; `default` holds that of a table, if it has one. `why` is the reason for
    which it is not laid out, empty where it is.
    """

    name: str
    number: int
    cls: type
    key: Type
    value: Type
    axis: str | None
    default: tuple[Any] | None
    why: str
    by_key: bool = True  # does the whole key say who owns an entry?
    walked: bool = False  # are lines of the matrix handed out, to be walked?

    @property
    def fits(self) -> bool:
        return not self.why

    @property
    def offset(self) -> int:
        """Where the value begins in an entry."""
        return 8 + 8 * len(kinds(self.key))

    @property
    def width(self) -> int:
        """Words of the value."""
        return LINE_WORDS if self.cls is Matrix else len(kinds(self.value))

    @property
    def size(self) -> int:
        """Bytes of an entry."""
        return self.offset + 8 * self.width


def shapes(graph: Graph, templates: dict[str, Any] | None = None) -> dict[str, Shape]:
    """By state. `templates` are the states as a program starts with them; without them defaults are not known."""
    return {s.name: _shape(graph, i, s, templates) for i, s in enumerate(graph.states)}


def _shape(graph: Graph, number: int, state: State, templates: dict[str, Any] | None) -> Shape:
    key: Type = NONE
    value: Type = FLOAT
    axis, why = None, ""
    default: tuple[Any] | None = None
    try:
        if state.cls is Table:
            assert state.key is not None and state.value is not None
            key, value = state.key, thaw(state.value)
            kinds(key)
            _require_kept(value)
            held = templates[state.name]._default if templates else MISSING
            default = None if isinstance(held, Missing) else (held,)
        elif state.cls is Value:
            assert state.value is not None
            value = thaw(state.value)
            _require_kept(value)
        elif state.cls is Vector:
            key = INT
        elif state.cls is Matrix:
            key, axis = INT, _axis(graph, state)
        elif state.cls in (DenseVector, DenseMatrix):
            value = Tuple((INT, INT, INT))  # see `arrays`
        else:
            why = f"{state.name} is of an own state type, {state.cls.__name__}"
    except NotInKernels as error:
        why = f"{state.name}: {error}"
        key, value = NONE, FLOAT
    by_key, walked = state.axis in (None, "key", axis), axis in _methods(graph, state)
    return Shape(state.name, number, state.cls, key, value, axis, default, why, by_key, walked)


def _require_kept(value: Type) -> None:
    """Refuse values that no store keeps."""
    kinds(value)
    registers(value)
    if has_sparse(value):
        raise NotInKernels("a sparse vector as a value of a state")


def _axis(graph: Graph, state: State) -> str:
    """The lines of a matrix are what it is partitioned by; else columns where it is used by columns alone."""
    if state.axis in ("row", "column"):
        return state.axis
    used = _methods(graph, state)
    return "column" if used & {"dot", "column"} and not used & {"row", "set_row", "rows"} else "row"


def _methods(graph: Graph, state: State) -> set[str]:
    return {s.method for e in graph.entries for s in walk(e.body) if isinstance(s, Access) and s.state == state.name}
