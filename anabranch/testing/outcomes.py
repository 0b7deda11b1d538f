"""What a run has done, so that it can be compared bit by bit, and the first difference shown.

Law: two values have one canonical form exactly if they are the same. Any NaN is the same as any other, -0.0 is not 0.0,
1 is not 1.0 nor True; frozen or not does not matter, nor does the order of dicts and sets.
"""

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from anabranch.lang import DenseMatrix, DenseVector, Value, Vector
from anabranch.lang.marks import is_builtin
from anabranch.lang.scalars import short

NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Result:
    """A value in canonical form, and as it came."""

    value: Any
    raw: Any = field(default=None, compare=False, repr=False)

    @property
    def shown(self) -> str:
        return short(self.raw)


@dataclass(frozen=True, slots=True)
class Failure:
    """An exception: the name of its type, its arguments in canonical form, and as it is shown."""

    error: str
    args: Any
    shown: str = field(default="", compare=False, repr=False)


Answer = Result | Failure


@dataclass(frozen=True, slots=True)
class Contents:
    """The entries of a state in canonical form, and as they are: pairs of key and value."""

    form: Any
    cells: Sequence[tuple[Any, Any]] = field(compare=False, repr=False)


@dataclass(frozen=True)
class Outcome:
    """One answer for each request, and every state at the end: None where it is no one value."""

    answers: tuple[Answer, ...]
    states: Mapping[str, Contents | None]


def answer_of(ask: Callable[[], Any]) -> Answer:
    """What comes of a request."""
    try:
        value = ask()
    except Exception as error:
        return failure(error)
    return Result(canonical(value), value)


def failure(error: BaseException) -> Failure:
    return Failure(type(error).__name__, canonical(error.args), f"raised {short(error)}")


def assert_same(plain: Outcome, found: Outcome, requests: Iterable[object] = (), way: str = "") -> None:
    """Raise an `AssertionError` that shows the first difference, if there is one."""
    told = difference(plain, found, requests)
    if told is not None:
        raise AssertionError(f"not as the plain run{way}: {told}")


def difference(plain: Outcome, found: Outcome, requests: Iterable[object] = ()) -> str | None:
    """The first in which a run is not as the plain run, to be read by people. `requests` as they are to be shown."""
    texts = [*map(str, requests)]
    for number, (wanted, got) in enumerate(zip(plain.answers, found.answers, strict=False)):
        if wanted != got:
            asked = f": {texts[number]}" if texts else ""
            return _told(f"request {number}{asked}", wanted.shown, got.shown)
    if len(plain.answers) != len(found.answers):
        return _told("the number of answers", str(len(plain.answers)), str(len(found.answers)))
    for name, contents in found.states.items():
        before = plain.states[name]
        if contents is not None and before is not None and contents != before:
            return difference_of_states(name, before, contents)
    return None


def difference_of_states(name: str, plain: Contents, found: Contents) -> str:
    wanted, got = dict(plain.cells), dict(found.cells)
    at = [key for key in {**wanted, **got} if _form(wanted, key) != _form(got, key)]
    if not at:
        return _told(f"state {name} at the end", short(plain.form), short(found.form))
    more = f", and {len(at) - 1} more" if len(at) > 1 else ""
    return _told(f"state {name} at the end, {_place(at[0])}{more}", _shown(wanted, at[0]), _shown(got, at[0]))


def _form(cells: Mapping[Any, Any], key: Any) -> Any:
    return canonical(cells[key]) if key in cells else None


def _shown(cells: Mapping[Any, Any], key: Any) -> str:
    return short(cells[key]) if key in cells else NOTHING


class _Attribute(str):
    """What stands in place of a key where there is none."""


def _place(key: Any) -> str:
    return f".{key}" if isinstance(key, _Attribute) else f"[{short(key)}]"


def _told(what: str, plain: str, found: str) -> str:
    return f"{what}\n  plain:  {plain}\n  engine: {found}"


def canonical(value: Any) -> Any:
    """A value that equals another one's exactly if both are the same.

    >>> canonical([0.0, 1]) == canonical([-0.0, 1]), canonical(float("nan")) == canonical(-float("nan"))
    (False, True)
    """
    match value:
        case None | bool() | str() | bytes():
            return (type(value).__name__, value)
        case int():
            return ("int", int(value))
        case float():
            return ("float", "nan" if value != value else struct.pack(">d", value).hex())
        case tuple() if hasattr(value, "_fields"):
            return (type(value).__name__, *((f, canonical(x)) for f, x in zip(value._fields, value, strict=True)))
        case list() | tuple():
            return ("list" if isinstance(value, list) else "tuple", *map(canonical, value))
        case dict():
            return ("dict", *sorted(((canonical(k), canonical(x)) for k, x in value.items()), key=repr))
        case set() | frozenset():
            return ("set", *sorted(map(canonical, value), key=repr))
        case Vector():
            return ("Vector", *((i, canonical(x)) for i, x in value.items()))
        case DenseVector():
            return ("DenseVector", *map(canonical, value.tolist()))
        case np.ndarray():
            return ("array", str(value.dtype), value.shape, canonical(value.tolist()))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return (type(value).__name__, *((f.name, canonical(getattr(value, f.name))) for f in dataclasses.fields(value)))
    if hasattr(value, "__arrow_c_stream__"):
        import pyarrow as pa

        table = pa.table(value)
        return ("table", str(table.schema), canonical(table.to_pydict()))
    return (type(value).__name__, repr(value))


def state_contents(state: Any) -> Contents:
    """The entries of a state object, whatever the order in which they were stored."""
    match state:
        case Value():
            return Contents(("Value", canonical(state.value)), [(_Attribute("value"), state.value)])
        case DenseVector():
            return Contents(canonical(state), [*enumerate(state.tolist())])
        case DenseMatrix():
            rows = state.tolist()
            form = ("DenseMatrix", *(canonical(row) for row in rows))
            return Contents(form, [((i, j), x) for i, row in enumerate(rows) for j, x in enumerate(row)])
    if is_builtin(state):
        cells = [*state.items()]
        entries = sorted(((canonical(k), canonical(x)) for k, x in cells), key=repr)
        return Contents((type(state).__name__, *entries), cells)
    own = {name: x for name, x in vars(state).items() if name not in ("_journal", "_frozen")}
    return Contents((type(state).__name__, canonical(own)), [(_Attribute(name), x) for name, x in own.items()])
