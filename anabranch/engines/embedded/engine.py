"""What the engines have in common: a driver, what is remembered of requests, and a run that may be saved."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from anabranch.drivers.durable.marks import Marks
from anabranch.drivers.durable.remembering import Remember
from anabranch.drivers.durable.settings import At, Recovery
from anabranch.drivers.interrupts import HoldBack
from anabranch.graph.nodes import Graph
from anabranch.runtime.routing import Routing


@dataclass(frozen=True)
class Origin:
    """Where a fork stands, and what is remembered of requests there."""

    marks: Marks
    at: At


Plan = Callable[[Routing], Routing | None]  # the next routing after that of today; None if it is to stay


class Engine(ABC):
    """`saved` is the run as it is saved, None if it is not (see `anabranch.drivers.durable.run`)."""

    driver: Any
    saved: Any
    routing: Routing

    def __init__(self, graph: Graph, origin: Origin | None) -> None:
        self.marks, self.remember = Marks() if origin is None else origin.marks, Remember(graph)

    @abstractmethod
    def scale(self, plan: Plan) -> float | None:
        """Go over to another routing while epochs run; gives the seconds in which none could, None if it is to stay."""

    @abstractmethod
    def busy(self) -> list[float | None] | None:
        """The seconds that each worker has worked so far; waits for nobody. None for one that has not answered, and
        nothing while one is missing.
        """

    @abstractmethod
    def held(self) -> list[int]:
        """The bytes of state that each worker has."""

    @property
    def recovery(self) -> Recovery | None:
        return None if self.saved is None else self.saved.recovery

    def checkpoint(self) -> int:
        if self.saved is None:
            raise TypeError("the app has no checkpoint location: start it with ab.run(..., checkpoint='folder')")
        self.driver.desk.refuse_closed()
        with HoldBack():
            found: int = self.saved.snapshots.take()
            return found

    def stop(self) -> None:
        """Answer what has been asked, save what is to be saved, end."""
        in_peace = not self.driver.closed
        if self.saved is not None:
            self.saved.stop(in_peace)
        try:
            self.driver.stop()
        finally:
            if self.saved is not None:
                self.saved.close(in_peace and self.driver.desk.broken is None)
