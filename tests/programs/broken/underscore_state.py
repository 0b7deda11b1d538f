"""A state whose name starts with an underscore."""

import anabranch as ab


class Events(ab.Program):
    _last: ab.Partitioned[ab.Table[str, int]]  #! AB109

    def see(self, user: str, time: int) -> None:
        self._last[user] = time
