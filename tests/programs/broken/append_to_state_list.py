"""A list in a table changed in place."""

import anabranch as ab


class Index(ab.Program):
    documents: ab.Partitioned[ab.Table[str, list[int]]]

    def add(self, word: str, document: int) -> None:
        if word not in self.documents:
            self.documents[word] = []
        self.documents[word].append(document)  #! AB302
