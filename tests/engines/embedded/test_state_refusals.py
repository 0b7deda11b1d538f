"""What `app.state` is not for is refused with what to do instead; what it shows has sizes and names."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import pytest

import anabranch as ab
from anabranch.lang.access import MARK
from anabranch.lang.errors import FrozenError
from tests.engines.embedded import zoo
from tests.engines.embedded.test_state_reads import fill


@pytest.fixture(scope="module")
def app() -> Any:
    with ab.run(zoo.Partitioned(), workers=2) as app:
        fill(app)
        yield app


@pytest.mark.parametrize("cls", [zoo.Partitioned, zoo.Replicated, zoo.Partial])
def test_every_writing_method_is_refused(cls: type[ab.Program]) -> None:
    with ab.run(cls(), workers=2) as app:
        fill(app)
        for name in app.state:
            view = app.state[name]
            own = name == "own"
            before = [str(vars(part)["by_place"]) if own else str(part) for part in view.instances()]
            kind = type(view.instances()[0])
            writing = [m for m in dir(kind) if getattr(getattr(kind, m), MARK, None) == "writes" and m[0] != "_"]
            assert writing
            hint = "entries change state" + ("" if own else f", app.state.{name}.load fills it")
            for method in writing:
                with pytest.raises(AttributeError, match=f"{name}.{method} writes: {hint}$"):
                    getattr(view, method)
                assert not hasattr(view, method)
            with pytest.raises(FrozenError, match=rf"app.state.{name}\[...\] cannot be set: {hint}$"):
                view[1] = 2
            with pytest.raises(FrozenError, match=rf"app.state.{name}\[...\] cannot be deleted: {hint}$"):
                del view[1]
            for attribute in ("value", "foo", "_state"):
                with pytest.raises(AttributeError, match=f"app.state.{name}.{attribute} cannot be set: {hint}$"):
                    setattr(view, attribute, 2)
            with pytest.raises(AttributeError, match=f"app.state.{name} cannot be set: entries change state"):
                setattr(app.state, name, {})
            assert [str(vars(part)["by_place"]) if own else str(part) for part in view.instances()] == before


def test_adding_in_place_is_refused(app: Any) -> None:
    with pytest.raises(FrozenError, match="entries change state"):
        app.state.counts["k1"] += 1
    with pytest.raises(TypeError):
        app.state.vector += ab.Vector({1: 1.0})
    assert app.state.counts["k1"] == 3


def test_unknown_names(app: Any) -> None:
    names = ", ".join(app.state)
    with pytest.raises(AttributeError, match=f"the app has no state 'tabel': states are {names}"):
        _ = app.state.tabel
    with pytest.raises(KeyError, match="the app has no state 'tabel'"):
        app.state["tabel"]
    with pytest.raises(AttributeError, match=r"table is a Table\[int, int\], which has no 'nope'"):
        app.state.table.nope()
    with pytest.raises(AttributeError, match="own is a Visits, which has no 'by_place'"):
        _ = app.state.own.by_place
    for view in (app.state.table, app.state.own):
        with pytest.raises(TypeError, match="has no past: start the app with"):
            view.as_of(1)
        assert not hasattr(view, "__arrow_c_stream__") and not hasattr(view, "_repr_html_")


def test_names_of_states(app: Any) -> None:
    assert list(app.state) == list(PARTITIONED)
    assert set(PARTITIONED) <= set(dir(app.state))
    assert "table" in app.state and "tabel" not in app.state
    assert repr(app.state.pairs) == "<state pairs: Partitioned[Table[tuple[int, str], float]]>"


PARTITIONED = "table counts pairs cells items lists vector by_row by_column dense grid own".split()


def test_views_are_no_keys_and_compare_by_content(app: Any) -> None:
    with pytest.raises(TypeError, match="unhashable"):
        hash(app.state.table)
    assert app.state.table != ab.Table() and app.state.table == app.state.table.copy()
    assert not app.state.table == 3  # noqa: SIM201
    assert app.state.dense == ab.DenseVector([k * 2.0 for k in range(40)])


@pytest.mark.parametrize("name", [n for n in PARTITIONED if n not in ("dense", "grid")])
def test_bytes_grow_with_the_entries(name: str) -> None:
    with ab.run(zoo.Partitioned(), workers=2) as app:
        empty = app.state[name].nbytes
        fill(app)
        assert empty < app.state[name].nbytes < 100_000
        assert app.metrics().states[name] == app.state[name].nbytes


def test_bytes_are_about_what_the_entries_take() -> None:
    class Big(ab.Program):
        table: ab.Partitioned[ab.Table[int, int]]
        matrix: ab.Replicated[ab.Matrix]
        grid: ab.Replicated[ab.DenseMatrix] = ab.DenseMatrix.zeros(300, 400)
        dense: ab.Replicated[ab.DenseVector] = ab.DenseVector.zeros(10_000)

        def put(self, k: int) -> None:
            self.table[k] = k

    with ab.run(Big(), workers=1) as app:
        n = 20_000
        app.state.table.load({"key": list(range(n)), "value": list(range(n))})
        app.state.matrix.load({"row": [i % 5 for i in range(n)], "column": list(range(n)), "value": [1.5] * n})
        assert 60 * n < app.state.table.nbytes < 250 * n
        assert 60 * n < app.state.matrix.nbytes < 250 * n
        assert 300 * 400 * 8 <= app.state.grid.nbytes < 300 * 400 * 8 + 1000
        assert 10_000 * 8 <= app.state.dense.nbytes < 10_000 * 8 + 1000


@pytest.mark.parametrize("operation", [operator.add, operator.mul, operator.matmul])
def test_arithmetic_needs_a_copy(app: Any, operation: Callable[[Any, Any], Any]) -> None:
    with pytest.raises(TypeError, match="unsupported operand"):
        operation(app.state.vector, 2)
