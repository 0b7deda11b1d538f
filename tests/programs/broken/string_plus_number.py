"""Operators on types that do not go together."""

import anabranch as ab


class Messages(ab.Program):
    greeted: ab.Partitioned[ab.Table[str, int]] = ab.Table(default=0)

    def greet(self, name: str) -> str:
        self.greeted[name] += 1
        return "visit number " + self.greeted[name]  #! AB206

    def often(self, name: str) -> bool:
        return self.greeted[name] > "3"  #! AB206
