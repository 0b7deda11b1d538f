"""A list of things that have one value per worker."""

import anabranch as ab


class Gauges(ab.Program):
    low: ab.Partial[ab.Value[int]] = ab.partial(ab.Value(0), merge=ab.smallest)
    high: ab.Partial[ab.Value[int]] = ab.partial(ab.Value(0), merge=ab.largest)

    def see(self, x: int) -> None:
        self.low.value = min(self.low.value, x)
        self.high.value = max(self.high.value, x)

    def spread(self) -> int:
        ends = (ab.everywhere(self.low).value, ab.everywhere(self.high).value)  #! AB406
        return max(high - low for low, high in ab.gather(ends))
