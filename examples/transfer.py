"""Bank accounts: a transfer reads and debits one account, then credits another, or raises and changes nothing.

Shows: an entry that goes from one key to another and back to none of them half done, whoever else is at work.

    python examples/transfer.py
    anabranch check examples/transfer.py
"""

import random
from concurrent.futures import ThreadPoolExecutor

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


def main() -> None:
    """Four clerks move money between twenty accounts at once; none is lost, none is made, no account is overdrawn.

    >>> main()
    2000 transfers were asked for by 4 clerks at once
    money in all accounts: 20000 cents before, 20000 cents after
    overdrawn accounts: 0
    every clerk had some made and some refused: True
    """
    names = [f"account {n}" for n in range(20)]
    with ab.run(Bank(), workers=2) as app:
        app.deposit.many({"account": names, "cents": [1_000] * len(names)})

        def work(clerk: int) -> tuple[int, int]:
            """How many of the transfers were made, and how many refused."""
            chance, made, refused = random.Random(clerk), 0, 0
            for _ in range(500):
                source, target = chance.sample(names, 2)
                try:
                    app.transfer(source, target, chance.randint(1, 900))
                    made += 1
                except ValueError:  # funds are missing
                    refused += 1
            return made, refused

        with ThreadPoolExecutor(4) as clerks:
            counts = list(clerks.map(work, range(4)))
        balances = [balance for _, balance in app.state.accounts.scan()]
    print(f"{sum(map(sum, counts))} transfers were asked for by 4 clerks at once")
    print(f"money in all accounts: {1_000 * len(names)} cents before, {sum(balances)} cents after")
    print(f"overdrawn accounts: {sum(balance < 0 for balance in balances)}")
    print(f"every clerk had some made and some refused: {all(made and refused for made, refused in counts)}")


# What the tests call, one after the other, on every engine.
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


if __name__ == "__main__":
    main()
