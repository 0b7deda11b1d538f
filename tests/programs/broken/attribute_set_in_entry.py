"""An attribute that is neither state nor configuration."""

import anabranch as ab


class Cached(ab.Program):
    values: ab.Partitioned[ab.Table[str, int]] = ab.Table(default=0)

    def put(self, key: str, value: int) -> None:
        self.values[key] = value
        self.last_key = key  #! AB310

    def _helper(self, n: int) -> int:
        self.calls = n  #! AB310
        return n

    def count(self, n: int) -> int:
        return self._helper(n)
