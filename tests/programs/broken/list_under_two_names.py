"""Two names for one list: after the flow to another key they would be two lists."""

import anabranch as ab


class Routes(ab.Program):
    toll: ab.Partitioned[ab.Table[str, int]] = ab.Table(default=0)
    parking: ab.Partitioned[ab.Table[str, int]] = ab.Table(default=0)

    def plan(self, start: str, end: str) -> list[int]:
        costs = [self.toll[start]]
        route = costs
        costs.append(self.parking[end])  #! AB511
        return route
