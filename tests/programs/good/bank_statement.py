"""Bank statements: a list of records per account, read by helpers and by functions of the module."""

from __future__ import annotations

from datetime import date
from typing import NamedTuple

import anabranch as ab

FEE = 5


class Booking(NamedTuple):
    day: date
    cents: int
    text: str = ""


class Statement(NamedTuple):
    opening: int
    bookings: list[Booking]
    closing: int


def balance_of(bookings: list[Booking]) -> int:
    return sum(booking.cents for booking in bookings)


def before(bookings: list[Booking], day: date) -> list[Booking]:
    return [booking for booking in bookings if booking.day < day]


class Bookkeeping(ab.Program):
    bookings: ab.Partitioned[ab.Table[str, list[Booking]]]

    def book(self, account: str, day: date, cents: int, text: str = "") -> int:
        known = self._known(account)
        if known and known[-1].day > day:
            raise ValueError(f"{account} is closed up to {known[-1].day}")
        new = [Booking(day, cents, text)]
        if cents < 0:
            new.append(Booking(day, -FEE, "fee"))
        self.bookings[account] = known + new
        return balance_of(known) + balance_of(new)

    def statement(self, account: str, start: date, end: date) -> Statement:
        """All bookings from `start` up to, not including, `end`."""
        assert start <= end, "a statement runs forward"
        known = self._known(account)
        opening = before(known, start)
        period = [booking for booking in before(known, end) if booking.day >= start]
        return Statement(balance_of(opening), period, balance_of(opening) + balance_of(period))

    def largest(self, account: str) -> Booking | None:
        known = self._known(account)
        if not known:
            return None
        return max(known, key=lambda booking: abs(booking.cents))

    def _known(self, account: str) -> list[Booking]:
        return self.bookings.get(account, [])


CALLS: list[tuple[str, tuple[object, ...]]] = [
    ("largest", ("a",)),
    ("book", ("a", date(2026, 1, 3), 1000, "salary")),
    ("book", ("a", date(2026, 1, 5), -300)),
    ("book", ("a", date(2026, 1, 4), 1)),  # ValueError
    ("book", ("b", date(2026, 1, 4), 1)),
    ("book", ("a", date(2026, 2, 1), -20, "tea")),
    ("statement", ("a", date(2026, 1, 1), date(2026, 2, 1))),
    ("statement", ("a", date(2026, 2, 1), date(2026, 3, 1))),
    ("statement", ("a", date(2026, 2, 1), date(2026, 1, 1))),  # AssertionError
    ("statement", ("nobody", date(2026, 1, 1), date(2026, 1, 1))),
    ("largest", ("a",)),
]
