"""Degrees and neighbours of a changing graph: an edge goes to the owners of both its ends."""

import anabranch as ab


class Degrees(ab.Program):
    degree: ab.Partitioned[ab.Table[int, int]] = ab.Table(default=0)
    neighbours: ab.Partitioned[ab.Table[int, list[int]]]

    def add(self, src: int, dst: int) -> None:
        if src == dst:
            return
        for here, there in ((src, dst), (dst, src)):
            known = self.neighbours.get(here, [])
            if there not in known:
                self.neighbours[here] = known + [there]
                self.degree[here] += 1

    def remove(self, src: int, dst: int) -> None:
        for here, there in ((src, dst), (dst, src)):
            known = self.neighbours.get(here, [])
            if there in known:
                self.neighbours[here] = [n for n in known if n != there]
                self.degree[here] -= 1

    def degree_of(self, node: int) -> int:
        return self.degree[node]

    def degrees(self, nodes: list[int]) -> dict[int, int]:
        return {node: self.degree[node] for node in nodes}

    def friends(self, node: int) -> list[int]:
        return sorted(self.neighbours.get(node, []))

    def most_connected_friend(self, node: int) -> int | None:
        """The neighbour with the highest degree, ties by the smaller node."""
        friends = sorted(self.neighbours.get(node, []))
        degrees = [self.degree[friend] for friend in friends]
        if not friends:
            return None
        return friends[degrees.index(max(degrees))]


CALLS: list[tuple[str, tuple[object, ...]]] = [
    ("add", (1, 2)),
    ("add", (2, 1)),
    ("add", (1, 1)),
    ("add", (1, 3)),
    ("add", (3, 4)),
    ("degree_of", (1,)),
    ("degrees", ([1, 2, 3, 9],)),
    ("friends", (1,)),
    ("most_connected_friend", (1,)),
    ("most_connected_friend", (9,)),
    ("remove", (3, 1)),
    ("remove", (3, 1)),
    ("friends", (1,)),
    ("degree_of", (3,)),
]
