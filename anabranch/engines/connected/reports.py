"""What an app elsewhere says of itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from anabranch.engines.embedded.explain import EntryExplained, TaskExplained
from anabranch.engines.embedded.hot import HotKey
from anabranch.engines.embedded.metrics import EntryMetrics, Latency, MemoryMetrics, Metrics, Move, TaskMetrics


def read_metrics(given: dict[str, Any]) -> Metrics:
    entries = {
        name: EntryMetrics(**(x | {"latency": None if x["latency"] is None else Latency(**x["latency"])}))
        for name, x in given["entries"].items()
    }
    tasks = {name: TaskMetrics(**x) for name, x in given["tasks"].items()}
    memory = None if given["memory"] is None else MemoryMetrics(**given["memory"])
    moves, hot = tuple(Move(**x) for x in given["moves"]), tuple(HotKey(**x) for x in given["hot"])
    told = {"entries": entries, "tasks": tasks, "memory": memory, "moves": moves, "hot": hot}
    return Metrics(**(given | told))


@dataclass(frozen=True, slots=True, repr=False)
class RemoteExplanation:
    """`str` for a terminal, `to_dict` for JSON, a picture of the graph in notebooks."""

    entries: tuple[EntryExplained, ...]
    _text: str = field(repr=False)
    _given: dict[str, Any] = field(repr=False)
    _svg: str = field(repr=False)

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return self._text

    def to_dict(self) -> dict[str, Any]:
        return self._given

    def _repr_html_(self) -> str:
        return self._svg


def read_explanation(text: str, given: dict[str, Any], svg: str) -> RemoteExplanation:
    entries = tuple(_entry(name, x) for name, x in given["entries"].items())
    return RemoteExplanation(entries, text, given, svg)


def _entry(name: str, given: dict[str, Any]) -> EntryExplained:
    tasks = tuple(
        TaskExplained(n, **(x | {"reads": tuple(x["reads"]), "writes": tuple(x["writes"])}))
        for n, x in given["tasks"].items()
    )
    return EntryExplained(name, given["dispatch"], given["winding"], given["stages"], tasks)
