"""A property: reading it would hide an access to state."""

import anabranch as ab


class Visits(ab.Program):
    visits: ab.Partial[ab.Value[int]] = ab.partial(ab.Value(0), merge=ab.add)

    def visit(self) -> None:
        self.visits.value += 1

    @property  #! AB112
    def total(self) -> int:
        return sum(ab.gather(ab.everywhere(self.visits).value))
