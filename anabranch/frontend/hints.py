"""What to write instead, for a state of each type.

Laws: a hint about a state names only what that state has (tests/frontend/test_hints.py); it is written with the
state's own name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from anabranch.frontend.states import Misuse, Use, method_names, use
from anabranch.graph.nodes import State
from anabranch.lang import DenseMatrix, DenseVector, Matrix, Table, Value, Vector
from anabranch.lang.distribution import Distribution
from anabranch.lang.similar import with_question
from anabranch.lang.types import Dict, List, Set, Type, freeze

_INDEX: Mapping[type, str] = {Table: "key", Vector: "i", DenseVector: "i", Matrix: "i, j", DenseMatrix: "i, j"}
_WHOLE: Mapping[type, str] = {
    Table: ".items()",
    Vector: ".items()",
    Matrix: ".items()",
    DenseVector: ".tolist()",
    DenseMatrix: ".tolist()",
    Value: ".value",
}
_FIXED_SHAPE = (DenseVector, DenseMatrix)


def known_of(name: str, known: Sequence[str], otherwise: str = "check the name") -> str:
    """What there is, and which of it was probably meant."""
    return with_question(f"it has {', '.join(known)}", name, known) if known else otherwise


def read_of(state: State) -> str:
    """How to read the state where it was used as a value."""
    if state.distribution is not Distribution.PARTITIONED:
        return _joined(f"self.{state.name}{part}" for part in (_entry_read(state), _whole_read(state)))
    one = f"read one entry: self.{state.name}{_entry_read(state)}"
    parts = _parts(state)
    return f"{one}, or each worker's part: {parts}" if parts else one


def everywhere_read_of(state: State, expression: str) -> str:
    """How to read the state on every instance; `expression` is what stands for it."""
    if state.distribution is Distribution.PARTITIONED and not _parts(state):
        return read_by_key(state)
    verb = "read its value" if state.cls is Value else "call a method of it"
    return f"{verb}: {expression}{_whole_read(state)}"


def whole_of(state: State, writes: bool) -> str:
    """What to write for an operation on the whole of a partitioned state."""
    if writes:
        return write_by_key(state)
    parts = _parts(state)
    look = f", or look at each worker's part: ab.gather({parts})" if parts else ""
    return f"use one key: self.{state.name}{_entry_read(state)}{look}"


def read_by_key(state: State) -> str:
    return f"read it by key without everywhere: self.{state.name}{_entry_read(state)}"


def write_by_key(state: State) -> str:
    return f"write by key: self.{state.name}{_entry_write(state)}"


def assignment_of(state: State) -> str:
    """What to write instead of `self.STATE = ...`."""
    if state.distribution is Distribution.PARTITIONED:
        return f"write its entries: self.{state.name}{_entry_write(state)}"
    name = _written(state)
    if state.cls is Value:
        return f"write its value: {name}.value = ..."
    entries = f"{name}{_entry_write(state)}"
    if "assign" in method_names(state):
        return f"write its entries, {entries}, or all of it: {name}.assign(...)"
    return f"write its entries: {entries}"


def deletion_of(state: State) -> str:
    """What to write instead of `del self.STATE`."""
    name = _written(state)
    if state.cls is Table:
        return f"delete an entry: del {name}[key]"
    if state.cls in (Vector, Matrix):
        return f"store 0.0 to remove an entry: {name}[{_INDEX[state.cls]}] = 0.0"
    return f"a state stays: {assignment_of(state)}"


def write_everywhere(state: State, method: str) -> str:
    """The same write on every instance."""
    on_all = f"ab.everywhere(self.{state.name})"
    match method:
        case "__setitem__":
            return f"{on_all}[{_INDEX[state.cls]}] = ..."
        case "__delitem__":
            return f"del {on_all}[{_INDEX[state.cls]}]"
        case "value=":
            return f"{on_all}.value = ..."
    return f"{on_all}.{method}(...)"


def new_value(states: Iterable[State], kind: Type) -> str:
    """How to change a value that belongs to state, in terms of the state if only one can have handed it out."""
    change = _changed(kind)
    if change is None:
        return "write the entry of the state itself, or change a copy: x = x.copy()"
    holders = [s for s in states if s.cls in (Table, Value) and s.value is not None and freeze(s.value) == freeze(kind)]
    if len(holders) != 1:
        return f"new = {change.format('old')}, and store new"
    state = holders[0]
    target = _written(state)
    if state.cls is Value:
        return f"{target}.value = {change.format(f'self.{state.name}.value')}"
    return f"{target}[key] = {change.format(f'self.{state.name}.get(key, {_empty(kind)})')}"


def _written(state: State) -> str:
    """The expression that is written to: replicated state is written on all instances."""
    name = f"self.{state.name}"
    return f"ab.everywhere({name})" if state.distribution is Distribution.REPLICATED else name


def _changed(kind: Type) -> str | None:
    match kind:
        case List():
            return "{} + [x]"
        case Dict():
            return "{} | {{k: x}}"
        case Set():
            return "{} | {{x}}"
    return None


def _empty(kind: Type) -> str:
    return {List: "[]", Dict: "{}"}.get(type(kind), "set()")


def _joined(parts: Iterable[str]) -> str:
    return "read what is needed: " + ", ".join(dict.fromkeys(parts))


def _entry_read(state: State) -> str:
    if state.cls is Value:
        return ".value"
    index = _INDEX.get(state.cls)
    return f"[{index}]" if index else _own_call(state, writes=False)


def _entry_write(state: State) -> str:
    index = _INDEX.get(state.cls)
    return f"[{index}] = ..." if index else _own_call(state, writes=True)


def _whole_read(state: State) -> str:
    return _WHOLE.get(state.cls) or _own_call(state, writes=False)


def _parts(state: State) -> str | None:
    """Each worker's part of a partitioned state; None where the type has no parts, or no method that reads one."""
    if state.cls in _FIXED_SHAPE:
        return None
    whole = _WHOLE.get(state.cls)
    if whole is None:
        found = [n for n in method_names(state) if _reads_whole(use(state, n, ()))]
        if not found:
            return None
        whole = f".{found[0]}()"
    return f"ab.everywhere(self.{state.name}){whole}"


def _reads_whole(found: Use | Misuse | None) -> bool:
    return isinstance(found, Use) and found.whole and not found.writes


def _own_call(state: State, writes: bool) -> str:
    """A call of a method of the user's own type, of its first one that reads or writes."""
    marked = "writes" if writes else "reads"
    marks = {n: getattr(vars(state.cls)[n], "__anabranch_mark__", None) for n in method_names(state)}
    return next((f".{name}(...)" for name, mark in marks.items() if mark == marked), ".NAME(...)")
