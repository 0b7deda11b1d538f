"""A state type that comes later."""

import anabranch as ab


class Campaigns(ab.Program):
    budget: ab.Partitioned[ab.Timeline[str, float]]  #! AB901

    def set_budget(self, campaign: str, time: int, budget: float) -> None:
        self.budget[campaign, time] = budget
