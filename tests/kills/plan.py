"""How a driver is to be run."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

THREADS, PROCESSES, SPARK, CLUSTER = "threads", "processes", "spark", "cluster"
SPARKS = (SPARK, CLUSTER)


@dataclass(frozen=True, slots=True)
class Plan:
    """`every` is seconds between snapshots, `filled` how many notes there are from the beginning."""

    folder: str
    seed: int
    hosts: str
    workers: int
    tier: str
    every: float
    filled: int

    def text(self) -> str:
        return json.dumps(asdict(self))

    @staticmethod
    def of(text: str) -> Plan:
        return Plan(**json.loads(text))

    @property
    def on_spark(self) -> bool:
        return self.hosts in SPARKS

    @property
    def home(self) -> Path:
        return Path(self.folder)

    @property
    def location(self) -> Path:
        return self.home / "location"

    @property
    def is_filled(self) -> Path:
        """There when the first notes are."""
        return self.home / "filled"

    @property
    def files(self) -> Path:
        """What the stream reads."""
        return self.home / "files"

    @property
    def stream(self) -> Path:
        """What the stream remembers."""
        return self.home / "stream"
