"""Word count over windows of a second: the window is part of the key, so a window is entries like any other.

Shows: a loop that sends one message for each word to its owner, and a comprehension that collects from many owners.

    python examples/wordcount.py
"""

import random

import anabranch as ab

WINDOW = 1_000  # milliseconds


class WordCount(ab.Program):
    occurrences: ab.Partitioned[ab.Table[tuple[int, str], int]] = ab.Table(default=0)  # by window and word

    def add(self, time: int, line: str) -> None:
        """A line that was said at a time in milliseconds."""
        window = time // WINDOW
        for word in line.lower().split():
            self.occurrences[window, word] += 1

    def count(self, window: int, word: str) -> int:
        return self.occurrences[window, word]

    def counts(self, window: int, words: list[str]) -> list[int]:
        return [self.occurrences[window, word] for word in words]

    def take(self, window: int, word: str) -> int:
        """The count of a window that is over, which is forgotten."""
        return self.occurrences.pop((window, word), 0)


def main() -> None:
    """Three seconds of lines, two in a millisecond.

    >>> main()
    second 0: river 1732, branch 815, delta 519
    second 1: river 1616, branch 806, delta 567
    second 2: river 1622, branch 868, delta 544
    in all: river 4970, branch 2489, delta 1630
    seconds 0 and 1 are over and taken out: of 12 entries 4 are left
    """
    chance, words = random.Random(7), ["river", "branch", "delta"]
    times = [i // 2 for i in range(6_000)]
    lines = [" ".join(chance.choices([*words, "the"], [6, 3, 2, 11], k=3)) for _ in times]
    with ab.run(WordCount(), workers=2) as app:
        app.add.many({"time": times, "line": lines})
        windows = [app.counts(second, words) for second in range(3)]
        entries = dict(app.state.occurrences.scan())
        app.take.many([(window, word) for window, word in entries if window < 2])  # there is no expiry: someone has to
        left = len(app.state.occurrences)
    for second, counts in enumerate(windows):
        print(f"second {second}:", ", ".join(f"{word} {n}" for word, n in zip(words, counts, strict=True)))
    said = " ".join(lines).split()
    for word, counts in zip(words, zip(*windows, strict=True), strict=True):
        assert sum(counts) == said.count(word), word
    print("in all:", ", ".join(f"{word} {said.count(word)}" for word in words))
    print(f"seconds 0 and 1 are over and taken out: of {len(entries)} entries {left} are left")


# What the tests call, one after the other, on every engine.
CALLS: list[tuple[str, tuple[object, ...]]] = [
    ("add", (10, "to be or not to be")),
    ("add", (999, "To err is human")),
    ("add", (1_000, "to be")),
    ("add", (2_500, "")),
    ("count", (0, "to")),
    ("count", (0, "be")),
    ("count", (0, "To")),
    ("count", (1, "to")),
    ("counts", (0, ["to", "be", "or", "to", "nothing"])),
    ("counts", (1, [])),
    ("add", (1_999, "tea tea\ttea\n")),
    ("count", (1, "tea")),
    ("take", (1, "tea")),
    ("take", (1, "tea")),
    ("add", (-1, "before")),
    ("count", (-1, "before")),
]


if __name__ == "__main__":
    main()
