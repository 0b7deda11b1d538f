"""A key that has one value per worker."""

import anabranch as ab


class Shifts(ab.Program):
    turn: ab.Partial[ab.Value[int]] = ab.partial(ab.Value(0), merge=ab.largest)
    names: ab.Partitioned[ab.Table[int, str]]

    def change(self) -> None:
        self.turn.value += 1

    def on_duty(self) -> str:
        return self.names[ab.everywhere(self.turn).value]  #! AB403
