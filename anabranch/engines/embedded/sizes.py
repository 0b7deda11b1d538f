"""How much memory Python objects take: exact for few entries, estimated from a sample for many."""

from __future__ import annotations

import sys
from itertools import islice
from typing import Any

from anabranch.lang.marks import is_builtin

SAMPLE = 1000


def size_of(part: Any) -> int:
    """Bytes of a state object.

    >>> from anabranch.lang import Table
    >>> size_of(Table({"a": 1})) > size_of(Table()) > 0
    True
    """
    if not is_builtin(part):
        return _deep(vars(part)) if hasattr(part, "__dict__") else sys.getsizeof(part)
    cells = list(islice(part._cells(), SAMPLE))
    count = len(part) if hasattr(part, "__len__") else len(cells)
    frame = sys.getsizeof(part) + 64
    if not cells:
        return frame
    entry = sum(_deep(k) + _deep(x) + 100 for k, x in cells) / len(cells)  # 100: its share of dictionaries
    return round(frame + count * entry)


def _deep(value: Any) -> int:
    size = sys.getsizeof(value)
    if isinstance(value, dict):
        return size + sum(_deep(k) + _deep(x) for k, x in value.items())
    if isinstance(value, list | tuple | set | frozenset):
        return size + sum(map(_deep, value))
    if hasattr(value, "_data"):
        return size + _deep(value._data)
    return size
