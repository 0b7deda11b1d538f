"""Constants that kernels can hold are the same there; an entry with another one runs as Python, with a reason."""

from __future__ import annotations

import dataclasses
import datetime as dt
import math
from typing import Any, NamedTuple

import pytest

import anabranch as ab
from anabranch.kernels.native.code import NativeCode, explain_tiers
from anabranch.lang.values import same_value


class Pair(NamedTuple):
    name: str
    count: int


@dataclasses.dataclass(frozen=True)
class Secret:
    number: int = dataclasses.field(repr=False)


FIRST, SECOND = Secret(1), Secret(2)
LOW, HIGH = Pair("low\0", -(2**63)), Pair("😀", 2**63 - 1)
TOO_HIGH = Pair("a", 2**63)
LIMITS = (dt.datetime.min, dt.datetime.max, dt.date.min, dt.date.max, dt.timedelta.resolution)
NUMBERS = (math.nan, math.inf, -math.inf, -0.0, 0.0, 5e-324, 1.7976931348623157e308)


class Held(ab.Program):
    seen: ab.Partitioned[ab.Table[str, int]] = ab.Table(default=0)
    names: ab.Partitioned[ab.Table[int, str]] = ab.Table(default="\0é😀")
    moments: ab.Partitioned[ab.Table[int, dt.datetime]] = ab.Table(default=dt.datetime.max)
    numbers: ab.Partitioned[ab.Table[int, float]] = ab.Table(default=-0.0)
    limits: tuple[bytes, float, int]
    rows: list[tuple[str, float | None]]

    def __init__(self) -> None:
        self.limits = (b"\0\xff", -0.0, -(2**63))
        self.rows = [("", math.nan), ("\0", None), ("😀", -math.inf)]

    def texts(self, k: int) -> list[str]:
        self.seen["\0é😀"] += k
        return ["", "\0", "a\0b", "é", "😀", "x" * 3, str(self.seen["\0é😀"])]

    def binaries(self, k: int) -> list[bytes]:
        self.seen[""] += k
        return [b"", b"\0", b"\xff\0a"]

    def floats(self, k: int) -> list[float]:
        self.seen[""] += k
        return [1e999, -1e999, -0.0, 0.0, 5e-324, *[NUMBERS[0], NUMBERS[1], NUMBERS[3], NUMBERS[5], NUMBERS[6]]]

    def ints(self, k: int) -> list[int]:
        self.seen[""] += k
        return [-9223372036854775808, 9223372036854775807, LOW.count, HIGH.count]

    def times(self, k: int) -> tuple[dt.datetime, dt.datetime, dt.date, dt.date, dt.timedelta]:
        self.seen[""] += k
        return (LIMITS[0], LIMITS[1], LIMITS[2], LIMITS[3], LIMITS[4])

    def records(self, k: int) -> list[Pair]:
        self.seen[""] += k
        return [LOW, HIGH]

    def hidden(self, k: int) -> int:
        self.seen[""] += k
        return FIRST.number * 10 + SECOND.number

    def defaults(self, k: int) -> tuple[str, dt.datetime, float]:
        return (self.names[k], self.moments[k], self.numbers[k])

    def parameters(self, k: int) -> str:
        self.seen[""] += k
        return self._joined("a")

    def configuration(self, k: int) -> tuple[bytes, float, int]:
        self.seen[""] += k
        return self.limits

    def configured_rows(self, k: int) -> list[tuple[str, float | None]]:
        self.seen[""] += k
        return list(self.rows)

    def _joined(self, a: str, b: str = "\0", c: str = "😀") -> str:
        return a + b + c


class Refused(ab.Program):
    seen: ab.Partitioned[ab.Table[str, int]] = ab.Table(default=0)

    def surrogate(self, k: str) -> int:
        self.seen[k.replace("\udcff", "?")] += 1
        return self.seen[k]

    def surrogate_in_text(self, k: str) -> int:
        self.seen[k] += 1
        return len(f"{k}\ud800")

    def surrogate_of_helper(self, k: str) -> int:
        self.seen[k] += 1
        return self._count(k)

    def large(self, k: str) -> int:
        self.seen[k] += 1
        return 2**70 % 1000 + 1180591620717411303424 % 7

    def large_in_record(self, k: str) -> int:
        self.seen[k] += 1
        return TOO_HIGH.count % 10

    def long_duration(self, k: str) -> bool:
        self.seen[k] += 1
        return dt.timedelta.max > dt.timedelta(days=self.seen[k])

    def _count(self, k: str, what: str = "\udcff") -> int:
        return k.count(what)


class Lies(ab.Program):
    """Configuration whose values are of other types than declared: plain Python uses them as they are."""

    seen: ab.Partitioned[ab.Table[str, int]] = ab.Table(default=0)

    def __init__(self) -> None:
        self.rate: float = 1
        self.name: str = b"a"  # type: ignore[assignment]

    def is_exact(self, k: str) -> bool:
        self.seen[k] += 1
        return 9007199254740993 * self.rate == 9007199254740993

    def is_text(self, k: str) -> bool:
        self.seen[k] += 1
        return self.name == "a"


@pytest.mark.parametrize("tier", ["python", "compiled"])
@pytest.mark.parametrize("program", [Held, Refused, Lies], ids=lambda p: p.__name__)
def test_constants(program: type[ab.Program], tier: Any) -> None:
    plain = program()
    with ab.run(program(), workers=1, tier=tier) as app:
        for name, entry in plain.entries.items():
            for _ in range(2):
                argument: Any = 3 if program is Held else "a"
                wanted, got = entry(argument), app.entries[name](argument)
                assert same_value(got, wanted), name
                assert repr(got) == repr(wanted), name
        if tier == "compiled":
            fast = {name for name in plain.entries if app._engine.tiers.is_fast(name)}
            assert fast == (set(plain.entries) if program is Held else set())


def test_what_kernels_cannot_hold_has_a_reason_at_its_place() -> None:
    for name, reason in explain_tiers(ab.compile(Refused)).items():
        assert reason is not None and reason.span is not None, name
        assert "fit" in reason.why or "table" in reason.why, name
    code = NativeCode(ab.compile(Lies), Lies(), 1)
    assert str(code.written("is_exact").why) == (  # type: ignore[union-attr]
        "rate does not fit a kernel: it is not the float that its type says"
    )
