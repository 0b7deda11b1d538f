"""A missing key handled by try: `get` or `in` is meant."""

import anabranch as ab


class Counter(ab.Program):
    counts: ab.Partitioned[ab.Table[str, int]]

    def add(self, key: str) -> None:
        try:
            self.counts[key] += 1  #! AB307
        except KeyError:
            self.counts[key] = 1  #! AB307
