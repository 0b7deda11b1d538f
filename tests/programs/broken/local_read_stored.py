"""A worker's own count stored under a key."""

import anabranch as ab


class Tickets(ab.Program):
    issued: ab.Partial[ab.Value[int]] = ab.partial(ab.Value(0), merge=ab.add)
    number: ab.Partitioned[ab.Table[str, int]]

    def issue(self, person: str) -> None:
        self.issued.value += 1
        self.number[person] = self.issued.value  #! AB420

    def number_of(self, person: str) -> int:
        return self.number[person]
