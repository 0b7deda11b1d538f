"""What a benchmark found: timings, figures with their targets, the machine; as JSON and as tables."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import quantiles
from typing import Any

PACKAGES = ("anabranch", "numba", "numpy", "pyarrow")


@dataclass(frozen=True, slots=True)
class Spread:
    """The median and the quartiles of what the rounds gave."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        low, middle, high = quantiles(values, method="inclusive") if len(values) > 1 else [values[0]] * 3
        return cls(middle, low, high)


@dataclass(frozen=True, slots=True)
class Timing:
    """One way, timed; `group` tells apart the parts of a benchmark that has several."""

    group: str
    way: str
    rows: int
    seconds: tuple[float, ...]
    spread: Spread

    @classmethod
    def of(cls, group: str, way: str, rows: int, seconds: Sequence[float]) -> Timing:
        return cls(group, way, rows, tuple(seconds), Spread.of(seconds))

    @property
    def rows_per_second(self) -> float:
        return self.rows / self.spread.median

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "rows_per_second": self.rows_per_second}


@dataclass(frozen=True, slots=True)
class Figure:
    """Something measured once in each round. `met` is None where there is no target."""

    what: str
    unit: str
    values: tuple[float, ...]
    spread: Spread
    at_least: float | None
    at_most: float | None

    @classmethod
    def of(cls, what: str, unit: str, values: Sequence[float], at_least: float | None, at_most: float | None) -> Figure:
        return cls(what, unit, tuple(values), Spread.of(values), at_least, at_most)

    @property
    def met(self) -> bool | None:
        if self.at_least is None and self.at_most is None:
            return None
        enough = self.at_least is None or self.spread.median >= self.at_least
        return enough and (self.at_most is None or self.spread.median <= self.at_most)

    @property
    def target(self) -> str:
        limits = ((">=", self.at_least), ("<=", self.at_most))
        return " and ".join(f"{sign} {shown(limit)}" for sign, limit in limits if limit is not None)

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "target": self.target, "met": self.met}


def shown(value: float) -> str:
    """Three digits that count, or all before the point.

    >>> shown(12345.6), shown(12.3456), shown(0.000123456)
    ('12,346', '12.3', '0.000123')
    """
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def verdict(met: bool | None) -> str:
    return {True: "yes", False: "NO", None: ""}[met]


def describe_machine() -> dict[str, Any]:
    """What the figures depend on; the load tells whether others were at work when it began."""
    return {
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "system": platform.platform(),
        "load": round(os.getloadavg()[0], 2),
        "python": platform.python_version(),
        **{package: _version(package) for package in PACKAGES},
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _cpu_model() -> str:
    information = Path("/proc/cpuinfo")
    lines = information.read_text(encoding="utf-8").splitlines() if information.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def print_report(found: Mapping[str, Any], timings: Sequence[Timing], figures: Sequence[Figure]) -> None:
    machine = found["machine"]
    print(f"{found['benchmark']}: {found['about']}")
    print(", ".join([*(f"{size:,} {name}" for name, size in found["sizes"].items()), f"{found['rounds']} rounds"]))
    versions = ", ".join(f"{name} {machine[name]}" for name in ("python", "numba"))
    print(f"{machine['cores']} cores of {machine['cpu']}, {versions}, load {machine['load']}")
    print_table(
        ("seconds", "quartiles", "per second"),
        [(f"{t.group}: {t.way}" if t.group else t.way, *_cells(t.spread), shown(t.rows_per_second)) for t in timings],
    )
    print_table(
        ("median", "quartiles", "target", "met"),
        [(f"{f.what} ({f.unit})" if f.unit else f.what, *_cells(f.spread), f.target, verdict(f.met)) for f in figures],
    )
    print()
    for entry, tiers in found["tiers"].items():
        for tier in tiers:
            print(f"tier of {entry}: {tier}")
    for note in found["notes"]:
        print(f"note: {note}")


def print_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """The first column to the left, the others to the right, each as wide as it must be."""
    if not rows:
        return
    table = [("", *heads), *rows]
    first, *widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    print()
    for name, *cells in table:
        print(f"{name:<{first}}" + "".join(f"   {cell:>{width}}" for cell, width in zip(cells, widths, strict=True)))


def _cells(spread: Spread) -> tuple[str, str]:
    return shown(spread.median), f"{shown(spread.low)} .. {shown(spread.high)}"
