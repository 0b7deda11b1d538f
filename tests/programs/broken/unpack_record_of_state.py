"""The list in a record of a state changed under a name of its own."""

from typing import NamedTuple

import anabranch as ab


class Basket(NamedTuple):
    items: list[str]
    paid: bool


class Shop(ab.Program):
    baskets: ab.Partitioned[ab.Table[int, Basket]]

    def unpacked(self, user: int, item: str) -> int:
        items, _ = self.baskets[user]
        items.append(item)  #! AB302
        return len(items)

    def numbered(self, user: int, item: str) -> int:
        self.baskets[user][0].append(item)  #! AB302
        return len(self.baskets[user].items)

    def matched(self, user: int, item: str) -> int:
        match self.baskets[user]:
            case Basket(items, _):
                items.append(item)  #! AB302
        return 0
