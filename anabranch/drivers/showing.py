"""Whole states as rows of Arrow columns, for who looks at them between two epochs.

Where workers are apart they send slices of what they have, one for each time they are asked. Law: what is asked for
while one holds the state is of one version.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

from anabranch.drivers.answers import Gone, Holding, Questions, Relents, without_problems
from anabranch.drivers.desk import Desk
from anabranch.drivers.durable.copying import FLAT_SLICE, rows_in
from anabranch.drivers.durable.owns import Owns
from anabranch.drivers.host_messages import Show, Shown
from anabranch.graph.nodes import Graph, State
from anabranch.runtime.memory import Memory
from anabranch.runtime.worker import Worker
from anabranch.state.changes import schema_of

log = logging.getLogger(__name__)

SOME = 1 << 16  # rows of plain state in a slice


def shown_here(graph: Graph, state: State, parts: list[Any]) -> list[pa.RecordBatch]:
    """What these parts of a state hold."""
    return [rows for part in parts for rows in rows_in(state, part, Owns(graph), SOME, FLAT_SLICE)]


def ask_to_show(
    desk: Desk, questions: Questions, workers: int, state: State, interrupts: Relents
) -> list[pa.RecordBatch]:
    """What all workers hold of a state, for one who holds the state."""
    coordinator, schema, found = desk.coordinator, schema_of(state), list[pa.RecordBatch]()
    asked, first = set(range(workers)), True
    while asked:
        number = next(desk.numbers)
        order = Show(number, state.name, first, coordinator.reserved, coordinator.committed)
        answers = questions.ask(number, dict.fromkeys(asked, order), Holding(desk, interrupts))
        if any(shown.late for shown in answers.values()):
            raise Gone("that held part of it")
        without_problems(answers)
        for _, shown in sorted(answers.items()):
            if shown.rows is not None:
                found.append(pa.ipc.read_record_batch(pa.py_buffer(shown.rows), schema))
        asked, first = {worker for worker, shown in answers.items() if shown.rows is not None}, False
    return found


class Showing:
    """At a worker."""

    def __init__(self, graph: Graph, tell: Callable[[Shown], None]) -> None:
        self._graph, self._tell, self._own = graph, tell, Owns(graph)
        self._slices: Iterator[Any] = iter(())

    def show(self, order: Show, worker: Worker) -> None:
        """On the machine's thread, while no epoch runs."""
        try:
            if worker.instances and not worker.rest(order.version, order.committed):
                self._tell(Shown(order.number, None, late=True))
                return
            if order.first:
                self._slices = self._walk(self._graph.state(order.state), worker.memory, worker.instances)
            rows = next(self._slices, None)
            self._tell(Shown(order.number, None if rows is None else rows.serialize().to_pybytes()))
        except Exception as error:
            log.exception("%s could not be shown", order.state)
            told = "".join(traceback.format_exception_only(error)).strip()
            self._tell(Shown(order.number, None, told))

    def _walk(self, state: State, memory: Memory, instances: Any) -> Iterator[Any]:
        for instance in instances:
            yield from rows_in(state, memory.of_instance[instance][state.name], self._own, SOME, FLAT_SLICE)
