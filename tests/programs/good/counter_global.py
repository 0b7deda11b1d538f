"""Counters without a key: sum, largest and smallest of all requests, each worker with values of its own."""

import anabranch as ab


class Totals(ab.Program):
    count: ab.Partial[ab.Value[int]] = ab.partial(ab.Value(0), merge=ab.add)
    highest: ab.Partial[ab.Value[int]] = ab.partial(ab.Value(-1), merge=ab.largest)
    lowest: ab.Partial[ab.Value[int]] = ab.partial(ab.Value(1_000_000), merge=ab.smallest)

    def observe(self, milliseconds: int) -> None:
        if milliseconds < 0:
            raise ValueError("time does not run backwards")
        self.count.value += 1
        self.highest.value = max(self.highest.value, milliseconds)
        self.lowest.value = min(self.lowest.value, milliseconds)

    def total(self) -> int:
        return sum(ab.gather(ab.everywhere(self.count).value))

    def span(self) -> tuple[int, int] | None:
        """The fastest and the slowest request."""
        low = min(ab.gather(ab.everywhere(self.lowest).value))
        high = max(ab.gather(ab.everywhere(self.highest).value))
        return (low, high) if high >= 0 else None


CALLS: list[tuple[str, tuple[object, ...]]] = [
    ("total", ()),
    ("span", ()),
    ("observe", (20,)),
    ("observe", (7,)),
    ("observe", (-1,)),  # ValueError
    ("observe", (0,)),
    ("observe", (130,)),
    ("total", ()),
    ("span", ()),
]
