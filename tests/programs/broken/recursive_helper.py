"""A helper that calls itself."""

import anabranch as ab


class Trees(ab.Program):
    parent: ab.Partitioned[ab.Table[int, int]]

    def connect(self, node: int, parent: int) -> None:
        self.parent[node] = parent

    def root(self, node: int) -> int:
        return self._root(node)

    def _root(self, node: int) -> int:
        parent = self.parent.get(node)
        if parent is None:
            return node
        return self._root(parent)  #! AB503
