"""Keys that can be hashed in Python and still are no keys of state."""

from datetime import datetime

import anabranch as ab


class Agenda(ab.Program):
    meetings: ab.Partitioned[ab.Table[datetime, str]]  #! AB203
    rooms: ab.Partitioned[ab.Table[tuple[str, float], str]]  #! AB203

    def meet(self, at: datetime, title: str, floor: float) -> None:
        self.meetings[at] = title
        self.rooms[title, floor] = title
