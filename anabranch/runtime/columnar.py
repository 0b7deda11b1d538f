"""A request on one worker, stage by stage, through kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anabranch.runtime.exchange import Arrivals
from anabranch.runtime.messages import BeginColumns, Finished, ToCoordinator, WorkerCommand
from anabranch.runtime.rows import StageBatch
from anabranch.runtime.staged import failed, parcels

if TYPE_CHECKING:
    from anabranch.runtime.worker import Worker


class Columnar:
    """A request, stage by stage, through kernels."""

    def __init__(self, worker: Worker, begin: BeginColumns) -> None:
        self.worker, self.runner = worker, worker.runner
        self.version, self.plan, self.placed = begin.version, begin.plan, begin.placed
        self.arrivals = Arrivals(begin.version)
        self.stage = 0
        self.batches: list[StageBatch] | None = None  # those of this stage, one per instance, once all rows are here
        self.boxes: list[Any] = []  # of results

    @property
    def busy(self) -> bool:
        return self.batches is not None

    def go_on(self) -> None:
        """Start the stage at hand if it waits and all it waits for is here."""
        if self.batches is not None or not self.arrivals.complete(self.stage, self.worker.peers):
            return
        boxes = self.arrivals.take(self.stage)
        self.batches = [
            self.runner.stage(self.placed, self.plan, self.stage, i, [b for b in boxes if b.instance == i])
            for i in self.worker.instances
        ]

    def step(self) -> list[WorkerCommand]:
        if self.batches is None:
            return []
        batch = next((b for b in self.batches if b.done < b.total), None)
        if batch is not None:
            try:
                batch.run(self.worker.pace.fast)
            except BaseException as error:
                # As in stages of rows: the request alone, fused, says which exception it is.
                self.worker.job = None
                return [ToCoordinator(failed(self.worker.number, self.version, batch.sequence, error))]
            if any(b.done < b.total for b in self.batches):
                return []
        return self._end_stage(self.batches)

    def _end_stage(self, batches: list[StageBatch]) -> list[WorkerCommand]:
        number, worker_of = self.worker.number, self.runner.routing.worker_of
        leaving: dict[int, list[tuple[int, Any]]] = {peer: [] for peer in self.worker.peers}
        leaving[number] = []
        for batch in batches:
            for box in batch.boxes():
                if box.flow < 0:
                    self.boxes.append(box)
                else:
                    stage = self.plan.stage_of[self.runner.graph.flow(box.flow).target]
                    leaving[worker_of(box.instance)].append((stage, box))
        self.arrivals.add(leaving.pop(number))
        stage, self.stage, self.batches = self.stage, self.stage + 1, None
        if self.stage == self.plan.stages:
            self.worker.job = None
            return [ToCoordinator(Finished(number, self.version, (), tuple(self.boxes), self.placed.request.entry))]
        self.go_on()
        return parcels(self.version, number, stage, leaving, self.worker.pace.parcel)

    @property
    def progress(self) -> float:
        batches = self.batches  # once: another thread may be at the end of the stage
        total = sum(b.total for b in batches) if batches else 0
        share = sum(b.done for b in batches) / total if batches and total else 0.0
        return (self.stage + share) / self.plan.stages
