"""A key-value store of counters: the smallest program with state, one entry per operation.

Shows: a partitioned table, calls and batches, and that a request takes effect whole or not at all.

    python examples/kvstore.py
"""

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


def main() -> None:
    """
    >>> main()
    key 7 holds 49, key 1000 holds None
    key 7 was counted up to 50
    KeyError: 'key 1000', and the batch that asked for it removed nothing: 1000 keys
    """
    with ab.run(KeyValueStore(), workers=2) as app:
        numbers = range(1_000)
        app.put.many({"key": [f"key {n}" for n in numbers], "value": [n * n for n in numbers]})
        print(f"key 7 holds {app.get('key 7')}, key 1000 holds {app.get('key 1000')}")
        print(f"key 7 was counted up to {app.increment('key 7')}")
        try:
            app.remove.many({"key": ["key 5", "key 1000"]})
        except KeyError as error:
            print(f"KeyError: {error}, and the batch that asked for it removed nothing: {len(app.state.data)} keys")


# What the tests call, one after the other, on every engine.
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


if __name__ == "__main__":
    main()
