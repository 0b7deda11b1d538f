"""Who asks: clients, what they asked and were told, and what they saw."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from anabranch.runtime.messages import Outcome, Request
from tests.simulation.cases import Rows

Content = dict[str, Any]  # of one instance, by state


@dataclass
class Client:
    """Asks one request after the other, and sometimes looks at all state."""

    number: int
    todo: list[tuple[str, Rows]]
    waiting: int | None = None


@dataclass
class Asked:
    """A request as its client sees it. `after` is how many requests had been answered when it was asked.

    In a story of several runs `at` and `told` are the moments at which it was asked and answered.
    """

    request: Request
    after: int
    outcome: Outcome | None = None
    withdrawn: bool = False
    at: int = 0
    told: int = 0


@dataclass
class Look:
    """State as a client saw it, by instance, after so many requests had run, and after an epoch."""

    ran: int
    instances: dict[int, Content]
    epoch: int


class Stuck(AssertionError):
    """Nothing ends any more."""
