"""What is asked: the requests of each client, the batches of the stream and the first contents, all from a seed."""

from __future__ import annotations

from random import Random
from typing import Any, NamedTuple

CLIENTS = 3
KEYS = 40  # of each client
FRAME_EVERY = 15  # of requests of the first client on Spark: one as a DataFrame
BATCHES = -1  # the item of the stream that counts its batches
FILLED = "fill "  # begins the keys of the first notes
FILL = 400  # characters of each of them


class Request(NamedTuple):
    """`rows` are several if it is a batch."""

    entry: str
    rows: list[tuple[Any, ...]]
    batch: bool


def request_of(seed: int, client: int, number: int, filled: int) -> Request:
    """The request of a client that has a number; numbers begin with 1. `filled` is how many notes there are from the
    beginning."""
    chance = Random(f"{seed} {client} {number}")

    def key() -> int:
        return client * KEYS + chance.randrange(KEYS)

    def note() -> tuple[Any, ...]:
        if filled and chance.random() < 0.5:
            return client, number, fill_key(chance.randrange(filled // CLIENTS) * CLIENTS + client), "é" * key()
        return client, number, f"{client} {key()}", "note" * key()

    match chance.randrange(10):
        case 0 | 1 | 2:
            return Request("pay", [(client, number, key(), chance.randrange(100))], False)
        case 3 | 4:
            size = chance.choice((5, 200))
            return Request("pay", [(client, number, key(), chance.randrange(100)) for _ in range(size)], True)
        case 5:
            return Request("note", [note()], False)
        case 6:
            return Request("note", [note() for _ in range(20)], True)
        case 7:
            return Request("move", [(client, number, key(), key(), chance.randrange(10))], False)
        case 8:
            if chance.random() < 0.5:
                return Request("close", [(client, number, key())], False)
            return Request("rule", [(client, number, chance.randrange(100))], False)
        case _:
            rows = [(client, number, key(), chance.randrange(6), chance.choice((0.0, 1.5)))]
            return Request("mark", rows, False)


def as_frame(seed: int, client: int, number: int) -> Request:
    """A batch of payments that goes to Spark as a DataFrame: it can have no id."""
    chance = Random(f"frame {seed} {client} {number}")
    rows = [(client, number, client * KEYS + chance.randrange(KEYS), chance.randrange(100)) for _ in range(60)]
    return Request("pay", rows, True)


def fill_key(i: int) -> str:
    return f"{FILLED}{i}"


def filling(size: int) -> dict[str, str]:
    """The first notes."""
    return {key: fill_text(key) for key in map(fill_key, range(size))}


def fill_text(key: str) -> str:
    return key.ljust(FILL, "x")


def stream_batch(seed: int, number: int) -> list[dict[str, int]]:
    chance = Random(f"stream {seed} {number}")
    rows = [{"item": chance.randrange(50), "by": chance.randrange(1, 9)} for _ in range(chance.choice((20, 300)))]
    return [*rows, {"item": BATCHES, "by": 1}]
