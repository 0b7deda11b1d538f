"""A module imported inside an entry."""

import anabranch as ab


class Roots(ab.Program):
    roots: ab.Partitioned[ab.Table[str, float]]

    def add(self, name: str, x: float) -> None:
        import math  #! AB501  # noqa: F401

        self.roots[name] = x
