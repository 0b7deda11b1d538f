"""A declared pure function that does not say what it gives."""

import json

import anabranch as ab

parse = ab.pure(json.loads)


class Documents(ab.Program):
    sizes: ab.Partitioned[ab.Table[str, int]]

    def add(self, name: str, text: str) -> None:
        document = parse(text)  #! AB205
        self.sizes[name] = len(document)
