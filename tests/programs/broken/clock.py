"""Times read from clocks: they would differ when an epoch runs again."""

import time
from datetime import date, datetime

import anabranch as ab


class Visits(ab.Program):
    last: ab.Partitioned[ab.Table[str, datetime]]
    seconds: ab.Partitioned[ab.Table[str, float]]
    days: ab.Partitioned[ab.Table[str, date]]

    def visit(self, user: str) -> None:
        self.last[user] = datetime.now()  #! AB504
        self.seconds[user] = time.time()  #! AB504
        self.days[user] = date.today()  #! AB504
