"""Columns of ints of which pandas made floats.

pandas keeps ints in which some are missing as float64, with NaN for what is missing. Law: such a column is taken for
ints where every value in it is one; where a float may have lost something, it is refused. What does not come from
pandas stays what it is: a float is no int.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from anabranch.lang.binding import Refused
from anabranch.lang.scalars import show
from anabranch.lang.spec import Parameter
from anabranch.lang.types import INT, Optional

EXACT = 2**53  # from here on different ints have one float
KEEP = "give the column pandas' dtype 'Int64', which keeps ints beside missing values"


@dataclass(frozen=True)
class PandasFloats:
    """A column of floats that was pandas' before it was Arrow's."""

    column: Any


def marked(table: Any) -> list[Any]:
    """The columns of an Arrow table, those that were float64 in pandas marked; its schema says which."""
    import pyarrow as pa

    told = json.loads((table.schema.metadata or {}).get(b"pandas", b"{}"))
    floats = {each.get("field_name") for each in told.get("columns", []) if each.get("numpy_type") == "float64"}
    named = zip(table.column_names, table.columns, strict=True)
    return [PandasFloats(c) if name in floats and pa.types.is_float64(c.type) else c for name, c in named]


def integers(p: Parameter, column: Any) -> list[Any] | None:
    """The column as ints, with a `Refused` in place of what is none; None if it is no such column."""
    if p.type not in (INT, Optional(INT)) or not _are_pandas_floats(column):
        return None
    values = column.column.to_pylist() if isinstance(column, PandasFloats) else column.tolist()
    return [_integer(p, x) for x in values]


def is_candidate(p_type: Any, column: Any) -> bool:
    """Would `integers` read this column?"""
    return p_type in (INT, Optional(INT)) and _are_pandas_floats(column)


def _are_pandas_floats(column: Any) -> bool:
    if isinstance(column, PandasFloats):
        return True
    of_pandas = type(column).__module__.partition(".")[0] == "pandas"
    return of_pandas and getattr(column, "dtype", None) == np.dtype("float64") and isinstance(column.dtype, np.dtype)


def _integer(p: Parameter, x: float | None) -> Any:
    if x is None or math.isnan(x):
        if p.type != INT:
            return None
        do = f"declare {p.name}: int | None to allow it, or fill it in and {KEEP}"
        return Refused(p.name, f"expected int, got a missing value; {do}", None)
    if x.is_integer() and abs(x) < EXACT:
        return int(x)
    why = "" if not x.is_integer() else ": floats of this size may stand for another int"
    return Refused(p.name, f"expected {p.type}, got {show(x)}{why}; {KEEP}", x)
