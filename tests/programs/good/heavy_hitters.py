"""Heavy hitters by Misra and Gries: every worker keeps a few counters of its own, a query adds them up."""

import anabranch as ab


class HeavyHitters(ab.Program):
    counters: ab.Partial[ab.Table[str, int]] = ab.partial(ab.Table(default=0), merge=ab.add)

    def __init__(self, capacity: int = 3) -> None:
        self.capacity = capacity

    def see(self, item: str) -> None:
        if item in self.counters or len(self.counters) < self.capacity:
            self.counters[item] += 1
            return
        for kept, count in self.counters.items():
            if count == 1:
                del self.counters[kept]
            else:
                self.counters[kept] = count - 1

    def top(self, k: int = 2) -> list[tuple[str, int]]:
        totals: dict[str, int] = {}
        for part in ab.gather(ab.everywhere(self.counters).items()):
            for item, count in part:
                totals[item] = totals.get(item, 0) + count
        return sorted(totals.items(), key=lambda entry: (-entry[1], entry[0]))[:k]


CALLS: list[tuple[str, tuple[object, ...]]] = [
    ("top", ()),
    ("see", ("a",)),
    ("see", ("b",)),
    ("see", ("a",)),
    ("see", ("c",)),
    ("see", ("d",)),
    ("top", ()),
    ("see", ("a",)),
    ("see", ("d",)),
    ("see", ("e",)),
    ("top", (5,)),
    ("see", ("e",)),
    ("top", (1,)),
]
