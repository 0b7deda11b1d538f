"""Sparse vectors inside kernels, and what all instances give: what the class gives, bit for bit."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anabranch as ab
from anabranch.engines.embedded import App
from anabranch.engines.sequential import SequentialApp
from anabranch.kernels.native.code import Fallback
from examples.recommender import Recommender
from tests.kernels.native.test_widened import answer

indices = st.integers(-3, 12) | st.sampled_from([2**63 - 1, -(2**63), 2**40, 5000, 9000, 100_000])
numbers = st.sampled_from([1.0, -1.0, 0.1, -2.5, 0.0, -0.0, 1e308, 5e-324, math.nan, math.inf, -math.inf])
vectors = st.dictionaries(indices, numbers, max_size=12).map(ab.Vector)
near = st.dictionaries(st.integers(0, 30), numbers, min_size=9, max_size=30).map(ab.Vector)
cells = st.dictionaries(st.tuples(indices, indices), numbers, max_size=30) | st.dictionaries(
    st.tuples(st.integers(0, 20), st.integers(0, 20)), numbers, min_size=60, max_size=200
)


class Vectors(ab.Program):
    by_column: ab.Partial[ab.Matrix]
    by_row: ab.Partitioned[ab.Matrix]

    def fill(self, i: int, j: int, x: float) -> None:
        self.by_column[i, j] = x

    def fill_row(self, i: int, j: int, x: float) -> None:
        self.by_row[i, j] = x

    def both(self, v: ab.Vector, w: ab.Vector) -> tuple[ab.Vector, ab.Vector, float, int, bool]:
        return v + w, v - w, v.dot(w), len(v), bool(w)

    def scaled(self, v: ab.Vector, x: float) -> list[ab.Vector]:
        return [v * x, x * v, v * 2, -v, v.copy(), ab.Vector(v), ab.Vector()]

    def shared_out(self, v: ab.Vector, x: float) -> ab.Vector:
        return v / x

    def folded(self, v: ab.Vector) -> tuple[float, float, float, float]:
        total = 0.0
        for i, x in v.items():
            total += x * (i % 7)
        return v.sum(), v.norm(), v.get(3), total

    def chosen(self, v: ab.Vector | None) -> ab.Vector | None:
        return v if v is not None and len(v) > 1 else None

    def summed(self, v: ab.Vector, w: ab.Vector) -> tuple[ab.Vector, ab.Vector]:
        return sum([v, w, v], w), sum([v + w for _ in range(3)], ab.Vector())

    def columns(self, v: ab.Vector) -> ab.Vector:
        return sum(ab.gather(ab.everywhere(self.by_column).dot(v)), ab.Vector())

    def rows(self, v: ab.Vector) -> list[ab.Vector]:
        return ab.gather(ab.everywhere(self.by_row).dot(v))

    def row(self, i: int) -> ab.Vector:
        return self.by_row.row(i)


def assert_compiled(app: App) -> None:
    for entry in app.entries:
        assert app._engine.tiers.is_fast(entry), (entry, app._engine.tiers.fallback(entry))


@pytest.fixture(scope="module")
def compiled() -> Any:
    with App(Vectors(), 1, tier="compiled") as app:
        assert_compiled(app)
        yield app


@settings(max_examples=150, deadline=None)
@given(v=vectors | near, w=vectors | near, x=numbers)
def test_values_are_as_plain(compiled: App, v: ab.Vector, w: ab.Vector, x: float) -> None:
    plain = Vectors()
    for entry, row in (
        ("both", (v, w)),
        ("scaled", (v, x)),
        ("shared_out", (v, x)),
        ("folded", (v,)),
        ("chosen", (v,)),
        ("chosen", (None,)),
        ("summed", (v, w)),
    ):
        assert answer(getattr(compiled, entry), row) == answer(getattr(plain, entry), row), entry


@settings(max_examples=30, deadline=None)
@given(filled=cells, v=vectors | near)
def test_products_are_as_plain(filled: dict[tuple[int, int], float], v: ab.Vector) -> None:
    plain = Vectors()
    with App(Vectors(), 1, tier="compiled") as app:
        for (i, j), x in filled.items():
            for target in (plain, app):
                target.fill(i, j, x)
                target.fill_row(i, j, x)
        for given_vector in (v, *[ab.Vector({j: 1.5, 3: -0.1}) for _, j in list(filled)[:2]]):
            for entry in ("columns", "rows"):
                expected = answer(getattr(plain, entry), (given_vector,))
                assert answer(getattr(app, entry), (given_vector,)) == expected, entry
        for i, _ in list(filled)[:3]:
            assert answer(app.row, (i,)) == answer(plain.row, (i,))


class Everywhere(ab.Program):
    """Writes and reads of all instances, also of several values for each."""

    rules: ab.Replicated[ab.Table[str, int]]
    seen: ab.Partial[ab.Table[int, int]]
    counts: ab.Partial[ab.Vector]

    def __init__(self) -> None:
        self.seen = ab.partial(ab.Table(default=0), merge=ab.add)

    def learn(self, name: str, by: int) -> int:
        before = self.rules.get(name, 0)
        ab.everywhere(self.rules)[name] = before + by
        if by < 0:
            raise ValueError(name)
        return self.rules[name]

    def see(self, key: int, times: int) -> None:
        for _ in range(times):
            self.seen[key] += 1
            self.counts[key] += 0.1

    def total(self, key: int) -> tuple[int, list[int], float]:
        found = ab.everywhere(self.seen)[key]
        doubled = found * 2 + key
        numbers = ab.gather(doubled)
        shares = ab.gather(ab.everywhere(self.counts)[key])
        return sum(numbers), numbers, sum(shares, 0.0)


def rows_of_everywhere() -> list[tuple[str, tuple[Any, ...]]]:
    found: list[tuple[str, tuple[Any, ...]]] = []
    for i in range(300):
        found.append(("see", (i % 7, i % 4)))
        if i % 10 == 0:
            found += [("total", (i % 7,)), ("learn", (f"n{i % 3}", i % 40 - 5))]
    return found


def _raised_or_only(given: Any) -> Any:
    if isinstance(given, Exception):
        raise given
    (only,) = given
    return only


@pytest.mark.parametrize("workers", [1, 3])
def test_all_instances_are_reached_as_by_the_oracle(workers: int) -> None:
    with App(Everywhere(), workers, tier="compiled", history=True) as app:
        assert_compiled(app)
        found = [answer(getattr(app, entry), row) for entry, row in rows_of_everywhere()]
        oracle, answers = app.history().replay(Everywhere())
        assert found == [answer(_raised_or_only, (given,)) for given in answers]
        assert {kind for kind, _ in found} == {"result", "ValueError"}
        assert app.state.rules.copy() == oracle.state("rules")
        assert app.state.rules.instances() == workers * [oracle.state("rules")]


@pytest.mark.parametrize("workers", [1, 2])
def test_batches_give_vectors_in_the_form_in_which_they_came(workers: int) -> None:
    oracle = SequentialApp(Recommender(), workers)
    users = [i % 9 for i in range(200)]
    with App(Recommender(), workers, tier="compiled") as app:
        assert_compiled(app)
        for i in range(120):
            for target in (app, oracle):
                target.rate(i % 7, i * i % 41, 0.5 * (i % 5))
        expected = [oracle.recommend(user) for user in users]
        assert app.recommend.many({"user": users})["result"] == expected
        assert app.recommend.many([(user,) for user in users]) == expected
        table = app.recommend.many(pa.table({"user": users}))
        assert table["result"].to_pylist() == [[{"index": i, "value": x} for i, x in v.items()] for v in expected]


class Kept(ab.Program):
    held: ab.Partitioned[ab.Table[int, ab.Vector]]

    def keep(self, key: int, v: ab.Vector) -> None:
        self.held[key] = v

    def change(self, v: ab.Vector) -> ab.Vector:
        w = v.copy()
        w[1] = 2.0
        return w

    def best(self, v: ab.Vector) -> list[tuple[int, float]]:
        return v.top(2)


def test_what_stays_python_says_why() -> None:
    with App(Kept(), 1, tier="compiled") as app:
        found = {name: app._engine.tiers.fallback(name) for name in app.entries}
        assert all(isinstance(f, Fallback) and f.span is not None for f in found.values())
        assert {name: f.why for name, f in found.items()} == {
            "keep": "held: a sparse vector as a value of a state",
            "change": "an item of a Vector is changed",
            "best": "top of Vector is not in the kernels' table",
        }
        app.keep(1, ab.Vector({1: 2.0}))
        assert app.change(ab.Vector({3: 1.0})) == ab.Vector({1: 2.0, 3: 1.0})


class Asked(ab.Program):
    rows: ab.Partitioned[ab.Matrix]

    def held(self, k: int) -> bool:
        self.rows[k, 1] = 2.0
        return k in self.rows.row(k)

    def no_number(self, k: int) -> bool:
        self.rows[k, 1] = 2.0
        return None in self.rows.row(k)

    def no_index(self, k: int) -> bool:
        self.rows[k, 1] = 2.0
        return 1.5 in self.rows.row(k)


def test_only_an_int_is_looked_for_in_a_kernel() -> None:
    with ab.run(Asked(), workers=1, tier="compiled") as app:
        assert [name for name in app.entries if app._engine.tiers.is_fast(name)] == ["held"]
        plain = Asked()
        assert [app.held(k) for k in (1, 2)] == [plain.held(k) for k in (1, 2)]
        for name in ("no_number", "no_index"):
            with pytest.raises((TypeError, ValueError)) as wanted:
                plain.entries[name](1)
            with pytest.raises(type(wanted.value)) as got:
                app.entries[name](1)
            assert got.value.args == wanted.value.args
