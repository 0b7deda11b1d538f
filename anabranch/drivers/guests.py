"""Those who read at workers from elsewhere: whoever lets a worker go lets them finish first."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Guests:
    """Law: `wait` waits for those who are there now, and not for who comes later."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._there: set[object] = set()

    @contextmanager
    def stay(self) -> Iterator[None]:
        guest = object()
        with self._changed:
            self._there.add(guest)
        try:
            yield
        finally:
            with self._changed:
                self._there.discard(guest)
                self._changed.notify_all()

    def wait(self, patience: float) -> bool:
        """Whether they have gone."""
        with self._changed:
            now = set(self._there)
            return self._changed.wait_for(lambda: not now & self._there, patience)
