import anabranch as ab


class Grid(ab.Program):
    level: ab.Partitioned[ab.DenseVector]

    def __init__(self, size: int = 4) -> None:
        self.level = ab.DenseVector.zeros(size)

    def fill(self, place: int, litres: float) -> None:
        self.level[place] += litres

    def total(self) -> float:
        return sum(ab.gather(ab.everywhere(self.level).sum()))  #! AB309
