"""A field of a record that may not be there."""

from typing import NamedTuple

import anabranch as ab


class Account(NamedTuple):
    owner: str
    cents: int


class Accounts(ab.Program):
    accounts: ab.Partitioned[ab.Table[int, Account]]

    def open_account(self, number: int, owner: str) -> None:
        self.accounts[number] = Account(owner, 0)

    def balance(self, number: int) -> int:
        account = self.accounts.get(number)
        return account.cents  #! AB211

    def longest_name(self, numbers: list[int]) -> int:
        account = self.accounts.get(numbers[0])
        if account is not None:
            return len(account.owner)
        return 0
