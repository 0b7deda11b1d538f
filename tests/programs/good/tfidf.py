"""TF-IDF: term counts owned by document, document frequencies owned by term, the number of documents in one place."""

import math

import anabranch as ab


def terms_of(text: str) -> dict[str, int]:
    counts: dict[str, int] = {}
    for word in text.lower().split():
        term = word.strip(".,;:!?")
        if term:
            counts[term] = counts.get(term, 0) + 1
    return counts


class TfIdf(ab.Program):
    terms: ab.Partitioned[ab.Table[int, dict[str, int]]]
    frequency: ab.Partitioned[ab.Table[str, int]] = ab.Table(default=0)
    documents: ab.Partitioned[ab.Table[str, int]] = ab.Table(default=0)

    def add(self, document: int, text: str) -> None:
        if document in self.terms:
            raise ValueError(f"document {document} was added before")
        counts = terms_of(text)
        self.terms[document] = counts
        for term in sorted(counts):
            self.frequency[term] += 1
        self.documents["all"] += 1

    def weight(self, document: int, term: str) -> float:
        count = self.terms.get(document, {}).get(term, 0)
        if count == 0:
            return 0.0
        found = self.frequency[term]
        total = self.documents["all"]
        return count * math.log(total / found)

    def keywords(self, document: int, k: int = 2) -> list[str]:
        """The k terms of highest weight, ties in alphabetical order."""
        counts = self.terms[document]
        names = sorted(counts)
        found = [self.frequency[term] for term in names]
        total = self.documents["all"]
        weights = [(-counts[term] * math.log(total / n), term) for term, n in zip(names, found)]
        return [term for _, term in sorted(weights)[:k]]


CALLS: list[tuple[str, tuple[object, ...]]] = [
    ("weight", (1, "tea")),
    ("add", (1, "Tea for two, and two for tea.")),
    ("add", (2, "Coffee for one!")),
    ("add", (2, "again")),  # ValueError
    ("add", (3, "... and milk")),
    ("weight", (1, "tea")),
    ("weight", (1, "for")),
    ("weight", (1, "milk")),
    ("keywords", (1,)),
    ("keywords", (2, 10)),
    ("keywords", (9,)),  # KeyError
]
