"""All methods are helpers: nothing can be called."""

import anabranch as ab


class Store(ab.Program):  #! AB114
    def _double(self, x: int) -> int:
        return 2 * x
