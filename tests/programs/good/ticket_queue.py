"""A queue of support tickets per team: urgent ones first, a while loop that stays inside one task."""

from typing import NamedTuple

import anabranch as ab


class Ticket(NamedTuple):
    urgency: int
    number: int
    minutes: int


class Tickets(ab.Program):
    waiting: ab.Partitioned[ab.Table[str, list[Ticket]]]
    issued: ab.Partitioned[ab.Table[str, int]] = ab.Table(default=0)

    def submit(self, team: str, urgency: int, minutes: int) -> int:
        if not 0 <= urgency <= 9:
            raise ValueError(f"urgency {urgency} is not within 0 and 9")
        self.issued[team] += 1
        number = self.issued[team]
        ticket = Ticket(urgency, number, minutes)
        queue = self.waiting.get(team, [])
        place = 0
        while place < len(queue) and queue[place].urgency >= urgency:
            place += 1
        self.waiting[team] = queue[:place] + [ticket] + queue[place:]
        return number

    def plan(self, team: str, minutes: int) -> list[int]:
        """Take as many tickets off the queue as fit into the time, in order of the queue."""
        queue = self.waiting.get(team, [])
        taken: list[int] = []
        left = minutes
        while len(taken) < len(queue):
            ticket = queue[len(taken)]
            if ticket.minutes > left:
                break
            left -= ticket.minutes
            taken.append(ticket.number)
        else:
            if queue:
                del self.waiting[team]
            return taken
        self.waiting[team] = queue[len(taken) :]
        return taken

    def close(self, team: str, number: int) -> bool:
        queue = self.waiting.get(team, [])
        for place, ticket in enumerate(queue):
            if ticket.number == number:
                self.waiting[team] = queue[:place] + queue[place + 1 :]
                return True
        return False


CALLS: list[tuple[str, tuple[object, ...]]] = [
    ("submit", ("net", 3, 20)),
    ("submit", ("net", 5, 30)),
    ("submit", ("net", 3, 10)),
    ("submit", ("net", 12, 10)),  # ValueError
    ("submit", ("web", 0, 1)),
    ("plan", ("net", 50)),
    ("submit", ("net", 1, 5)),
    ("close", ("net", 3)),
    ("close", ("net", 3)),
    ("plan", ("net", 60)),
    ("plan", ("net", 60)),
    ("plan", ("ops", 60)),
]
