"""Bank accounts: a transfer reads and debits one account, then credits another, or raises and changes nothing."""

import anabranch as ab


class Bank(ab.Program):
    accounts: ab.Partitioned[ab.Table[str, int]] = ab.Table(default=0)  # cents, owned by account

    def deposit(self, account: str, cents: int) -> int:
        if cents <= 0:
            raise ValueError(f"cannot deposit {cents} cents")
        self.accounts[account] += cents
        return self.accounts[account]

    def balance(self, account: str) -> int:
        return self.accounts[account]

    def transfer(self, source: str, target: str, cents: int) -> None:
        available = self.accounts[source]
        if available < cents:
            raise ValueError(f"{source} has {available} cents, not {cents}")
        self.accounts[source] = available - cents
        self.accounts[target] += cents


CALLS: list[tuple[str, tuple[object, ...]]] = [
    ("deposit", ("ada", 1000)),
    ("deposit", ("bob", 50)),
    ("transfer", ("ada", "bob", 300)),
    ("balance", ("ada",)),
    ("balance", ("bob",)),
    ("transfer", ("bob", "eve", 351)),  # ValueError: funds are missing
    ("balance", ("bob",)),
    ("balance", ("eve",)),
    ("transfer", ("bob", "eve", 350)),
    ("transfer", ("ada", "ada", 700)),
    ("balance", ("ada",)),
    ("balance", ("eve",)),
    ("deposit", ("eve", 0)),  # ValueError
    ("balance", ("nobody",)),
]
