"""Fraud rules on card payments: records as parameters, as state and as results; each rule is a pure function."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

import anabranch as ab


class Payment(NamedTuple):
    card: str
    cents: int
    country: str
    at: datetime


@dataclass(frozen=True)
class Profile:
    """What is known of a card."""

    payments: int
    mean: float
    country: str
    last: datetime


class Verdict(NamedTuple):
    accepted: bool
    reasons: list[str]


def too_large(profile: Profile, payment: Payment, factor: float) -> bool:
    return profile.payments >= 3 and payment.cents > factor * profile.mean


def too_far(profile: Profile, payment: Payment, pause: timedelta) -> bool:
    return payment.country != profile.country and payment.at - profile.last < pause


class FraudRules(ab.Program):
    profiles: ab.Partitioned[ab.Table[str, Profile]]
    blocked: ab.Partitioned[ab.Table[str, datetime]]

    def __init__(self, factor: float = 5.0, pause: timedelta = timedelta(hours=2)) -> None:
        self.factor = factor
        self.pause = pause

    def pay(self, payment: Payment) -> Verdict:
        card = payment.card
        if card in self.blocked:
            return Verdict(False, ["blocked"])
        profile = self.profiles.get(card)
        if profile is None:
            self.profiles[card] = Profile(1, float(payment.cents), payment.country, payment.at)
            return Verdict(True, [])
        reasons = self._reasons(profile, payment)
        if len(reasons) > 1:
            self.blocked[card] = payment.at
        if not reasons:
            n = profile.payments + 1
            mean = profile.mean + (payment.cents - profile.mean) / n
            self.profiles[card] = Profile(n, mean, payment.country, payment.at)
        return Verdict(not reasons, reasons)

    def unblock(self, card: str) -> datetime:
        """When the card was blocked; `KeyError` if it was not."""
        return self.blocked.pop(card)

    def profile(self, card: str) -> Profile | None:
        return self.profiles.get(card)

    def _reasons(self, profile: Profile, payment: Payment) -> list[str]:
        reasons: list[str] = []
        if too_large(profile, payment, self.factor):
            reasons.append("large")
        if too_far(profile, payment, self.pause):
            reasons.append("far")
        return reasons


NOON = datetime(2026, 3, 1, 12)

CALLS: list[tuple[str, tuple[object, ...]]] = [
    ("profile", ("c1",)),
    ("pay", (Payment("c1", 1000, "DE", NOON),)),
    ("pay", (Payment("c1", 1200, "DE", NOON + timedelta(minutes=5)),)),
    ("pay", (Payment("c1", 800, "DE", NOON + timedelta(minutes=9)),)),
    ("profile", ("c1",)),
    ("pay", (Payment("c1", 1000, "FR", NOON + timedelta(minutes=10)),)),
    ("pay", (Payment("c1", 9000, "DE", NOON + timedelta(hours=3)),)),
    ("pay", (Payment("c1", 900, "FR", NOON + timedelta(hours=4)),)),
    ("pay", (Payment("c1", 90000, "DE", NOON + timedelta(hours=5)),)),
    ("pay", (Payment("c1", 10, "DE", NOON + timedelta(days=1)),)),
    ("unblock", ("c1",)),
    ("unblock", ("c1",)),  # KeyError
    ("pay", (Payment("c1", 10, "DE", NOON + timedelta(days=1)),)),
    ("profile", ("c1",)),
]
