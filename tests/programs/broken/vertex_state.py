"""Vertex programs and feeds come later."""

import anabranch as ab


class Ranks(ab.Program):
    vertices: ab.Partitioned[ab.Vertex]  #! AB901
    ranks: ab.Partitioned[ab.Table[int, float]] = ab.Table(default=1.0)

    def rank(self, node: int) -> float:
        return self.ranks[node]

    def follow(self, events: ab.Feed[int]) -> None:  #! AB901
        self.ranks[0] = 1.0
