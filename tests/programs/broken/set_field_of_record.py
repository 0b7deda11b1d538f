"""A field of a record in a table set in place."""

from dataclasses import dataclass

import anabranch as ab


@dataclass(frozen=True)
class Player:
    name: str
    score: int


class Game(ab.Program):
    players: ab.Partitioned[ab.Table[int, Player]]

    def enter(self, player: int, name: str) -> None:
        self.players[player] = Player(name, 0)

    def score(self, player: int, points: int) -> None:
        self.players[player].score += points  #! AB302
