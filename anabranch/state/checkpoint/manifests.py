"""What belongs together: a manifest names the files of a snapshot and where in the logs the changes after it begin.

Laws: `read_manifest` gives what `write_manifest` was given; a manifest is written when all that it names is durable.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from itertools import groupby
from typing import Any

import pyarrow as pa

from anabranch.state.checkpoint.errors import Damaged
from anabranch.state.checkpoint.location import Location
from anabranch.state.checkpoint.sealed import sealed, unsealed
from anabranch.state.checkpoint.snapshots import Chunk

FOLDER = "manifests"
KIND = "manifest"

_NAME = re.compile(rf"{FOLDER}/(\d{{12,}})-(\d{{8,}})\.json")


@dataclass(frozen=True, slots=True)
class SavedState:
    """How a state was declared, and the columns of its rows. `axis` is what its keys name, where that is known."""

    type: str
    distribution: str
    schema: pa.Schema
    axis: str | None = None


@dataclass(frozen=True, slots=True)
class Manifest:
    """A snapshot. Its rows, with the effects of epochs `begun` to `version` applied, are the state after `version`.

    If nothing was changed while it was written, `begun` is `version + 1`: the rows alone are that state.
    """

    generation: int
    begun: int
    version: int
    attempt: int
    sequence: int
    program: str
    fingerprint: str
    instances: int
    instance_of_bucket: tuple[int, ...]
    states: Mapping[str, SavedState]
    chunks: tuple[Chunk, ...]
    first_pieces: Mapping[str, int]
    """For each writer, the piece of the log of its generation with which the effects from `begun` on begin."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    logs: tuple[str, ...] = ()
    """The writers of which that piece was on disk when this was written: if it is not there, it is lost."""

    @property
    def name(self) -> str:
        return f"{FOLDER}/{self.version:012}-{self.generation:08}.json"


def write_manifest(location: Location, manifest: Manifest) -> str:
    """Its name. From now on, the snapshot counts."""
    if not 0 <= manifest.begun <= manifest.version + 1:
        raise ValueError(f"effects are applied from {manifest.begun} on, but the snapshot is of {manifest.version}")
    location.create(manifest.name, sealed(KIND, _content(manifest)))
    return manifest.name


def read_manifest(location: Location, name: str) -> Manifest:
    try:
        content = unsealed(location, name, KIND)
    except FileNotFoundError:
        raise Damaged(name, 0, None, "the file is missing") from None
    try:
        manifest = _manifest(content)
    except (KeyError, TypeError, ValueError, pa.ArrowException) as error:
        raise Damaged(name, 0, None, f"it is no manifest: {error!r}") from error
    if manifest.name != name:
        raise Damaged(name, 0, None, f"it was written as {manifest.name}")
    return manifest


def manifests(location: Location) -> list[str]:
    """The names of all manifests, the newest last: later generations are newer, whatever their version."""
    found = {name: order for name in location.list(FOLDER) if (order := order_of(name))}
    return sorted(found, key=lambda name: found[name])


def order_of(name: str) -> tuple[int, int] | None:
    """The generation and version of a manifest, by its name.

    >>> order_of("manifests/000000000012-00000003.json")
    (3, 12)
    """
    match = _NAME.fullmatch(name)
    return (int(match[2]), int(match[1])) if match else None


def _content(m: Manifest) -> dict[str, Any]:
    states = {
        name: {
            "type": state.type,
            "distribution": state.distribution,
            "axis": state.axis,
            "columns": [[f.name, str(f.type)] for f in state.schema],  # for people
            "schema": base64.b64encode(state.schema.serialize().to_pybytes()).decode("ascii"),
        }
        for name, state in m.states.items()
    }
    return {
        "generation": m.generation,
        "begun": m.begun,
        "version": m.version,
        "attempt": m.attempt,
        "sequence": m.sequence,
        "program": m.program,
        "fingerprint": m.fingerprint,
        "instances": m.instances,
        "instance_of_bucket": [[instance, len(list(run))] for instance, run in groupby(m.instance_of_bucket)],
        "states": states,
        "chunks": [asdict(chunk) for chunk in m.chunks],
        "first_pieces": dict(m.first_pieces),
        "extra": dict(m.extra),
        "logs": list(m.logs),
    }


def _manifest(content: dict[str, Any]) -> Manifest:
    states = {
        name: SavedState(
            state["type"],
            state["distribution"],
            pa.ipc.read_schema(pa.py_buffer(base64.b64decode(state["schema"], validate=True))),
            state.get("axis"),
        )
        for name, state in content["states"].items()
    }
    return Manifest(
        **{
            **content,
            "instance_of_bucket": tuple(i for i, length in content["instance_of_bucket"] for _ in range(length)),
            "states": states,
            "chunks": tuple(Chunk(**chunk) for chunk in content["chunks"]),
            "logs": tuple(content.get("logs", ())),
        }
    )
