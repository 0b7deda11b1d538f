"""Randomness that can be repeated comes later."""

import anabranch as ab


class Sample(ab.Program):
    kept: ab.Partitioned[ab.Table[str, float]]

    def see(self, item: str) -> None:
        self.kept[item] = ab.random()  #! AB901
