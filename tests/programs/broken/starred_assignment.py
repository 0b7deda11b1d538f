"""Unpacking of any number of items."""

import anabranch as ab


class Paths(ab.Program):
    heads: ab.Partitioned[ab.Table[str, str]]

    def add(self, name: str, path: str) -> int:
        head, *rest = path.split("/")  #! AB501
        self.heads[name] = head
        return len(rest)
