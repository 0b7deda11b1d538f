"""Random numbers and identifiers."""

import random
import uuid

import anabranch as ab


class Raffle(ab.Program):
    tickets: ab.Partitioned[ab.Table[str, int]]
    names: ab.Partitioned[ab.Table[str, str]]

    def enter(self, person: str) -> None:
        self.tickets[person] = random.randint(1, 100)  #! AB505

    def name(self, person: str) -> None:
        self.names[person] = str(uuid.uuid4())  #! AB505
