"""What must be there: the plain run of what was answered, with the first contents and what the stream has brought."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.kills.client import Client, Wrong
from tests.kills.requests import BATCHES, CLIENTS, filling, stream_batch

STATES = ("accounts", "notes", "grid", "done", "seen", "rules", "counts")


def recall(folder: Path, seed: int, filled: int, frames: bool) -> list[Client]:
    """The clients of a story, with all that their journals say."""
    return [Client(folder, seed, number, filled, frames) for number in range(CLIENTS)]


def expected(clients: Sequence[Client], seed: int, filled: int, batches: int) -> dict[str, dict[Any, Any]]:
    """By state: what it holds, without what equals its default."""
    found: dict[str, dict[Any, Any]] = {name: {} for name in STATES}
    found["notes"] = filling(filled)
    for client in clients:
        for name in STATES:
            found[name] |= contents(getattr(client.twin, name))
    counts = Counter[int]()
    for number in range(batches):
        for row in stream_batch(seed, number):
            counts[row["item"]] += row["by"]
    found["counts"] = dict(counts)
    return found


def contents(state: Any) -> dict[Any, Any]:
    return dict(state.items())


def compare(app: Any, wanted: dict[str, dict[Any, Any]]) -> None:
    for name in STATES:
        found = contents(app.state[name].copy())
        if found != wanted[name]:
            raise Wrong(f"{name} is not what was answered: {_difference(found, wanted[name])}")


def batches_in(app: Any, least: int, most: int) -> int:
    """How many batches of the stream are there."""
    found: int = app.state.counts[BATCHES]
    if not least <= found <= most:
        raise Wrong(f"{found} batches of the stream are there, of {most}, of which {least} were done")
    return found


def _difference(found: dict[Any, Any], wanted: dict[Any, Any]) -> str:
    keys = [key for key in {**found, **wanted} if found.get(key) != wanted.get(key)]
    shown = ", ".join(f"[{key!r}] {found.get(key)!r:.80} and not {wanted.get(key)!r:.80}" for key in keys[:3])
    return f"{len(keys)} entries differ: {shown}"
