"""Configuration is read-only once the program runs."""

import anabranch as ab


class Limits(ab.Program):
    spent: ab.Partitioned[ab.Table[str, int]] = ab.Table(default=0)

    def __init__(self) -> None:
        self.limits = {"food": 100}
        self.names = ["food"]

    def set_limit(self, category: str, limit: int) -> None:
        self.limits[category] = limit  #! AB305
        self.names.append(category)  #! AB305

    def spend(self, category: str, cents: int) -> bool:
        self.spent[category] += cents
        return self.spent[category] <= self.limits[category]
