"""No mistake: an entry that comes back to a key it has left runs, collected on one worker; `check` notes it."""

import anabranch as ab


class Shop(ab.Program):
    stock: ab.Partitioned[ab.Table[str, int]] = ab.Table(default=0)
    wallet: ab.Partitioned[ab.Table[int, int]] = ab.Table(default=0)

    def buy(self, user: int, sku: str) -> bool:  #! AB601
        if self.stock[sku] == 0 or self.wallet[user] == 0:
            return False
        self.wallet[user] -= 1
        self.stock[sku] -= 1
        return True
