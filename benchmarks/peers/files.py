"""Input as CSV, for systems that read no Parquet without more than they ship with; made outside of all timing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as csv
from talk import Spec


def write_csv(folder: Path, batches: Iterable[pa.Table], header: bool) -> str:
    """A folder with a CSV file for each batch; the name of the folder."""
    folder.mkdir()
    options = csv.WriteOptions(include_header=header, quoting_style="none")
    for number, batch in enumerate(batches):
        csv.write_csv(batch, str(folder / f"{number:05}.csv"), options)
    return str(folder)


def two_folders(spec: Spec, parent: Path, header: bool) -> tuple[str, str]:
    """What is there at first (at least one row), and the same with the counted batches behind it.

    What the second takes longer than the first is the time of the counted batches, without that of starting a job.
    """
    before, counted = spec.batches_before(), spec.batches_counted()
    first = write_csv(parent / "before", before or [counted[0].slice(0, 1)], header)
    return first, write_csv(parent / "all", [*before, *counted], header)


def longer(before: Callable[[], float], everything: Callable[[], float]) -> float:
    """Seconds that a job with the counted batches takes longer than one without, after one that makes it warm."""
    everything()
    first, both = before(), everything()
    if both - first < first / 10:
        raise RuntimeError(
            f"a job took {first:.2f} s without the counted rows and {both:.2f} s with them: too few rows"
        )
    return both - first
