"""A rule table that is equal on all workers, written on one of them only."""

import anabranch as ab


class Rules(ab.Program):
    limits: ab.Replicated[ab.Table[str, int]]

    def set_limit(self, category: str, limit: int) -> None:
        self.limits[category] = limit  #! AB311

    def allowed(self, category: str, cents: int) -> bool:
        return cents <= self.limits.get(category, 0)
