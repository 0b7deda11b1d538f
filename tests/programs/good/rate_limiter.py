"""A token bucket per client: tokens come back with the time that passed between the calls' own times."""

from typing import NamedTuple

import anabranch as ab


class Bucket(NamedTuple):
    tokens: float
    time: float


class RateLimiter(ab.Program):
    buckets: ab.Partitioned[ab.Table[bytes, Bucket]]

    def __init__(self, burst: int = 3, rate: float = 0.5) -> None:
        self.burst = burst
        self.rate = rate

    def allow(self, client: bytes, time: float, cost: float = 1.0) -> bool:
        bucket = self.buckets.get(client, Bucket(float(self.burst), time))
        passed = max(0.0, time - bucket.time)
        tokens = min(float(self.burst), bucket.tokens + passed * self.rate)
        allowed = tokens >= cost
        if allowed:
            tokens -= cost
        self.buckets[client] = Bucket(tokens, time)
        return allowed

    def left(self, client: bytes) -> float | None:
        bucket = self.buckets.get(client)
        return None if bucket is None else bucket.tokens

    def forget(self, client: bytes) -> None:
        del self.buckets[client]


CALLS: list[tuple[str, tuple[object, ...]]] = [
    ("left", (b"\x00\xff",)),
    ("allow", (b"\x00\xff", 0.0)),
    ("allow", (b"\x00\xff", 0.5)),
    ("allow", (b"\x00\xff", 0.75, 1.5)),
    ("allow", (b"\x00\xff", 0.8)),
    ("allow", (b"", 0.9)),
    ("left", (b"\x00\xff",)),
    ("allow", (b"\x00\xff", 3.0)),
    ("allow", (b"\x00\xff", 100.0, 3.0)),
    ("forget", (b"\x00\xff",)),
    ("forget", (b"\x00\xff",)),  # KeyError
    ("left", (b"\x00\xff",)),
]
