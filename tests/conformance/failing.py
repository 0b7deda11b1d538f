"""A program whose entries fail in every place: the first row of each case is fine, the second fails."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import anabranch as ab


class OutOfStock(Exception):
    """Has arguments of its own, as users' exceptions have."""

    def __init__(self, sku: str, left: int) -> None:
        super().__init__(sku, left)


def positive(n: int) -> int:
    if n <= 0:
        raise ValueError("not positive", n)
    return n


class Failing(ab.Program):
    stock: ab.Partitioned[ab.Table[str, int]] = ab.Table(default=10)
    coins: ab.Partitioned[ab.Table[int, int]] = ab.Table(dict.fromkeys(range(16), 100))
    sold: ab.Partial[ab.Value[int]] = ab.partial(ab.Value(0), merge=ab.add)
    highest: ab.Partial[ab.Value[int]] = ab.partial(ab.Value(0), merge=ab.largest)
    weights: ab.Partial[ab.Vector]
    limit: ab.Replicated[ab.Value[int]] = ab.Value(10**6)
    rules: ab.Replicated[ab.Table[str, int]]

    # -- straight ---------------------------------------------------------------------------------------------------

    def take(self, sku: str, n: int) -> int:
        self.stock[sku] -= n
        left = self.stock[sku]
        if left < 0:
            raise OutOfStock(sku, left)
        return left

    def divide(self, sku: str, n: int) -> None:
        self.stock[sku] = 100
        self.stock[sku] = (
            self.stock[sku]
            // n
        )  # fmt: skip

    def spend(self, user: int, n: int) -> int:
        self.coins[user] -= n
        return self.coins[user]

    def grow(self, user: int, n: int) -> None:
        self.coins[user] = 1
        self.coins[user] = n * 2**40

    def square(self, user: int, n: int) -> int:
        self.coins[user] += 1
        return n * n

    def check(self, user: int, n: int) -> None:
        self.coins[user] += n
        assert n < 7, "seven is too many"

    def parse(self, user: int, text: str) -> int:
        self.coins[user] += 1
        try:
            return int(text)
        except ValueError as error:
            raise KeyError(text) from error

    def pick(self, user: int, n: int) -> int:
        self.coins[user] += 1
        return [1, 2, 3][n]

    def helped(self, user: int, n: int) -> int:
        self.coins[user] += 1
        return self._helped(user, n)

    def _helped(self, user: int, n: int) -> int:
        self.coins[user] += positive(n)
        return self.coins[user]

    def buy(self, user: int, sku: str, n: int) -> int:
        self.coins[user] -= 1
        self.sold.value += n
        self.stock[sku] -= n
        if self.stock[sku] < 0:
            raise OutOfStock(sku, n)
        return n

    def weigh(self, index: int, x: float) -> None:
        self.weights[index] += x
        if x < 0.0:
            raise ArithmeticError(index, x)

    def leave(self, user: int, code: int) -> None:
        self.coins[user] += 1
        if code == 1:
            raise SystemExit(code)
        if code == 2:
            raise KeyboardInterrupt(user)

    # -- fan-out ----------------------------------------------------------------------------------------------------

    def share(self, sku: str, users: list[int]) -> int:
        self.stock[sku] += 1
        for user in users:
            self.coins[user] += 1
        return len(users)

    def worth(self, users: list[int]) -> int:
        total = 0
        for user in users:
            total += self.coins[user]
        return total

    # -- lines ------------------------------------------------------------------------------------------------------

    def write_in_lines(self, n: int) -> int:
        ab.everywhere(self.limit).value = (
            n
            * 2**40
        )  # fmt: skip
        return n

    def assert_in_lines(self, n: int) -> int:
        assert (
            n > 0
        ), "not positive"  # fmt: skip
        return n

    def result_of_another(self, n: int) -> int:
        return self.twice(
            n,
        )

    def twice(self, n: int) -> int:
        return 2 * n

    # -- winding ----------------------------------------------------------------------------------------------------

    def take_all(self, user: int, skus: list[str]) -> None:
        self.coins[user] += 1
        for sku in skus:
            self.stock[sku] -= 1
            if self.stock[sku] < 7:
                raise OutOfStock(sku, self.stock[sku])

    def swap(self, a: str, b: str, n: int) -> int:
        self.stock[a] -= n
        self.stock[b] += n
        if self.stock[a] < 0:
            raise OutOfStock(a, self.stock[a])
        return self.stock[b]

    def pay(self, payer: int, user: int, n: int) -> int:
        self.coins[user] += n
        if self.coins[payer] < n:
            raise ValueError("too poor", payer, self.coins[payer])
        self.coins[payer] -= n
        return self.coins[user]

    # -- everywhere -------------------------------------------------------------------------------------------------

    def close(self, most: int) -> int:
        self.sold.value += 1
        total = sum(ab.gather(ab.everywhere(self.sold).value))
        if total > most:
            raise RuntimeError("sold too much")
        return total

    def reset(self, n: int) -> None:
        ab.everywhere(self.highest).value = n
        positive(n)

    def count(self, most: int) -> int:
        total = sum(ab.gather(ab.everywhere(self.sold).value))
        if total > most:
            raise RuntimeError("counted too much", total)
        return total

    def audit(self, least: int) -> int:
        items = sum(ab.gather(len(ab.everywhere(self.coins))))
        self.sold.value += items
        return items // max(0, items - least)

    def allow(self, n: int) -> int:
        ab.everywhere(self.limit).value = n
        if n < 0:
            raise ValueError(n)
        return self.limit.value

    def rule(self, name: str, n: int) -> None:
        ab.everywhere(self.rules)[name] = n
        ab.everywhere(self.rules)[name] = n * 2**40

    def forget(self, name: str, n: int) -> int:
        ab.everywhere(self.rules)[name] = n
        ab.everywhere(self.rules).pop("no such rule" if n < 0 else name)
        return n


@dataclass(frozen=True)
class Case:
    """A row that is fine, one that fails, what it raises and the line that does."""

    entry: str
    good: tuple[Any, ...]
    bad: tuple[Any, ...]
    error: type[BaseException]
    args: tuple[Any, ...]
    line: str


CASES = [
    Case("take", ("tea", 0), ("rum", 11), OutOfStock, ("rum", -1), "raise OutOfStock(sku, left)"),
    Case(
        "divide", ("tea", 2), ("tea", 0), ZeroDivisionError, ("integer division or modulo by zero",), "self.stock[sku]"
    ),
    Case("spend", (1, 1), (100, 1), KeyError, (100,), "self.coins[user] -= n"),
    Case("grow", (1, 2), (2, 2**30), OverflowError, (), "self.coins[user] = n * 2**40"),
    Case("square", (1, 2), (2, 2**32), OverflowError, (), "def square(self, user: int, n: int) -> int:"),
    Case("check", (1, 1), (1, 7), AssertionError, ("seven is too many",), 'assert n < 7, "seven is too many"'),
    Case("parse", (1, "1"), (2, "x"), KeyError, ("x",), "raise KeyError(text) from error"),
    Case("pick", (1, -1), (2, 3), IndexError, ("list index out of range",), "return [1, 2, 3][n]"),
    Case("helped", (1, 1), (2, 0), ValueError, ("not positive", 0), 'raise ValueError("not positive", n)'),
    Case("buy", (1, "tea", 0), (1, "rum", 11), OutOfStock, ("rum", 11), "raise OutOfStock(sku, n)"),
    Case("weigh", (1, 0.5), (2, -1.0), ArithmeticError, (2, -1.0), "raise ArithmeticError(index, x)"),
    Case("leave", (1, 0), (2, 1), SystemExit, (1,), "raise SystemExit(code)"),
    Case("leave", (1, 0), (3, 2), KeyboardInterrupt, (3,), "raise KeyboardInterrupt(user)"),
    Case("share", ("tea", [1, 2]), ("rum", [3, 101, 4, 100]), KeyError, (101,), "self.coins[user] += 1"),
    Case("take_all", (1, []), (2, ["a", "b", *"cccc", "d"]), OutOfStock, ("c", 6), "raise OutOfStock(sku, "),
    Case("worth", ([1, 2, 3],), ([4, 101, 5, 100],), KeyError, (101,), "total += self.coins[user]"),
    Case("swap", ("a", "b", 0), ("c", "d", 11), OutOfStock, ("c", -1), "raise OutOfStock(a, self.stock[a])"),
    Case("pay", (1, 2, 1), (3, 4, 101), ValueError, ("too poor", 3, 100), 'raise ValueError("too poor", payer'),
    Case("close", (10**6,), (0,), RuntimeError, ("sold too much",), 'raise RuntimeError("sold too much")'),
    Case("reset", (3,), (-3,), ValueError, ("not positive", -3), 'raise ValueError("not positive", n)'),
    Case("count", (10**6,), (-1,), RuntimeError, (), 'raise RuntimeError("counted too much", '),
    Case("audit", (3,), (10**6,), ZeroDivisionError, ("integer division or modulo by zero",), "return items // max"),
    Case("allow", (5,), (-5,), ValueError, (-5,), "raise ValueError(n)"),
    Case("rule", ("a", 1), ("b", 2**30), OverflowError, (), "ab.everywhere(self.rules)[name] = n * 2**40"),
    Case("forget", ("a", 1), ("b", -1), KeyError, ("no such rule",), 'ab.everywhere(self.rules).pop("no such rule"'),
]
# What is written in several lines fails in the line that Python names.
LINES = [
    Case("write_in_lines", (1,), (2**40,), OverflowError, (), "ab.everywhere(self.limit).value = ("),
    Case("assert_in_lines", (1,), (0,), AssertionError, ("not positive",), "n > 0"),
    Case("result_of_another", (1,), (2**62,), OverflowError, (), "return self.twice("),
    Case("twice", (1,), (2**62,), OverflowError, (), "def twice(self, n: int) -> int:"),
]
