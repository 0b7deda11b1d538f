"""The sequential engine as an engine: batches, undo, instances, errors."""

from __future__ import annotations

import pytest

import anabranch as ab
from anabranch.engines.sequential import SequentialApp
from tests.generator.plain import loaded

SOURCE = """
import anabranch as ab

class P(ab.Program):
    stock: ab.Partitioned[ab.Table[str, int]]
    sold: ab.Partial[ab.Value[int]] = ab.partial(ab.Value(0), merge=ab.add)
    notes: ab.Partial[ab.Table[str, str]]

    def supply(self, sku: str, n: int) -> int:
        self.stock[sku] = self.stock.get(sku, 0) + n
        return self.stock[sku]

    def sell(self, sku: str, n: int) -> None:
        left = self.stock[sku] - n
        self.stock[sku] = left
        self.sold.value += n
        if left < 0:
            raise ValueError(sku, left)

    def note(self, sku: str, text: str) -> None:
        self.notes[sku] = text

    def total(self) -> int:
        return sum(ab.gather(ab.everywhere(self.sold).value))
"""


def test_a_batch_is_all_or_nothing() -> None:
    with loaded(SOURCE) as program:
        app = SequentialApp(program())
        assert app.supply.many({"sku": ["a", "b"], "n": [3, 1]}) == {"result": [3, 1]}
        with pytest.raises(ValueError, match="b") as caught:
            app.sell.many([("a", 1), ("b", 2)])
        assert caught.value.args == ("b", -1)
        assert "in entry 'sell', row 1, at" in caught.value.__notes__[0]
        assert (app.state("stock")["a"], app.total()) == (3, 0)


def test_an_iterator_of_batches_is_one_request_each() -> None:
    with loaded(SOURCE) as program:
        app = SequentialApp(program())
        app.supply("a", 5)
        batches = ([("a", 2)], [("a", 2), ("a", 2)])
        with pytest.raises(ValueError, match="a"):
            app.sell.many(batch for batch in batches)
        assert app.state("stock")["a"] == 3


def test_bad_input_changes_nothing_and_names_the_place() -> None:
    with loaded(SOURCE) as program:
        app = SequentialApp(program())
        with pytest.raises(ab.BadInput) as caught:
            app.supply.many([("a", 1), ("b", "x")])
        assert (caught.value.entry, caught.value.row, caught.value.column) == ("supply", 1, "n")
        assert len(app.state("stock")) == 0


def test_work_goes_to_the_instance_that_the_assignment_says() -> None:
    with loaded(SOURCE) as program:
        app = SequentialApp(program(), instances=2, assignment=lambda bucket: 1)
        app.supply("a", 5)
        app.sell("a", 2)
        assert [v.value for v in app.instances("sold")] == [0, 2]
        assert [len(t) for t in app.instances("stock")] == [0, 1]
        assert app.state("sold").value == 2
        assert set(app.assigned.values()) == {1}


def test_the_parts_of_a_partitioned_state_follow_their_keys() -> None:
    with loaded(SOURCE) as program:
        app = SequentialApp(program(), instances=3, assignment=lambda bucket: bucket % 3)
        for i in range(60):
            app.supply(f"sku {i}", i)
        assert sorted(len(t) for t in app.instances("stock"))[0] > 5
        assert dict(app.state("stock").items()) == {f"sku {i}": i for i in range(60)}


def test_a_partial_state_without_merge_has_instances_only() -> None:
    with loaded(SOURCE) as program:
        app = SequentialApp(program(), instances=2)
        app.note("a", "x")
        with pytest.raises(TypeError, match="names no merge"):
            app.state("notes")
        assert sum(len(t) for t in app.instances("notes")) == 1


def test_unknown_entries_and_no_instances_are_refused() -> None:
    with loaded(SOURCE) as program:
        app = SequentialApp(program())
        with pytest.raises(AttributeError, match="entries are supply, sell, note, total"):
            app.sel("a", 1)
        with pytest.raises(ValueError, match="at least one instance"):
            SequentialApp(program(), instances=0)
