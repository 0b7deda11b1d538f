"""State of a running app, one entry at a time, also of one instance."""

from __future__ import annotations

from typing import Any

from anabranch.engines.embedded import App
from anabranch.graph.nodes import State
from anabranch.lang import DenseMatrix, Matrix, Value
from anabranch.lang.distribution import Distribution
from anabranch.state.tables import load_columns


def peek(app: App, name: str, key: Any, instance: int | None) -> Any:
    view = app.state[name]
    found = view if instance is None else _of(view.instances(), name, instance)
    if view._state.cls is Value:
        return found.value
    if key is None:
        return view.copy() if instance is None else found
    line = _line(view._state, key)
    return found[key] if line is None else getattr(found, line)(key)


def poke(app: App, name: str, key: Any, value: Any, instance: int | None) -> None:
    view = app.state[name]
    state = view._state
    columns = [column for column, _ in load_columns(state)]
    if state.cls is Value:
        if key is not None:
            raise TypeError(f"{name} is a {state.type}, which has no keys: write kit.poke({name!r}, None, {value!r})")
        row: tuple[Any, ...] = (value,)
    elif state.cls in (Matrix, DenseMatrix):
        if not isinstance(key, tuple) or len(key) != 2:
            raise TypeError(f"a key of {name}, a {state.type}, is (row, column), got {key!r}")
        row = (*key, value)
    else:
        row = (key, value)
    data = {column: [x] for column, x in zip(columns, row, strict=True)}
    if instance is None:
        view.load(data)
        return
    if state.distribution is not Distribution.PARTIAL:
        kind = state.distribution.value
        raise TypeError(f"{name} is {kind}, and only instances of partial state differ: leave out instance=")
    _of(view.instances(), name, instance)
    view._load_instance(instance, data)


def _of(instances: list[Any], name: str, instance: int) -> Any:
    if not 0 <= instance < len(instances):
        raise ValueError(f"{name} has instances 0 to {len(instances) - 1}, got {instance!r}")
    return instances[instance]


def _line(state: State, key: Any) -> str | None:
    """Whether a key is that of a row or a column, and not of one entry."""
    if isinstance(key, tuple):
        return None
    if state.cls in (Matrix, DenseMatrix):
        return "column" if state.axis == "column" else "row"
    return "row" if state.axis == "row" else None
