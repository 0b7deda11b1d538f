"""An entry that promises a string and gives a number."""

import anabranch as ab


class Visits(ab.Program):
    visits: ab.Partitioned[ab.Table[str, int]] = ab.Table(default=0)

    def visit(self, page: str) -> str:
        self.visits[page] += 1
        return self.visits[page]  #! AB206
