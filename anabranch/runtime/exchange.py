"""What has arrived for an attempt at an epoch, and whether a stage has all it waits for.

Laws: a parcel counts once, however often and in whatever order it arrives; a stage is complete when every other worker
has sent its end mark for the stage before and all parcels that the mark counts are here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from anabranch.runtime.messages import End, Rows, Version


class Arrivals:
    """The rows for one attempt, by the stage they are for."""

    def __init__(self, version: Version) -> None:
        self.version = version
        self._rows: dict[int, list[Any]] = {}
        self._parcels: dict[tuple[int, int], set[int]] = {}  # (source, stage) -> numbers of the parcels that are here
        self._ends: dict[tuple[int, int], int] = {}

    def add(self, rows: Iterable[tuple[int, Any]]) -> None:
        for stage, row in rows:
            self._rows.setdefault(stage, []).append(row)

    def receive(self, message: Rows | End) -> None:
        if isinstance(message, End):
            self._ends[message.source, message.stage] = message.parcels
            return
        known = self._parcels.setdefault((message.source, message.stage), set())
        if message.number not in known:
            known.add(message.number)
            self.add(message.rows)

    def complete(self, stage: int, peers: Iterable[int]) -> bool:
        """Has everything arrived that is run in this stage?"""
        return stage == 0 or all(self._ended(peer, stage - 1) for peer in peers)

    def take(self, stage: int) -> list[Any]:
        return self._rows.pop(stage, [])

    def _ended(self, peer: int, stage: int) -> bool:
        parcels = self._ends.get((peer, stage))
        return parcels is not None and len(self._parcels.get((peer, stage), ())) == parcels
