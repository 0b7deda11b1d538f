"""Word count: a line fans out to the owners of its words, and counts of many words are collected by a comprehension."""

import anabranch as ab


class WordCount(ab.Program):
    occurrences: ab.Partitioned[ab.Table[str, int]] = ab.Table(default=0)

    def add(self, line: str) -> None:
        for word in line.lower().split():
            self.occurrences[word] += 1

    def count(self, word: str) -> int:
        return self.occurrences[word]

    def counts(self, words: list[str]) -> list[int]:
        return [self.occurrences[word] for word in words]


CALLS: list[tuple[str, tuple[object, ...]]] = [
    ("add", ("to be or not to be",)),
    ("add", ("To err is human",)),
    ("add", ("",)),
    ("count", ("to",)),
    ("count", ("be",)),
    ("count", ("To",)),
    ("counts", (["to", "be", "or", "to", "nothing"],)),
    ("counts", ([],)),
    ("add", ("tea tea\ttea\n",)),
    ("count", ("tea",)),
]
