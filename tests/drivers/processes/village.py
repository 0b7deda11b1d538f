"""A program for worker processes. Each of them imports this file, and so it imports little."""

from __future__ import annotations

import os
import sys
import time

import anabranch as ab


@ab.pure
def nap(seconds: float) -> float:
    time.sleep(seconds)
    return seconds


@ab.pure
def spin(seconds: float) -> float:
    """Pure Python that never lets go of the interpreter by itself."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass
    return seconds


@ab.pure
def leave(code: int) -> int:
    os._exit(code)


@ab.pure
def say(text: str) -> int:
    print(text)
    print(text, file=sys.stderr)
    return os.getpid()


class Village(ab.Program):
    people: ab.Partitioned[ab.Table[int, int]] = ab.Table(default=0)
    houses: ab.Partitioned[ab.Table[int, int]] = ab.Table(default=0)
    texts: ab.Partitioned[ab.Table[int, str]]
    words: ab.Partial[ab.Vector]

    def come(self, k: int) -> int:
        self.people[k] += 1
        return self.people[k]

    def build(self, k: int, house: int) -> int:
        """Two stages: what one worker finds goes to another."""
        n = self.people[k]
        self.houses[house] += n
        return self.houses[house]

    def move(self, k: int, house: int) -> int:
        """Winding."""
        n = self.people[k]
        self.houses[house] += 1
        self.people[k] = n - 1
        return n

    def rest(self, k: int, seconds: float) -> int:
        self.people[k] += 1
        nap(seconds)
        return self.people[k]

    def work(self, k: int, seconds: float) -> int:
        self.people[k] += 1
        spin(seconds)
        return self.people[k]

    def die(self, k: int, code: int) -> int:
        self.people[k] += 1
        return leave(code)

    def speak(self, k: int, text: str) -> int:
        self.people[k] += 1
        return say(text)

    def write(self, k: int, text: str) -> int:
        self.texts[k] = text
        return len(self.texts[k])

    def read(self, k: int) -> str:
        return self.texts[k]

    def hear(self, k: int) -> float:
        self.words[k] += 1.0
        return sum(ab.gather(ab.everywhere(self.words).sum()))
