"""Sessionisation: clicks of a user within a gap belong to one session; time is passed in, never read from a clock."""

from datetime import datetime, timedelta
from typing import NamedTuple

import anabranch as ab


class Session(NamedTuple):
    start: datetime
    end: datetime
    clicks: int


class Sessions(ab.Program):
    current: ab.Partitioned[ab.Table[str, Session]]
    finished: ab.Partitioned[ab.Table[str, int]] = ab.Table(default=0)

    def __init__(self, gap: timedelta = timedelta(minutes=30)) -> None:
        self.gap = gap

    def click(self, user: str, at: datetime) -> int:
        """The number of clicks in the session the click belongs to."""
        session = self.current.get(user)
        if session is None:
            self.current[user] = Session(at, at, 1)
            return 1
        if at < session.start:
            raise ValueError("a click before the session it would belong to")
        if at - session.end > self.gap:
            self.finished[user] += 1
            self.current[user] = Session(at, at, 1)
            return 1
        self.current[user] = session._replace(end=max(at, session.end), clicks=session.clicks + 1)
        return session.clicks + 1

    def close(self, user: str) -> timedelta | None:
        """End the session of a user: how long it was."""
        if user not in self.current:
            return None
        session = self.current.pop(user)
        self.finished[user] += 1
        return session.end - session.start

    def sessions(self, user: str) -> int:
        return self.finished[user]


T = datetime(2026, 1, 1, 8)

CALLS: list[tuple[str, tuple[object, ...]]] = [
    ("click", ("ada", T)),
    ("click", ("ada", T + timedelta(minutes=10))),
    ("click", ("bob", T + timedelta(minutes=11))),
    ("click", ("ada", T + timedelta(minutes=5))),
    ("click", ("ada", T + timedelta(minutes=40))),
    ("click", ("ada", T + timedelta(minutes=71))),
    ("sessions", ("ada",)),
    ("click", ("ada", T)),  # ValueError: too old
    ("close", ("ada",)),
    ("close", ("ada",)),
    ("sessions", ("ada",)),
    ("sessions", ("bob",)),
]
