"""Records of a class that is not the one that the app's records get here: taken if they have its name and its fields.

A client without the source of the program writes its own `class Event(NamedTuple)`, and that will do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from anabranch.drivers.typecodes import Rebuild, rebuilder
from anabranch.lang.columns import fields_of, record_of
from anabranch.lang.spec import EntrySpec, Parameter
from anabranch.lang.types import Record


def adopting(spec: EntrySpec) -> Adopting | None:
    """None if no record goes into the entry."""
    found = Adopting(spec)
    return found if any(found.visits.values()) else None


class Adopting:
    """Replaces the records in what an entry is given."""

    def __init__(self, spec: EntrySpec) -> None:
        parameters, columns = spec.parameters, fields_of(spec)
        self.visits = {p.name: _visit(p) for p in (*parameters, *columns)}
        self._parameters, self._columns = [p.name for p in parameters], [p.name for p in columns]
        self._whole = _visit(parameters[0]) if record_of(spec) is not None else None

    def call(self, args: tuple[Any, ...], named: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return self._row(args, self._parameters), self._dict(named)

    def batch(self, data: Any) -> Any:
        """Of Python's values; Arrow has no classes."""
        if isinstance(data, Mapping):
            return {name: self._column(name, column) for name, column in data.items()}
        if not isinstance(data, list):
            return data
        return [self._in_list(row) for row in data]

    def _in_list(self, row: Any) -> Any:
        if self._whole is not None and row.__class__ not in (tuple, dict):
            return self._whole(row)
        if row.__class__ is tuple:
            return self._row(row, self._columns)
        return self._dict(row) if row.__class__ is dict else row

    def _row(self, row: tuple[Any, ...], names: list[str]) -> tuple[Any, ...]:
        known = [self._cell(name, x) for name, x in zip(names, row, strict=False)]
        return (*known, *row[len(known) :])

    def _dict(self, row: dict[str, Any]) -> dict[str, Any]:
        return {name: self._cell(name, x) for name, x in row.items()}

    def _column(self, name: Any, column: Any) -> Any:
        visit = self.visits.get(name)
        return column if visit is None or not isinstance(column, (list, tuple)) else [visit(x) for x in column]

    def _cell(self, name: str, x: Any) -> Any:
        visit = self.visits.get(name)
        return x if visit is None else visit(x)


def _visit(p: Parameter) -> Rebuild | None:
    return None if p.type is None else rebuilder(p.type, _adopted)


def _adopted(t: Record, x: Any, fields: dict[str, Any]) -> Any:
    return x if x.__class__ is t.cls else t.cls(**fields)
