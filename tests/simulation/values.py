"""Random arguments for the entries of any program, by type, from small pools so that keys collide."""

from __future__ import annotations

import datetime as dt
from random import Random
from typing import Any

import anabranch as ab
from anabranch.lang.spec import EntrySpec
from anabranch.lang.types import UTC_DATETIME, Dense, Dict, List, Optional, Record, Scalar, Set, Sparse, Tuple, Type

WORDS = ("a", "b", "c", "a b", "b c a", "", "x1")


def arguments(rng: Random, spec: EntrySpec) -> tuple[Any, ...]:
    return tuple(value(rng, p.type) for p in spec.parameters if p.type is not None)


def value(rng: Random, kind: Type) -> Any:
    match kind:
        case Optional(of):
            return None if rng.random() < 0.3 else value(rng, of)
        case Scalar():
            return _scalar(rng, kind)
        case Tuple(items):
            return tuple(value(rng, t) for t in items)
        case Record(cls, fields):
            return cls(**{name: value(rng, t) for name, t in fields})
        case List(of):
            return [value(rng, of) for _ in range(rng.randrange(4))]
        case Set(of):
            return {value(rng, of) for _ in range(rng.randrange(4))}
        case Dict(key, of):
            return {value(rng, key): value(rng, of) for _ in range(rng.randrange(4))}
        case Sparse():
            return ab.Vector({rng.randrange(4): float(rng.randrange(5)) for _ in range(rng.randrange(4))})
        case Dense():
            return ab.DenseVector([float(rng.randrange(5)) for _ in range(2)])
    raise TypeError(f"no values known of {kind}")


def _scalar(rng: Random, kind: Scalar) -> Any:
    if kind == UTC_DATETIME:
        return dt.datetime(2026, 1, 1, rng.randrange(24), tzinfo=dt.UTC)
    match kind.name:
        case "int":
            return rng.choice((0, 1, 2, 3, 4, 5, 7, 11, -1, 60, 1000)) if rng.random() < 0.4 else rng.randrange(4)
        case "float":
            return rng.choice((0.0, 0.5, 1.0, 2.0, 3.0, -1.0, 1024.0))
        case "bool":
            return rng.random() < 0.5
        case "str":
            return rng.choice(WORDS)
        case "bytes":
            return rng.choice(WORDS).encode()
        case "datetime":
            return dt.datetime(2026, 1, 1, rng.randrange(24))
        case "date":
            return dt.date(2026, 1, 1 + rng.randrange(5))
        case "timedelta":
            return dt.timedelta(seconds=rng.randrange(100))
    return None
