"""Texts of every short length, equal or with one byte that differs, are told apart."""

from __future__ import annotations

import anabranch as ab
from anabranch.engines.embedded import App

LONGEST = 26  # three words and some


class Compared(ab.Program):
    seen: ab.Partitioned[ab.Table[int, int]] = ab.Table(default=0)

    def same(self, key: int, a: str, b: str) -> bool:
        self.seen[key] += 1
        return a == b


def test_one_byte_that_differs_is_found_wherever_it_is() -> None:
    pairs = []
    for size in range(LONGEST):
        text = "".join(chr(ord("a") + i % 26) for i in range(size))
        pairs += [(text, text), (text, f"{text}a"), (f"{text}a", text)]
        pairs += [(text, f"{text[:i]}#{text[i + 1 :]}") for i in range(size)]
    a, b = ([pair[side] for pair in pairs] for side in (0, 1))
    with App(Compared(), 1, tier="compiled") as app:
        assert app._engine.tiers.is_fast("same")
        found = app.same.many({"key": [0] * len(pairs), "a": a, "b": b})
        assert list(found["result"]) == [x == y for x, y in pairs]
        assert sum(found["result"]) == LONGEST
