"""Fills one state and prints its size; runs in the processes that state_size.py starts.

    python benchmarks/fill_state.py KIND WAY ENTRIES

The growth of the process is counted from a twentieth of the entries on, when all code is loaded and compiled.
"""

from __future__ import annotations

import gc
import json
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from harness import dict_table, require_same
from sensors import Sensor

import anabranch as ab

STATM = Path("/proc/self/statm")
BATCHES = 20


class Floats(ab.Program):
    data: ab.Partitioned[ab.Table[int, float]]

    def put(self, key: int, value: float) -> None:
        self.data[key] = value


class Named(ab.Program):
    data: ab.Partitioned[ab.Table[str, float]]

    def put(self, key: str, value: float) -> None:
        self.data[key] = value


class Records(ab.Program):
    data: ab.Partitioned[ab.Table[int, Sensor]]

    def put(self, key: int, count: int, mean: float, last: float, alarms: int) -> None:
        self.data[key] = Sensor(count, mean, last, alarms)


def floats(numbers: np.ndarray) -> dict[str, Any]:
    return {"key": numbers, "value": numbers / 3}


def named(numbers: np.ndarray) -> dict[str, Any]:
    return {"key": [f"sensor-{n:08}" for n in numbers], "value": numbers / 3}


def records(numbers: np.ndarray) -> dict[str, Any]:
    return {"key": numbers, "count": numbers, "mean": numbers / 3, "last": numbers / 7, "alarms": numbers}


@dataclass(frozen=True, slots=True)
class Kind:
    """A program, the columns of its rows, and the value that a plain version makes of a row."""

    program: type[ab.Program]
    columns: Callable[[np.ndarray], dict[str, Any]]
    value: Callable[..., Any] = lambda value: value


KINDS = {
    "int to float": Kind(Floats, floats),
    "str to float": Kind(Named, named),
    "int to record": Kind(Records, records, Sensor),
}


def batches(kind: Kind, entries: int) -> Iterator[pa.Table]:
    for numbers in np.array_split(np.arange(entries), BATCHES):
        yield pa.table(kind.columns(numbers))


def store(data: dict[Any, Any], kind: Kind, batch: pa.Table) -> None:
    for key, *fields in zip(*(column.to_pylist() for column in batch.columns), strict=True):
        data[key] = kind.value(*fields)


def resident() -> int:
    """Bytes of this process in memory, what the allocators keep for later given back as far as they can."""
    gc.collect()
    pa.default_memory_pool().release_unused()
    pages = int(STATM.read_text(encoding="ascii").split()[1]) if STATM.exists() else 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def growth(kind: Kind, entries: int, put: Callable[[pa.Table], object]) -> float:
    """Bytes an entry by which the process grows while it is fed."""
    before = 0
    for number, batch in enumerate(batches(kind, entries)):
        put(batch)
        del batch
        if number == 0:
            before = resident()
    return (resident() - before) * BATCHES / (BATCHES - 1) / entries


def table(data: dict[Any, Any]) -> pa.Table:
    return dict_table({key: value._asdict() if isinstance(value, Sensor) else value for key, value in data.items()})


def main() -> None:
    kind, way, entries = KINDS[sys.argv[1]], sys.argv[2], int(sys.argv[3])
    data: dict[Any, Any] = {}
    if way == "plain":
        grown = growth(kind, entries, lambda batch: store(data, kind, batch))
        size = sys.getsizeof(data) + sum(sys.getsizeof(key) + deep_size(value) for key, value in data.items())
    else:
        with ab.run(kind.program(), workers=1, tier="compiled") as app:
            grown = growth(kind, entries, app.entries["put"].many)
            size = app.state.data.nbytes
            for batch in batches(kind, entries):
                store(data, kind, batch)
            require_same((table(data), None), (app.state.data.to_arrow(), None), "app and plain")
    print(json.dumps({"bytes": size / entries, "growth": grown}))


def deep_size(value: Any) -> int:
    return sys.getsizeof(value) + (sum(map(sys.getsizeof, value)) if isinstance(value, tuple) else 0)


if __name__ == "__main__":
    main()
