"""A client: it asks one request after the other, writes down before and after, and compares each answer.

Its journal outlives the process: what was begun, what was answered and with what, and what became of a request whose
answer never came. Laws: an answer is that of the plain run of the client's requests; a request that was answered stays
answered; one whose answer was lost is there once or not at all, and once if it is repeated with its id.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

from tests.kills.requests import FILLED, FRAME_EVERY, Request, as_frame, fill_text, request_of
from tests.kills.store import Store

BEGUN, ANSWERED, LEFT_OUT, THERE = "begun", "answered", "left out", "there"
Frame = Any  # makes a DataFrame of columns


class Wrong(AssertionError):
    """What was answered, or is there, is not what should be."""


class Journal:
    """Lines of a file: a kill loses at most the line that is being written."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def write(self, what: str, number: int, answer: Any = None) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps([what, number, answer]) + "\n")

    def read(self) -> Iterator[tuple[str, int, Any]]:
        if self._path.exists():
            for line in self._path.read_text(encoding="utf-8").splitlines(keepends=True):
                if line.endswith("\n"):
                    yield tuple(json.loads(line))


class Client:
    """`twin` is the plain program with what this client did; `last` the number of the last request that is in it."""

    def __init__(
        self, folder: Path, seed: int, number: int, filled: int, frames: bool, upto: int | None = None
    ) -> None:
        """With `upto` it knows of no later request than that."""
        self.number, self._seed, self._filled, self._frames = number, seed, filled, frames
        self._folder, self._upto = folder, upto
        self._journal = Journal(folder / f"client-{number}")
        self.twin, self.last, self.answered = Store(), 0, 0
        self.pending = 0  # the request whose answer never came
        self._there: list[Any] | None = None  # what it must give, if it was carried out
        self._recall()

    def at(self, number: int) -> Client:
        """The same client after a request, which may be the one whose answer never came."""
        found = Client(self._folder, self._seed, self.number, self._filled, self._frames, number)
        if found.pending == number != 0:
            found._plain(number)
        if found.reached != number:
            raise Wrong(f"request {number} of client {self.number} is there, which was never carried out")
        return found

    def _recall(self) -> None:
        """Do what the journal says was done."""
        for what, number, answer in self._journal.read():
            if self._upto is not None and number > self._upto:
                return
            if what == BEGUN:
                self.pending = number
                continue
            self.pending = 0
            if what == LEFT_OUT:
                self.last = number
                continue
            expected = self._plain(number)
            if what == ANSWERED:
                self.answered += 1
                self._compare(number, answer, expected)

    def request(self, number: int) -> Request:
        if self._is_frame(number):
            return as_frame(self._seed, self.number, number)
        return request_of(self._seed, self.number, number, self._filled)

    def _is_frame(self, number: int) -> bool:
        return self._frames and self.number == 0 and number % FRAME_EVERY == 0

    def _plain(self, number: int) -> list[Any]:
        """The request on the twin."""
        entry, rows, _ = self.request(number)
        for row in rows:
            if entry == "note" and (key := row[2]).startswith(FILLED) and key not in self.twin.notes:
                self.twin.notes[key] = fill_text(key)
        self.last = number
        return [getattr(self.twin, entry)(*row) for row in rows]

    def _compare(self, number: int, found: list[Any], expected: list[Any]) -> None:
        if found != expected:
            raise Wrong(f"request {number} of client {self.number} gave {found}, expected {expected}")

    # -- against the app ----------------------------------------------------------------------------------------------

    def look(self, app: Any) -> None:
        """After a restart: is the request there whose answer never came? If so it is in the twin."""
        reached, pending = app.state.done[self.number], self.pending
        if pending and reached == pending:
            self._there = self._plain(pending)
        elif reached != self.reached:
            raise Wrong(f"client {self.number} was answered up to {self.reached}, and {reached} is the last there")

    def settle(self, app: Any) -> str | None:
        """After `look`: repeat that request with its id, or leave it as it is; says what became of it."""
        number, there = self.pending, self._there is not None
        if not number:
            return None
        chance = Random(f"settle {self._seed} {self.number} {number}")
        if self._is_frame(number) or chance.random() < 0.3:
            self._journal.write(THERE if there else LEFT_OUT, number)
        else:
            found = self._send(app, number)
            self._compare(number, found, self._plain(number) if self._there is None else self._there)
            self._journal.write(ANSWERED, number, found)
        self.last, self.pending = number, 0
        return "requests in flight that were there" if there else "requests in flight that were not"

    @property
    def reached(self) -> int:
        """The number of its last request that was carried out, as far as it knows."""
        return self.twin.done[self.number]

    def run(self, app: Any, over: threading.Event, frame: Frame) -> None:
        while not over.is_set():
            self.step(app, frame)

    def step(self, app: Any, frame: Frame) -> None:
        number = self.last + 1
        self.pending = number
        self._journal.write(BEGUN, number)
        answer = self._feed(app, number, frame) if self._is_frame(number) else self._ask(app, number)
        self._journal.write(ANSWERED, number, answer)
        self.pending = 0
        self.answered += 1
        if number % 17 == 0 and not self._is_frame(number):
            self._compare(number, self._send(app, number), answer)

    def _ask(self, app: Any, number: int) -> list[Any]:
        found = self._send(app, number)
        self._compare(number, found, self._plain(number))
        return found

    def _send(self, app: Any, number: int) -> list[Any]:
        entry, rows, batch = self.request(number)
        name = f"{self.number} {number}"
        if not batch:
            return [getattr(app, entry)(*rows[0], id=name)]
        return list(getattr(app, entry).many(rows, id=name))

    def _feed(self, app: Any, number: int, frame: Frame) -> list[Any]:
        """As a DataFrame. With a worker that is lost its results may be: then we are told that all else is done."""
        _, rows, _ = self.request(number)
        try:
            found = [row["result"] for row in app.pay.many(frame(rows)).collect()]
        except Exception as error:
            if not any("had been carried out" in note for note in getattr(error, "__notes__", ())):
                raise
            return self._plain(number)
        self._compare(number, found, self._plain(number))
        return found
