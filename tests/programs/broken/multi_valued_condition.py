"""A decision on something that has one value per worker."""

import anabranch as ab


class Valve(ab.Program):
    load: ab.Partial[ab.Value[int]] = ab.partial(ab.Value(0), merge=ab.add)

    def add(self, n: int) -> None:
        self.load.value += n

    def full(self) -> bool:
        if ab.everywhere(self.load).value > 100:  #! AB401
            return True
        return False
