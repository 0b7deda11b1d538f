"""One expression that needs a matrix by row and by column."""

import anabranch as ab


class Walks(ab.Program):
    links: ab.Partitioned[ab.Matrix]

    def cycles(self, node: int) -> float:
        return self.links.row(node).dot(self.links.column(node))  #! AB209
