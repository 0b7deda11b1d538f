"""A call with keywords from a dict."""

import anabranch as ab


def area(width: int, height: int) -> int:
    return width * height


class Areas(ab.Program):
    areas: ab.Partitioned[ab.Table[str, int]]

    def add(self, name: str, sides: dict[str, int]) -> None:
        self.areas[name] = area(**sides)  #! AB501
