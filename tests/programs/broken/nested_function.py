"""A function defined inside an entry."""

import anabranch as ab


class Texts(ab.Program):
    lengths: ab.Partitioned[ab.Table[str, int]]

    def add(self, name: str, text: str) -> None:
        def clean(word: str) -> str:  #! AB501
            return word.strip(".,")

        self.lengths[name] = len(text)
