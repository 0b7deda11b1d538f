"""Hotel rooms by night: keys are tuples of two integers, a stay fans out over its nights after they were checked."""

from datetime import date, timedelta

import anabranch as ab


def nights(first: date, last: date) -> list[int]:
    """The nights of a stay as ordinal numbers; the day of departure is none."""
    return [(first + timedelta(days=n)).toordinal() for n in range((last - first).days)]


class Hotel(ab.Program):
    booked: ab.Partitioned[ab.Table[tuple[int, int], str]]

    def free(self, room: int, first: date, last: date) -> bool:
        taken = [(room, night) in self.booked for night in nights(first, last)]
        return not any(taken)

    def book(self, room: int, guest: str, first: date, last: date) -> int:
        """The number of nights; raises if one of them is taken."""
        if last <= first:
            raise ValueError("a stay has at least one night")
        stay = nights(first, last)
        for night in stay:
            if (room, night) in self.booked:
                raise LookupError(room, night)
            self.booked[room, night] = guest
        return len(stay)

    def guest(self, room: int, night: date) -> str | None:
        return self.booked.get((room, night.toordinal()))


CALLS: list[tuple[str, tuple[object, ...]]] = [
    ("free", (1, date(2026, 7, 1), date(2026, 7, 4))),
    ("book", (1, "ada", date(2026, 7, 1), date(2026, 7, 4))),
    ("book", (1, "bob", date(2026, 6, 30), date(2026, 7, 2))),  # LookupError, and the first night is free again
    ("guest", (1, date(2026, 6, 30))),
    ("book", (1, "bob", date(2026, 7, 4), date(2026, 7, 5))),
    ("book", (2, "eve", date(2026, 7, 4), date(2026, 7, 4))),  # ValueError
    ("guest", (1, date(2026, 7, 3))),
    ("guest", (1, date(2026, 7, 4))),
    ("guest", (1, date(2026, 7, 5))),
    ("free", (1, date(2026, 7, 5), date(2026, 7, 9))),
    ("free", (2, date(2026, 7, 1), date(2026, 7, 9))),
]
