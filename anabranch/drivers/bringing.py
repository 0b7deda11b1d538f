"""Rows that were staged at the workers, brought to the one place that says what is wrong with them.

The request may have been answered meanwhile, because a worker was lost or the caller has given up: then nobody waits
for the rows, and they may be gone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from anabranch.drivers import pieces
from anabranch.drivers.fleet import Link
from anabranch.drivers.flight import Client, Security
from anabranch.drivers.streams import Broken
from anabranch.drivers.values import Values
from anabranch.runtime.messages import AtWorkers, Collect, Placed


class Bringing:
    def __init__(
        self, links: Mapping[int, Link], security: Security, values: Values, workers: Callable[[], int]
    ) -> None:
        """Rows are at so many workers; others that are there are about to come or to go."""
        self._links, self._security, self._values, self._workers = links, security, values, workers

    def with_rows(self, event: Collect) -> Collect:
        """The same order with the rows themselves. Raises Broken if a worker cannot be reached, or is not there."""
        return replace(event, placed=tuple([self._brought(placed) for placed in event.placed]))

    def _brought(self, placed: Placed) -> Placed:
        rows: Any = placed.request.rows
        if not isinstance(rows, AtWorkers):
            return placed
        found: dict[int, tuple[Any, ...]] = {}
        hello = self._values.encode((placed.request.entry, rows))
        for link in [link for worker in range(self._workers()) if (link := self._links.get(worker)) is not None]:
            client = Client(link.address, self._security)
            try:
                stream = client.open("staged", hello)
                while (data := pieces.receive(stream)) is not None:
                    found.update(self._values.decode(data))
            finally:
                client.close()
        if len(found) < len(rows):
            raise Broken("a worker that has some of the rows is not there")
        values = tuple([found[i] for i in range(len(rows))])
        return placed._replace(request=placed.request._replace(rows=values))
