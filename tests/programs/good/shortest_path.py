"""Distances from a source that get shorter as edges arrive: a loop that carries state from key to key winds."""

import anabranch as ab


class ShortestPath(ab.Program):
    links: ab.Partitioned[ab.Table[int, list[tuple[int, int]]]]
    distance: ab.Partitioned[ab.Table[int, int]]

    def start(self, node: int) -> None:
        self.distance[node] = 0

    def connect(self, src: int, dst: int, length: int) -> int:
        """Add an edge and pass on what it makes shorter; gives the number of distances that changed."""
        if length <= 0:
            raise ValueError("lengths are positive")
        self.links[src] = self.links.get(src, []) + [(dst, length)]
        reached = self.distance.get(src)
        if reached is None:
            return 0
        changed = 0
        pending = [(dst, reached + length)]
        while pending:
            node, offer = pending.pop()
            best = self.distance.get(node)
            if best is None or offer < best:
                self.distance[node] = offer
                changed += 1
                for neighbour, step in self.links.get(node, []):
                    pending.append((neighbour, offer + step))
        return changed

    def distance_to(self, node: int) -> int | None:
        return self.distance.get(node)


CALLS: list[tuple[str, tuple[object, ...]]] = [
    ("connect", (2, 3, 1)),
    ("start", (1,)),
    ("distance_to", (3,)),
    ("connect", (1, 2, 5)),
    ("distance_to", (3,)),
    ("connect", (3, 4, 2)),
    ("connect", (1, 3, 2)),
    ("connect", (1, 3, 0)),  # ValueError
    ("distance_to", (4,)),
    ("distance_to", (2,)),
    ("distance_to", (9,)),
]
