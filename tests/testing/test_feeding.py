"""Sources and sinks in memory."""

from __future__ import annotations

import pyarrow as pa
import pytest

from anabranch import testing
from anabranch.testing import Sink, Source, crash
from tests.testing.programs import Shop

ROWS = [("tea", 1), ("gin", 2), ("tea", 3), ("rum", 4), ("tea", 5)]


def test_batches_are_given_one_by_one() -> None:
    source, sink = Source.of_rows(ROWS, size=2), Sink()
    with testing.app(Shop(), saved=True) as kit:
        kit.at(2, crash())
        kit.feed("deliver", source, sink)
        assert kit.asked == 3
    assert list(sink) == [[1, 2], [4, 4], [9]]
    assert sink.rows() == [1, 2, 4, 4, 9]


def test_a_stream() -> None:
    source = Source.of_rows(ROWS, size=2)
    with testing.app(Shop()) as kit:
        assert kit.deliver.many(iter(source)) == [[1, 2], [4, 4], [9]]
        assert kit.deliver.many(iter(source[2:])) == [[14]]
    testing.check(Shop, [testing.many("deliver", source), ("sell", "tea", 1)])


def test_a_source_is_a_sequence() -> None:
    source = Source([[("tea", 1)]])
    source.append({"item": ["gin"], "pieces": [2]})
    assert len(source) == 2 and source[0] == [("tea", 1)] and isinstance(source[1:], Source)
    assert list(source) == list(source)
    with pytest.raises(ValueError, match="at least 1, got 0"):
        Source.of_rows(ROWS, size=0)


def test_results_of_all_kinds_are_rows() -> None:
    sink = Sink()
    sink({"result": [1]})
    sink(pa.table({"result": [2]}))
    sink([3])
    sink(None)
    sink({"text": ["a"], "weight": [0.5]})
    assert sink.rows() == [1, 2, 3, {"text": "a", "weight": 0.5}]
    assert len(sink) == 5 and sink[2] == [3]


def test_a_batch_that_comes_again_is_kept_once() -> None:
    sink = Sink()
    for batch in (0, 1, 0):
        sink([batch], batch)
    assert sink.rows() == [0, 1]
