"""Fraud rules on card payments: records as parameters, as state and as results; each rule is a pure function.

Shows: records in and out, helpers and functions of your own, and two states that live at the same key.

    python examples/fraud.py
"""

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


def main() -> None:
    """A hundred cards pay every hour for a day; in the afternoon one of them pays a fortune far away.

    >>> main()
    2400 payments, 2391 accepted
    2026-03-02 02:30: card 7 pays 900.00 in FR: large, far
    8 payments of the card were refused because it was blocked
    blocked since 2026-03-02 02:30:00; its mean payment is 10.00
    """
    hours = [(NOON + timedelta(hours=hour), card) for hour in range(24) for card in range(100)]
    payments = [Payment(f"card {card}", 1_000, "DE", at) for at, card in hours]
    stolen = next(i for i, payment in enumerate(payments) if payment.card == "card 7" and payment.at.hour == 3)
    payments[stolen] = Payment("card 7", 90_000, "FR", payments[stolen].at - timedelta(minutes=30))
    with ab.run(FraudRules(), workers=2) as app:
        verdicts = app.pay.many(payments)
        profile, since = app.profile("card 7"), app.unblock("card 7")
    print(f"{len(payments)} payments, {sum(verdict.accepted for verdict in verdicts)} accepted")
    _, cents, country, at = payments[stolen]
    print(f"{at:%Y-%m-%d %H:%M}: card 7 pays {cents / 100:.2f} in {country}: {', '.join(verdicts[stolen].reasons)}")
    blocked = sum(verdict.reasons == ["blocked"] for verdict in verdicts)
    print(f"{blocked} payments of the card were refused because it was blocked")
    print(f"blocked since {since}; its mean payment is {profile.mean / 100:.2f}")


# What the tests call, one after the other, on every engine.
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


if __name__ == "__main__":
    main()
