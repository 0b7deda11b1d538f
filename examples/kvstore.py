"""A key-value store of counters: the smallest program with state, one entry per operation."""

import anabranch as ab


class KeyValueStore(ab.Program):
    data: ab.Partitioned[ab.Table[str, int]]

    def put(self, key: str, value: int) -> None:
        self.data[key] = value

    def get(self, key: str) -> int | None:
        return self.data.get(key)

    def remove(self, key: str) -> int:
        """Take the key out and give what it held; `KeyError` if it held nothing."""
        return self.data.pop(key)

    def increment(self, key: str, by: int = 1) -> int:
        count = self.data.get(key, 0) + by
        self.data[key] = count
        return count


CALLS: list[tuple[str, tuple[object, ...]]] = [
    ("get", ("a",)),
    ("put", ("a", 1)),
    ("put", ("b", 2)),
    ("get", ("a",)),
    ("increment", ("a",)),
    ("increment", ("c", 40)),
    ("increment", ("c", 2)),
    ("get", ("c",)),
    ("remove", ("b",)),
    ("get", ("b",)),
    ("remove", ("b",)),  # KeyError
    ("put", ("d", 2**63 - 1)),
    ("increment", ("d",)),  # OverflowError: what is stored must fit 64 bits
    ("get", ("d",)),
    ("put", ("", -1)),
    ("get", ("",)),
]
