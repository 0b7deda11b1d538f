"""Names that start with an underscore are ours: they are columns of the log."""

import anabranch as ab


class Events(ab.Program):
    last: ab.Partitioned[ab.Table[str, int]]

    def see(self, user: str, _time: int) -> None:  #! AB109
        self.last[user] = _time
