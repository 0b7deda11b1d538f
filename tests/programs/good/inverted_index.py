"""An inverted index: each word owns the list of documents that hold it; a search visits the words and intersects."""

import anabranch as ab


class InvertedIndex(ab.Program):
    documents: ab.Partitioned[ab.Table[str, list[int]]]

    def add(self, document: int, text: str) -> None:
        for word in sorted(set(text.lower().split())):
            self.documents[word] = self.documents.get(word, []) + [document]

    def lookup(self, word: str) -> list[int]:
        return self.documents.get(word.lower(), [])

    def search(self, query: str) -> list[int]:
        """Documents that hold all words of the query."""
        words = query.lower().split()
        if not words:
            return []
        found = [self.documents.get(word, []) for word in words]
        common = set(found[0])
        for documents in found[1:]:
            common &= set(documents)
        return sorted(common)


CALLS: list[tuple[str, tuple[object, ...]]] = [
    ("add", (1, "The quick brown fox")),
    ("add", (2, "the lazy dog the end")),
    ("add", (3, "a quick dog")),
    ("lookup", ("the",)),
    ("lookup", ("Quick",)),
    ("lookup", ("cat",)),
    ("search", ("quick dog",)),
    ("search", ("the",)),
    ("search", ("the cat",)),
    ("search", ("",)),
    ("add", (4, "")),
]
