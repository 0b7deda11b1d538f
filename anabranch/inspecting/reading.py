"""`ab.read_checkpoint`: a state of a checkpoint location as a table.

Law: it has the rows that `app.state.NAME.to_arrow()` gives in an app that restores that version.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from anabranch.lang.distribution import Distribution
from anabranch.lang.keys import BUCKETS, splitmix64
from anabranch.lang.similar import asks_back, with_question
from anabranch.state.checkpoint.errors import Damaged
from anabranch.state.checkpoint.location import Location, Where, open_location
from anabranch.state.checkpoint.manifests import Manifest, SavedState
from anabranch.state.checkpoint.recovery import Found, find
from anabranch.state.checkpoint.rows import is_dense, is_own, latest_rows, written_rows

T = TypeVar("T")


@asks_back
def read_checkpoint(location: Where | Sequence[Where], state: str, version: int | None = None) -> pa.Table:
    """A state of a checkpoint location as an Arrow table, with the columns of `app.state.NAME.to_arrow()`; of partial
    state, `instance` is the first. Without `version`, the newest. No program is needed, nothing is changed, and a run
    may go on meanwhile.
    """
    return read_at(location, state, version)[1]


def read_at(location: Where | Sequence[Where], state: str, version: int | None) -> tuple[int, pa.Table]:
    """The version that was found, and the state."""
    place = open_location(location, writing=False)
    found, rows = with_found(place, version, lambda found: _rows(found, state))
    saved, snapshot = found.snapshot.states[state], found.snapshot
    if saved.distribution == Distribution.PARTIAL.value:
        numbers = [pa.array(np.full(len(of), i)) for i, of in rows.items()]
        parts = [of.add_column(0, "instance", number) for of, number in zip(rows.values(), numbers, strict=True)]
    elif saved.distribution == Distribution.PARTITIONED.value and is_dense(saved) and snapshot.instances > 1:
        parts = [of.filter(pa.array(_owners(state, of, snapshot) == i)) for i, of in rows.items()]
    else:
        parts = list(rows.values())
    schema = saved.schema
    if saved.distribution == Distribution.PARTIAL.value:
        schema = schema.insert(0, pa.field("instance", pa.int64()))
    return found.version, _as_shown(saved, pa.concat_tables([schema.empty_table(), *parts]))


def found_at(location: Location, version: int | None = None, skip: Sequence[str] = ()) -> Found:
    """What a restore of that version would find."""
    found = find(location, version, skip=skip)
    if found is None:
        raise FileNotFoundError(f"{location.name} holds no checkpoint: no run has begun there")
    if version is not None and found.version < version and not skip:
        newest = find(location)
        if newest is not None and newest.version < version:
            raise ValueError(
                f"{location.name} holds nothing of version {version}: the last that changed anything is "
                f"{newest.version}"
            )
    return found


def with_found(location: Location, version: int | None, use: Callable[[Found], T]) -> tuple[Found, T]:
    """Use what is found. A snapshot whose rows turn out damaged is passed over, if an older one does as well.

    If a run that goes on has made a new snapshot meanwhile and removed an old one, the new one is used.
    """
    found, skipped = found_at(location, version), list[str]()
    while True:
        try:
            return found, use(found)
        except Damaged as error:
            newest = found_at(location, version)
            if newest.name not in (found.name, *skipped):
                found = newest
                continue
            if found.name is None or all(chunk.file != error.file for chunk in found.snapshot.chunks):
                raise
            skipped.append(found.name)
            try:
                older = found_at(location, version, skipped)
            except (Damaged, ValueError):
                raise error from None
            if older.version != found.version:
                raise
            found = older


def _rows(found: Found, name: str) -> dict[int, pa.Table]:
    """The rows of each instance."""
    states = found.snapshot.states
    if name not in states:
        message = f"{found.location.name} has no state {name!r}: states are {', '.join(states) or 'none'}"
        raise ValueError(with_question(message, name, states))
    saved = states[name]
    if is_own(saved):
        raise TypeError(
            f"{name} is {saved.distribution}[{saved.type}], a type of your own: only the program can read it. Start it "
            "with ab.run(..., checkpoint=...) and look at app.state"
        )
    written = written_rows(found, {name})
    return {instance: latest_rows(saved, batches) for (_, instance), batches in sorted(written.items())}


def _as_shown(saved: SavedState, table: pa.Table) -> pa.Table:
    """With the columns that `to_arrow` gives: nullable only if declared so, a single record as its fields."""
    optional = saved.type.endswith(" | None]")
    columns: list[tuple[pa.Field[Any], Any]] = []
    for field in table.schema:
        if field.name == "present":
            continue
        column = table[field.name]
        record = pa.types.is_struct(field.type) and field.type.num_fields and field.type.field(0).name != "0"
        if saved.type.startswith("Value[") and field.name == "value" and record and not optional:
            columns += zip(list(field.type), column.flatten(), strict=True)
        else:
            nullable = (field.name == "value" and optional) or pa.types.is_null(field.type)
            columns.append((field.with_nullable(nullable), column))
    return pa.Table.from_arrays([column for _, column in columns], schema=pa.schema([field for field, _ in columns]))


def _owners(state: str, rows: pa.Table, snapshot: Manifest) -> Any:
    """The instance that owns each place of a dense state."""
    saved = snapshot.states[state]
    if saved.type == "DenseVector":
        name = "index"
    elif saved.axis in ("row", "column"):
        name = saved.axis
    else:
        raise TypeError(
            f"nothing says whether {state}, a {saved.type}, was spread by rows or by columns, so only the program can "
            "put its parts together: start it with ab.run(..., checkpoint=...) and look at app.state"
        )
    places = rows[name].to_numpy()
    known, at = np.unique(places, return_inverse=True)
    of_bucket = snapshot.instance_of_bucket
    owners = np.array([of_bucket[splitmix64(int(place)) % BUCKETS] for place in known], dtype=np.int64)
    return owners[at]
