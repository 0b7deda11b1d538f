"""Straight or winding, with the reason told in the user's words."""

from __future__ import annotations

import pytest

import anabranch as ab
from tests.generator.plain import loaded

HEAD = """
import anabranch as ab

class P(ab.Program):
    a: ab.Partitioned[ab.Table[int, int]] = ab.Table(default=0)
    b: ab.Partitioned[ab.Table[int, int]] = ab.Table(default=0)
    links: ab.Partitioned[ab.Table[int, list[int]]]
    here: ab.Partial[ab.Value[int]] = ab.partial(ab.Value(0), merge=ab.add)
    all: ab.Replicated[ab.Value[int]] = ab.Value(0)

    def run(self, k: int, l: int, ks: list[int]) -> int:
"""

STRAIGHT = {
    "one key": "self.a[k] += 1; return self.b[k]",
    "two keys, two states": "x = self.a[k]; self.b[l] += x; return x",
    "a key, then here": "x = self.a[k]; self.here.value += x; return x",
    "replicated, then a key": "x = self.all.value; self.a[k] = x; return x",
    "the same key under another name": "m = k\n        x = self.a[k]\n        self.b[m] = x\n        return self.a[m]",
    "fan-out": "for x in ks: self.a[x] += 1\n        return len(ks)",
    "fan-out after a read": "for x in self.links.get(k, []): self.a[x] += 1\n        return 0",
    "fan-out with a sum": "n = 0\n        for x in ks: n += self.a[x]\n        return n",
    "fan-out of fan-outs": "for x in ks:\n            for y in range(x): self.a[y] += 1\n        return 0",
    "branches on one state": "if l > 0: self.a[k] += 1\n        else: self.a[l] += 1\n        return 0",
    "a local loop": "for x in ks: self.a[k] += x\n        return self.a[k]",
    "everywhere and gather": "x = self.a[k]\n        return x + sum(ab.gather(ab.everywhere(self.here).value))",
}

WINDING = {
    "two keys of one state": ("self.a[k] -= 1; self.a[l] += 1; return 0", "it visits a at k and again at l"),
    "back to a key": (
        "x = self.a[k]; self.b[l] = x; self.links[k] = [x]; return 0",
        "it comes back to k after it was at l",
    ),
    "back to here": (
        "self.here.value += 1; x = self.a[k]; self.all.value; self.here.value += x; return 0",
        "it comes back here after it was at k",
    ),
    "a loop that follows values": ("while k > 0: k = self.a[k]\n        return k", "a loop comes back to k"),
    "a sum that decides": (
        "n = 0\n        for x in ks:\n            if n < 9: n += self.a[x]\n        return n",
        "a loop comes back to x",
    ),
    "fan-out on a state that is read after": (
        "for x in ks: self.a[x] += 1\n        return self.a[k]",
        "a loop visits a at x and the entry visits it again at k",
    ),
    "fan-out on a state that was read before": (
        "n = self.a[k]\n        for x in ks: self.a[x] += n\n        return n",
        "it visits a at k and again at x",
    ),
    "two fan-outs on one state": (
        "for x in ks: self.a[x] += 1\n        for y in ks: self.a[y] += 2\n        return 0",
        "a loop visits a at x and the entry visits it again at y",
    ),
    "an early return that depends on state": (
        "for x in ks:\n            if self.a[x] > 3: return x\n        return 0",
        "a loop comes back to x",
    ),
}


def entry_of(code: str) -> ab.Graph:
    with loaded(HEAD + "        " + code + "\n") as program:
        return ab.compile(program)


@pytest.mark.parametrize("name", STRAIGHT)
def test_straight(name: str) -> None:
    assert entry_of(STRAIGHT[name]).entry("run").winding is None


@pytest.mark.parametrize("name", WINDING)
def test_winding_and_why(name: str) -> None:
    code, reason = WINDING[name]
    assert entry_of(code).entry("run").winding == reason
