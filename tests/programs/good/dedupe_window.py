"""Deduplication of messages per producer within a window of numbers: sets and dicts as values of a table."""

import anabranch as ab


class Deduplicator(ab.Program):
    seen: ab.Partitioned[ab.Table[str, set[int]]]
    kinds: ab.Partitioned[ab.Table[str, dict[str, int]]]

    def __init__(self, window: int = 4) -> None:
        self.window = window

    def receive(self, producer: str, number: int, kind: str = "data") -> bool:
        """Whether the message is new; numbers that left the window count as seen."""
        seen = self.seen.get(producer, set())
        newest = max(seen, default=0)
        if number in seen or number <= newest - self.window:
            return False
        newest = max(newest, number)
        self.seen[producer] = {n for n in seen | {number} if n > newest - self.window}
        kinds = dict(self.kinds.get(producer, {}))
        kinds[kind] = kinds.get(kind, 0) + 1
        self.kinds[producer] = kinds
        return True

    def gaps(self, producer: str) -> list[int]:
        """Numbers missing between the oldest and the newest that are remembered."""
        seen = self.seen.get(producer)
        if not seen:
            return []
        return [n for n in range(min(seen), max(seen)) if n not in seen]

    def by_kind(self, producer: str) -> dict[str, int]:
        return self.kinds.get(producer, {})


CALLS: list[tuple[str, tuple[object, ...]]] = [
    ("gaps", ("p",)),
    ("receive", ("p", 1)),
    ("receive", ("p", 1)),
    ("receive", ("p", 3, "ack")),
    ("gaps", ("p",)),
    ("receive", ("p", 6)),
    ("receive", ("p", 2)),
    ("receive", ("p", 4)),
    ("receive", ("q", 2)),
    ("gaps", ("p",)),
    ("by_kind", ("p",)),
    ("by_kind", ("r",)),
]
