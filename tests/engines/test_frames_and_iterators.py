"""What `many` takes for ints of pandas and for rows of an iterator: the same in plain Python, in apps and far away."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import anabranch as ab
from tests.frontend.mutate import programs_in

SOURCE = """
import anabranch as ab

class Sums(ab.Program):
    sums: ab.Partitioned[ab.Table[str, int]] = ab.Table(default=0)

    def maybe(self, key: str, n: int | None) -> int | None:
        self.sums[key] += 0 if n is None else n
        return n

    def surely(self, key: str, n: int) -> int:
        self.sums[key] += n
        return n
"""
WHERE = ["plain", "python", "compiled", "far"]
KEEP = "give the column pandas' dtype 'Int64', which keeps ints beside missing values"


@pytest.fixture(scope="module")
def programs() -> Iterator[dict[str, Any]]:
    with programs_in(SOURCE) as found:
        made = found[0]
        with (
            ab.run(made(), workers=2, tier="python") as slow,
            ab.run(made(), workers=2, tier="compiled") as fast,
            slow.serve() as served,
            ab.connect(served.address, served.token) as far,
        ):
            yield {"plain": made(), "python": slow, "compiled": fast, "far": far}


def forms(n: list[Any]) -> list[Any]:
    """The column in each form that is known to come from pandas."""
    frame = pd.DataFrame({"key": list("abc")[: len(n)], "n": n})
    assert frame["n"].dtype == "float64"
    return [frame, {"key": frame["key"], "n": frame["n"]}, pa.Table.from_pandas(frame), pa.table(frame)]


def values(result: Any) -> list[Any]:
    if isinstance(result, pd.DataFrame):
        return [None if pd.isna(x) else x for x in result["result"]]
    return result["result"] if isinstance(result, dict) else result.column("result").to_pylist()


@pytest.mark.parametrize("where", WHERE)
def test_ints_of_which_pandas_made_floats_are_ints(where: str, programs: dict[str, Any]) -> None:
    for data in forms([1, None, 3]):
        found = values(programs[where].maybe.many(data))
        assert found == [1, None, 3] and [type(x) for x in found if x is not None] == [int, int]
    for data in forms([1.0, -2.0, 2.0**53 - 1]):
        assert values(programs[where].surely.many(data)) == [1, -2, 2**53 - 1]


@pytest.mark.parametrize("where", WHERE)
def test_floats_of_pandas_that_may_have_lost_something_are_refused(where: str, programs: dict[str, Any]) -> None:
    for number, why in ((1.5, "(float)"), (2.0**53, "another int"), (float("inf"), "(float)")):
        for data in forms([1.0, number]):
            for entry in ("maybe", "surely"):
                with pytest.raises(ab.BadInput, match=r"row 1, column 'n': expected int") as caught:
                    programs[where].entries[entry].many(data)
                assert why in str(caught.value) and str(caught.value).endswith(KEEP)


@pytest.mark.parametrize("where", WHERE)
def test_a_missing_int_needs_a_place_for_none(where: str, programs: dict[str, Any]) -> None:
    for data in forms([1, None, 3]):
        with pytest.raises(ab.BadInput) as caught:
            programs[where].surely.many(data)
        assert "row 1, column 'n': expected int, got a missing value; declare n: int | None" in str(caught.value)
        assert str(caught.value).endswith(KEEP)


@pytest.mark.parametrize("where", WHERE)
def test_floats_from_elsewhere_are_no_ints(where: str, programs: dict[str, Any]) -> None:
    for data in (
        {"key": ["a"], "n": [1.0]},
        {"key": ["a"], "n": np.array([1.0])},
        {"key": ["a"], "n": pa.array([1.0])},
        {"key": ["a"], "n": pd.array([1.0], dtype="Float64")},
        pa.table({"key": ["a"], "n": [1.0]}),
        [("a", 1.0)],
    ):
        with pytest.raises(ab.BadInput, match=r"row 0, column 'n': expected int, got .*1\.0\)? \(float(64)?\)$"):
            programs[where].maybe.many(data)


def test_what_pandas_calls_int64_with_missing_values_is_taken_as_it_is(programs: dict[str, Any]) -> None:
    frame = pd.DataFrame({"key": ["a", "b"], "n": pd.array([2**60, None], dtype="Int64")})
    for where in WHERE:
        assert values(programs[where].maybe.many(frame)) == [2**60, None]


class Pair(NamedTuple):
    key: str
    n: int


@pytest.mark.parametrize("where", WHERE)
def test_an_iterator_of_rows_is_one_batch(where: str, programs: dict[str, Any]) -> None:
    many = programs[where].surely.many
    assert many(zip("ab", [1, 2], strict=True)) == [1, 2]
    assert many(map(Pair, "ab", [1, 2])) == [1, 2]
    assert many((key, 1) for key in "ab") == [1, 1]
    assert many({"key": key, "n": 1} for key in "ab") == [1, 1]
    with pytest.raises(ab.BadInput, match="row 1, column 'n'"):
        many(zip("ab", [5, "x"], strict=True))


@pytest.mark.parametrize("where", WHERE)
def test_an_iterator_of_batches_is_one_request_each(where: str, programs: dict[str, Any]) -> None:
    many = programs[where].surely.many
    batches = [{"key": ["a", "b"], "n": [1, 2]}, [("c", 3)]]
    assert many(iter(batches)) == [{"result": [1, 2]}, [3]]
    assert many(iter([])) == []
    with pytest.raises(ab.BadInput) as caught:
        many(iter([batches[0], {"key": ["c"], "n": ["x"]}]))
    assert caught.value.__notes__ == ["in batch 1 of an iterator: 1 before it took effect"]


@pytest.mark.parametrize("where", WHERE)
def test_an_iterator_that_fails_says_where(where: str, programs: dict[str, Any]) -> None:
    def broken() -> Iterator[Any]:
        raise OSError("gone")
        yield

    with pytest.raises(OSError, match="gone") as caught:
        programs[where].surely.many(broken())
    assert caught.value.__notes__ == ["in batch 0 of an iterator: nothing before it"]


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("data", [(("a", 1),), {("a", 1)}, {"a": 1}.items(), range(2)], ids=lambda d: type(d).__name__)
def test_what_is_no_batch_is_told_to_be_made_a_list(where: str, data: Any, programs: dict[str, Any]) -> None:
    with pytest.raises(ab.BadInput, match=r"expected a batch, got .*; make a list of its rows: list\(\.\.\.\)"):
        programs[where].surely.many(data)
