"""How a contender is asked and how it answers, the same for all of them.

    python with_NAME.py SPEC.json

A contender is a script that the Python of its own environment runs, once a round. It gets a file that says what to do,
does one workload, and prints one JSON object on its last line: the seconds of the counted part by its own clock,
without start, imports and reading of files, and the versions of what it used. Its result, where it is asked for one,
goes to an Arrow file. This module needs pyarrow and nothing of anabranch.
"""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq


@dataclass(frozen=True)
class Spec:
    """What to do: `before` are the files of a state that is there at first, `counted` those whose work is timed.

    A file is a batch: what a system takes at once, where it takes batches at all.
    """

    workload: str
    before: tuple[str, ...]
    counted: tuple[str, ...]
    parameters: Mapping[str, Any]
    options: Mapping[str, Any]  # of this contender: how many workers, the address of a server
    out: str
    check: bool

    def batches_before(self) -> list[pa.Table]:
        return [pq.read_table(file) for file in self.before]

    def batches_counted(self) -> list[pa.Table]:
        return [pq.read_table(file) for file in self.counted]


@dataclass(frozen=True)
class Done:
    """Seconds of the counted part; `result` makes a table of what came out, outside of all timing."""

    seconds: float
    result: Callable[[], pa.Table]


Workloads = Mapping[str, Callable[[Spec], Done]]


def answer(workloads: Workloads, packages: tuple[str, ...] = ()) -> None:
    """Do what the command line asks for."""
    given = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    spec = Spec(**{**given, "before": tuple(given["before"]), "counted": tuple(given["counted"])})
    done = workloads[spec.workload](spec)
    if spec.check:
        with pa.OSFile(spec.out, "wb") as file:
            table = done.result()
            with pa.ipc.new_file(file, table.schema) as writer:
                writer.write_table(table)
    versions = {package: version(package) for package in packages}
    print("\n" + json.dumps({"seconds": done.seconds, "versions": versions}), flush=True)


def columns(table: pa.Table) -> list[list[Any]]:
    """The columns as lists, which Python loops over fastest."""
    return [column.to_pylist() for column in table.columns]


def settle() -> None:
    """What a careful user does before a long run: input is out of the garbage collector's sight."""
    gc.collect()
    gc.freeze()


def keyed(entries: Mapping[Any, Any]) -> pa.Table:
    """A dict as a result."""
    return pa.table({"key": pa.array(entries.keys()), "value": pa.array(entries.values())})


def windowed(entries: Mapping[tuple[int, str], int]) -> pa.Table:
    """Counts by window and word as a result."""
    windows, words = [window for window, _ in entries], [word for _, word in entries]
    return pa.table({"window": windows, "word": words, "value": pa.array(entries.values())})


def weigh(items: Any, scores: Any) -> float:
    """One number for a recommendation, exact in any order: scores are whole and small."""
    return float(sum((int(item) + 1) * score for item, score in zip(items, scores, strict=True)))


def turns(table: pa.Table) -> list[tuple[bool, pa.Table]]:
    """Requests to the recommender in their order, cut where ratings end and questions begin; True for questions.

    A question has no item: -1.
    """
    asks = [item < 0 for item in table["item"].to_pylist()]
    cuts = [i for i in range(len(asks)) if i == 0 or asks[i] != asks[i - 1]]
    ends = [*cuts[1:], len(asks)]
    return [(asks[first], table.slice(first, end - first)) for first, end in zip(cuts, ends, strict=True)]
