"""A parameter that hides the package."""

import anabranch as ab


class AbTest(ab.Program):
    shown: ab.Partitioned[ab.Table[str, int]] = ab.Table(default=0)

    def show(self, ab: str) -> None:  #! AB110
        self.shown[ab] += 1
