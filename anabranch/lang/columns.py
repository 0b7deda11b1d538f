"""Batches: read what `many` is given into checked rows, and give results in kind.

A batch is a dict of columns, Arrow data (anything with `__arrow_c_stream__`, a record batch) or a list of rows. The
columns are the parameters of the entry; a single record parameter takes its fields as columns instead.

Law: the first bad input is that of the lowest row, and in it of the first column.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from anabranch.lang import types
from anabranch.lang.arrow import arrow_array, arrow_field, arrow_type, from_arrow, to_arrow
from anabranch.lang.arrow_columns import arrow_column, arrow_values, is_objects, object_values
from anabranch.lang.binding import Refused, check_argument, default_of
from anabranch.lang.errors import BadInput
from anabranch.lang.pandas_floats import PandasFloats, integers, marked
from anabranch.lang.scalars import short, show
from anabranch.lang.similar import did_you_mean
from anabranch.lang.spec import EntrySpec, Parameter
from anabranch.lang.types import Type

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Batch", "arrow_array", "arrow_field", "arrow_type", "from_arrow", "is_stream", "read_batch", "to_arrow"]

Row = tuple[Any, ...]


@dataclass(frozen=True)
class Batch:
    """Checked rows, and how to give their results back."""

    rows: list[Row]
    results: Callable[[list[Any]], Any]


def results_of(spec: EntrySpec, data: Any) -> Callable[[list[Any]], Any]:
    """How to give the results of a batch in the form in which it came."""
    if isinstance(data, Mapping):
        return lambda results: result_columns(spec, results)
    if isinstance(data, list):
        return lambda results: None if spec.result == types.NONE else results
    return lambda results: in_kind(data, result_table(spec, results))


def is_stream(data: Any) -> bool:
    """Is this an iterator of batches? A stream of Arrow data is one batch."""
    return hasattr(data, "__next__") and not hasattr(data, "__arrow_c_stream__")


def read_batch(spec: EntrySpec, data: Any) -> Batch:
    if isinstance(data, Mapping):
        return Batch(_rows_of_columns(spec, data), results_of(spec, data))
    if hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__"):
        names, columns, size = _table_columns(spec, data)
        given = dict(zip(names, columns, strict=True))
        if len(given) < len(names):
            raise BadInput(f"two columns have one name in {names}; rename one", entry=spec.name)
        rows = _rows_of_columns(spec, given, size)
        return Batch(rows, results_of(spec, data))
    if isinstance(data, list):
        return Batch(_rows_of_list(spec, data), results_of(spec, data))
    hint = "give a dict of columns, Arrow data, a list of dicts or tuples, or an iterator of such batches"
    if isinstance(data, Iterable) and not isinstance(data, (str, bytes)):
        hint = f"make a list of its rows: list(...); or {hint}"
    raise BadInput(f"expected a batch, got {show(data)}; {hint}", entry=spec.name, value=data)


def fields_of(spec: EntrySpec) -> tuple[Parameter, ...]:
    """The columns of an entry: its parameters, or the fields of its single record parameter."""
    record = record_of(spec)
    return spec.parameters if record is None else _record_columns(record)


def record_of(spec: EntrySpec) -> types.Record | None:
    if len(spec.parameters) == 1 and isinstance(spec.parameters[0].type, types.Record):
        return spec.parameters[0].type
    return None


def _record_columns(record: types.Record) -> tuple[Parameter, ...]:
    if dataclasses.is_dataclass(record.cls):
        optional = {
            f.name
            for f in dataclasses.fields(record.cls)
            if f.default is not dataclasses.MISSING or f.default_factory is not dataclasses.MISSING
        }
    else:
        optional = set(record.cls._field_defaults)  # type: ignore[attr-defined]
    return tuple(Parameter(name, t, None, name in optional) for name, t in record.fields)


# -- rows in ----------------------------------------------------------------------------------------------------


def _rows_of_columns(spec: EntrySpec, given: Mapping[Any, Any], size: int | None = None) -> list[Row]:
    whole = _is_whole(spec, given)
    fields = spec.parameters if whole else fields_of(spec)
    _check_names(spec, fields, given, None)
    columns = {p.name: _values(spec, p, given[p.name]) for p in fields if p.name in given}
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        raise BadInput(f"columns differ in length: {lengths}; give every column one value per row", entry=spec.name)
    count = next(iter(lengths.values()), size or 0)
    build = _builder(spec, fields, whole)
    return [
        _read_row(spec, i, lambda i=i: build({name: values[i] for name, values in columns.items()}))  # type: ignore[misc]
        for i in range(count)
    ]


def _rows_of_list(spec: EntrySpec, data: list[Any]) -> list[Row]:
    record = record_of(spec)
    rows: list[Row] = []
    for i, given in enumerate(data):
        if record is not None and type(given) is record.cls:
            given = {spec.parameters[0].name: given}
            whole = True
        else:
            if isinstance(given, tuple) and hasattr(given, "_asdict"):
                given = given._asdict()  # by name: its order need not be that of the columns
            whole = isinstance(given, Mapping) and _is_whole(spec, given)
        fields = spec.parameters if whole else fields_of(spec)
        if isinstance(given, tuple):
            if len(given) > len(fields):
                names = ", ".join(p.name for p in fields)
                problem = f"expected {len(fields)} values ({names}), got {len(given)}; leave out the last"
                raise BadInput(problem, entry=spec.name, row=i, value=given)
            given = {p.name: x for p, x in zip(fields, given, strict=False)}
        elif not isinstance(given, Mapping):
            hint = f"write ({short(given)},)" if len(fields) == 1 else "give one value per parameter"
            raise BadInput(
                f"expected a dict or a tuple, got {show(given)}; {hint}", entry=spec.name, row=i, value=given
            )
        _check_names(spec, fields, given, i)
        rows.append(_read_row(spec, i, lambda: _builder(spec, fields, whole)(given)))  # noqa: B023
    return rows


def _is_whole(spec: EntrySpec, given: Mapping[Any, Any]) -> bool:
    """Is the single record parameter given as one column of records?"""
    record = record_of(spec)
    return (
        record is not None and set(given) == {spec.parameters[0].name} and record.field(spec.parameters[0].name) is None
    )


def _builder(spec: EntrySpec, fields: tuple[Parameter, ...], whole: bool) -> Callable[[Mapping[str, Any]], Row]:
    record = None if whole else record_of(spec)
    if record is None:
        return lambda given: tuple([_checked(p, given[p.name] if p.name in given else default_of(p)) for p in fields])

    def build(given: Mapping[str, Any]) -> Row:
        checked = {p.name: _checked(p, given[p.name]) for p in fields if p.name in given}
        for p in fields:
            if p.name not in checked and not p.has_default:
                default_of(p)
        try:
            value = record.cls(**checked)
        except Exception as error:
            name = spec.parameters[0].name
            raise Refused(name, f"{record.cls.__name__} refused {checked}: {error}", checked, type(error)) from error
        return (check_argument(spec.parameters[0], value),)

    return build


def _checked(p: Parameter, value: Any) -> Any:
    if isinstance(value, Refused):
        raise value
    return check_argument(p, value)


def _read_row(spec: EntrySpec, i: int, read: Callable[[], Row]) -> Row:
    try:
        return read()
    except Refused as error:
        raise error.as_input(spec.name, i) from error.__cause__


def _check_names(spec: EntrySpec, fields: Sequence[Parameter], given: Mapping[Any, Any], row: int | None) -> None:
    names = [p.name for p in fields]
    for name in given:
        if name not in names:
            do = did_you_mean(name, names) or "leave it out"
            problem = f"no such column; {spec.name} takes {', '.join(names) or 'none'}; {do}"
            raise BadInput(problem, entry=spec.name, row=row, column=str(name), value=given[name])
    for p in fields:
        if p.name not in given and not p.has_default:
            problem = f"missing; expected {p.type}, got only {', '.join(map(str, given)) or 'no column'}"
            raise BadInput(problem, entry=spec.name, row=row, column=p.name)


def _values(spec: EntrySpec, p: Parameter, column: Any) -> list[Any]:
    """A column as a list of Python values, with a `Refused` in place of what has none."""
    if is_objects(column):
        return object_values(p, column)
    found = integers(p, column)
    if found is not None:
        return found
    if isinstance(column, PandasFloats):
        column = column.column
    arrow = arrow_column(column)
    if arrow is not None:
        return arrow_values(p, arrow)
    no_column = isinstance(column, (str, bytes, Mapping, Set)) or not hasattr(column, "__iter__")
    if no_column or getattr(column, "ndim", 1) == 0:
        problem = f"expected a column of values, got {show(column)}; write [{short(column)}]"
        raise BadInput(problem, entry=spec.name, column=p.name, value=column)
    if _library(column) == "numpy" and column.dtype.kind in "biufUS":
        return column.tolist()  # type: ignore[no-any-return]
    return list(column)


def _table_columns(spec: EntrySpec, data: Any) -> tuple[list[str], list[Any], int]:
    """Names, columns and number of rows of a table."""
    import pyarrow as pa

    if _library(data) == "pandas" and hasattr(data, "columns"):
        # By column: the table as a whole does not say which row is no Arrow value.
        return [str(name) for name in data.columns], [column for _, column in data.items()], len(data)
    try:
        table = pa.Table.from_batches([data]) if isinstance(data, pa.RecordBatch) else pa.table(data)
    except (TypeError, ValueError, OverflowError) as error:
        raise BadInput(f"expected a table, got {show(data)}: {error}", entry=spec.name, value=data) from None
    return table.column_names, marked(table), table.num_rows


def _library(data: Any) -> str:
    return type(data).__module__.partition(".")[0]


# -- results out ------------------------------------------------------------------------------------------------


def result_fields(spec: EntrySpec) -> list[tuple[str, Type, Callable[[Any], Any]]]:
    """The columns of the result: name, type and how to get it from one result."""
    if spec.result is None or spec.result == types.NONE:
        return []
    if isinstance(spec.result, types.Record):
        return [(name, t, lambda x, name=name: getattr(x, name)) for name, t in spec.result.fields]  # type: ignore[misc]
    return [("result", spec.result, lambda x: x)]


def result_columns(spec: EntrySpec, results: list[Any]) -> dict[str, list[Any]] | None:
    fields = result_fields(spec)
    return {name: [get(x) for x in results] for name, _, get in fields} if spec.result != types.NONE else None


def result_table(spec: EntrySpec, results: list[Any]) -> pa.Table | None:
    import pyarrow as pa

    if spec.result == types.NONE:
        return None
    fields = result_fields(spec)
    arrays = [arrow_array(t, [get(x) for x in results]) for _, t, get in fields]
    return pa.Table.from_arrays(arrays, schema=pa.schema([arrow_field(name, t) for name, t, _ in fields]))


def in_kind(data: Any, table: pa.Table | None) -> Any:
    """A data frame in, a data frame out; all else with an Arrow stream gets an Arrow table."""
    library = _library(data)
    if table is not None and library == "pandas":
        frame = table.to_pandas(integer_object_nulls=True)  # not as float, which rounds
        frame.index = data.index  # so that results can be assigned to the rows they belong to
        return frame
    if table is not None and library == "polars":
        return sys.modules["polars"].from_arrow(table)
    return table
