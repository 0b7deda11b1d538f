"""Statistics of texts by author: string methods, comprehensions, sorting by a lambda, and a report as a record."""

from dataclasses import dataclass

import anabranch as ab

VOWELS = "aeiou"


@dataclass(frozen=True)
class Report:
    texts: int
    longest_word: str
    common: list[tuple[str, int]]
    vowels: float


class TextStats(ab.Program):
    words: ab.Partitioned[ab.Table[str, dict[str, int]]]
    texts: ab.Partitioned[ab.Table[str, int]] = ab.Table(default=0)

    def __init__(self, stop_words: tuple[str, str, str] = ("the", "a", "and")) -> None:
        self.stop_words = stop_words

    def add(self, author: str, text: str) -> int:
        """The number of words that count."""
        author = author.strip().lower()
        kept = [word for word in self._clean(text) if word not in self.stop_words]
        counts = dict(self.words.get(author, {}))
        for word in kept:
            counts[word] = counts.get(word, 0) + 1
        self.words[author] = counts
        self.texts[author] += 1
        return len(kept)

    def report(self, author: str, k: int = 2) -> Report | None:
        author = author.strip().lower()
        counts = self.words.get(author)
        if not counts:
            return None
        longest = max(counts, key=lambda word: (len(word), word))
        common = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))[:k]
        letters = sum(len(word) * n for word, n in counts.items())
        vowels = sum(n for word, n in counts.items() for letter in word if letter in VOWELS)
        return Report(self.texts[author], longest, common, vowels / letters)

    def starts_with(self, author: str, prefix: str) -> list[str]:
        counts = self.words.get(author, {})
        return sorted(word for word in counts if word.startswith(prefix))

    def _clean(self, text: str) -> list[str]:
        return [word for word in text.lower().replace(",", " ").replace(".", " ").split() if word.isalpha()]


CALLS: list[tuple[str, tuple[object, ...]]] = [
    ("report", ("ada",)),
    ("add", ("Ada ", "The engine weaves patterns, and patterns.")),
    ("add", ("ada", "A 2nd engine")),
    ("add", ("bob", "the and a")),
    ("report", ("ADA",)),
    ("report", ("ada", 1)),
    ("report", ("bob",)),
    ("starts_with", ("ada", "p")),
    ("starts_with", ("eve", "")),
    ("add", ("", "...")),
]
