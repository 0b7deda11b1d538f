"""Iterators given to `many`: of batches, or of rows.

Law: an iterator whose first item can only be a row is a batch of rows; any other is one of batches, one request each.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

from anabranch.lang.columns import is_stream, record_of
from anabranch.lang.spec import EntrySpec


def rows_at_once(spec: EntrySpec, data: Any) -> Any:
    """A list of the rows, where `data` is an iterator of rows; otherwise what was given, nothing of it lost."""
    if not is_stream(data):
        return data
    try:
        first = next(data)
    except StopIteration:
        return iter(())
    except BaseException as error:
        return _raising(error)
    given = itertools.chain((first,), data)
    return list(given) if _is_row(spec, first) else given


def _raising(error: BaseException) -> Iterator[Any]:
    """An iterator that fails as the one given did, where its batches are read."""
    raise error
    yield


def _is_row(spec: EntrySpec, item: Any) -> bool:
    """Is this a row for sure? A dict is one of columns if it may be."""
    record = record_of(spec)
    if isinstance(item, tuple) or (record is not None and type(item) is record.cls):
        return True
    return isinstance(item, Mapping) and any(_is_no_column(value) for value in item.values())


def _is_no_column(value: Any) -> bool:
    return isinstance(value, (str, bytes)) or not hasattr(value, "__iter__")
