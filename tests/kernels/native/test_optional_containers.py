"""Displays, comprehensions and calls where a declaration says that there may be None, in machine code."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

import anabranch as ab
from tests.kernels.native.flat import assert_alike


class Basket(NamedTuple):
    owner: str
    items: list[int] | None = None


class Maybe(ab.Program):
    seen: ab.Partitioned[ab.Table[int, int]] = ab.Table(default=0)
    kept: ab.Partitioned[ab.Table[int, list[int] | None]]

    def display(self, k: int) -> list[int] | None:
        self.seen[k] += 1
        found: list[int] | None = [1, k]
        return found

    def empty(self, k: int) -> list[int] | None:
        self.seen[k] += 1
        found: list[int] | None = []
        if found is not None and k > 2:
            found.append(k)
        return found

    def comprehension(self, k: int) -> list[int] | None:
        self.seen[k] += 1
        found: list[int] | None = [i for i in range(k) if i % 2]
        return found if k > 2 else None

    def call(self, k: int) -> list[int] | None:
        self.seen[k] += 1
        found: list[int] | None = sorted([3, k], reverse=True)
        return self._unless(found, k)

    def helper(self, k: int) -> list[int] | None:
        self.seen[k] += 1
        return self._unless(k=k, xs=[])

    def of_dict(self, k: int) -> int:
        self.seen[k] += 1
        found: dict[int, int] | None = {1: k, 2: 3} if k > 2 else None
        filled: dict[int, int] | None = {}
        return sum([0 if found is None else len(found), 0 if filled is None else len(filled)])

    def of_set(self, k: int) -> bool:
        self.seen[k] += 1
        found: set[int] | None = {1, k}
        other: set[int] | None = set()
        return found is not None and other is not None and k in found and k not in other

    def of_vector(self, k: int) -> float:
        self.seen[k] += 1
        found: ab.DenseVector | None = ab.DenseVector([float(k), 2.0])
        other: ab.Vector | None = ab.Vector()
        return 0.0 if found is None or other is None else found[0] + other[1]

    def of_text(self, k: int) -> str | None:
        self.seen[k] += 1
        found: str | None = "a" * k
        return found if k > 2 else None

    def of_tuple(self, k: int) -> tuple[str, list[int] | None]:
        self.seen[k] += 1
        found: tuple[str, list[int] | None] = ("a", [k])
        return found if k > 2 else ("b", None)

    def of_record(self, k: int) -> Basket | None:
        self.seen[k] += 1
        found: Basket | None = Basket("me", [k])
        return found if k > 2 else Basket("you")

    def elements(self, k: int) -> list[int | None]:
        self.seen[k] += 1
        found: list[int | None] | None = [k, 1]
        if found is None:
            return []
        found.append(None)
        return found

    def stored(self, k: int) -> list[int] | None:
        self.kept[k] = [k, 1] if k > 2 else None
        return self.kept[k]

    def _unless(self, xs: list[int] | None, k: int) -> list[int] | None:
        return None if k > 2 else xs


KEYS = [1, 4, 2, 7]


@pytest.fixture(scope="module")
def app() -> Iterator[Any]:
    with ab.run(Maybe(), workers=1, tier="compiled") as running:
        yield running


def test_optional_containers_compile(app: Any) -> None:
    assert [name for name in app.entries if not app._engine.tiers.is_fast(name)] == []


def test_optional_containers(app: Any) -> None:
    plain = Maybe()
    for name in Maybe().entries:
        batch = {"k": KEYS * 20}
        assert_alike(app.entries[name].many(batch), plain.entries[name].many(batch))
        assert_alike([app.entries[name](k) for k in KEYS], [plain.entries[name](k) for k in KEYS])
