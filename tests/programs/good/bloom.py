"""A Bloom filter: a state type of the program's own, whose methods are marked as reading or writing."""

import anabranch as ab


class Bloom:
    """Bits in a list; two positions per item."""

    def __init__(self, bits: int = 64) -> None:
        self.bits = [False] * bits

    @ab.writes
    def add(self, item: int) -> None:
        for place in self._places(item):
            self.bits[place] = True

    @ab.reads
    def holds(self, item: int) -> bool:
        return all(self.bits[place] for place in self._places(item))

    def _places(self, item: int) -> tuple[int, int]:
        return (item * 7 + 1) % len(self.bits), (item * 13 + 5) % len(self.bits)


class Seen(ab.Program):
    filters: ab.Partial[Bloom]

    def add(self, item: int) -> None:
        self.filters.add(item)

    def maybe(self, item: int) -> bool:
        return any(ab.gather(ab.everywhere(self.filters).holds(item)))


CALLS: list[tuple[str, tuple[object, ...]]] = [
    ("maybe", (1,)),
    ("add", (1,)),
    ("add", (100,)),
    ("maybe", (1,)),
    ("maybe", (2,)),
    ("maybe", (100,)),
    ("add", (-3,)),
    ("maybe", (-3,)),
]
