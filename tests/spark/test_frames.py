"""Batches that are Spark DataFrames: the results and the state of the plain run, in the order of their rows."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import anabranch as ab
from tests.conformance.engines import Twins
from tests.spark.market import Market
from tests.spark.tools import dealt, frame, refused, same, twins_on, values

TEXTS = ["to be or not to be", "", "b", "ä b", "to to to"]


@pytest.fixture(scope="module", params=["python", "compiled"])
def market(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[Twins]:
    with twins_on(spark, Market, request.param) as started:
        yield started


# -- ways -------------------------------------------------------------------------------------------------------------


def test_keys(spark: SparkSession, market: Twins) -> None:
    """Integers and strings; the same keys in all partitions, so that the order of rows shows."""
    same(market, "add", frame(spark, dealt([(i % 7, i) for i in range(300)], 4), "item long, by long"))
    same(market, "add", spark.range(500).select((F.col("id") % 13).alias("item"), F.col("id").cast("int").alias("by")))
    shops = [(f"Geschäft {i % 5}", -i) for i in range(100)]
    same(market, "earn", frame(spark, dealt(shops, 3), "shop string, cents long"))


def test_columns_are_named_and_may_be_left_out(spark: SparkSession, market: Twins) -> None:
    same(market, "add", frame(spark, [[(3, 1)], [(5, 1), (7, 2)]], "by long, item long"))
    same(market, "add", frame(spark, [[(1,)], [(1,), (2,)]], "item long"))


def test_keys_that_are_computed(spark: SparkSession, market: Twins) -> None:
    rows = [(i, 1 + i % 3) for i in range(40)]
    same(market, "spread", frame(spark, dealt(rows, 3), "total long, shops long"))


def test_records_and_missing_values(spark: SparkSession, market: Twins) -> None:
    sales = [("a", 1, None), ("b", 2, "first of b"), ("a", 3, "second of a"), ("b", 4, "no"), ("", 5, "")]
    found = same(market, "sell", frame(spark, [sales[:2], [], sales[2:]], "shop string, cents long, note string"))
    assert found is not None and found.columns == ["shop", "total", "first"]
    same(market, "sell", frame(spark, [[("c", 1)], [("a", 2)]], "shop string, cents long"))


def test_starts_at_no_key(spark: SparkSession, market: Twins) -> None:
    same(market, "read", frame(spark, dealt([(text,) for text in TEXTS * 9], 3), "line string"))
    same(market, "twice", spark.range(200).select(F.col("id").alias("n"), (F.col("id") / 8).alias("x")))
    rows = [(i % 5, float(i)) for i in range(150)]
    same(market, "visit", frame(spark, dealt(rows, 3), "shop long, times double"))


def test_gathers(spark: SparkSession, market: Twins) -> None:
    same(market, "visit", frame(spark, [[(i % 5, 0.5)] for i in range(4)], "shop long, times double"))
    same(market, "visited", frame(spark, dealt([(i,) for i in range(6)], 3), "shop long"))


def test_fans_out(spark: SparkSession, market: Twins) -> None:
    rows = [(list(range(i % 6)),) for i in range(40)]
    assert same(market, "give", frame(spark, dealt(rows, 3), "items array<long>")) is None


def test_winds(spark: SparkSession, market: Twins) -> None:
    same(market, "add", frame(spark, [[(i, 50) for i in range(9)]], "item long, by long"))
    rows = [(i % 9, (i * i + 1) % 9, i % 4) for i in range(60)]
    same(market, "move", frame(spark, dealt(rows, 3), "source long, target long, n long"))


def test_nothing_at_all(spark: SparkSession, market: Twins) -> None:
    for entry, schema in [
        ("add", "item long, by long"),
        ("sell", "shop string, cents long, note string"),
        ("read", "line string"),
        ("visited", "shop long"),
        ("give", "items array<long>"),
        ("move", "source long, target long, n long"),
    ]:
        same(market, entry, frame(spark, [[], []], schema))
    same(market, "add", spark.range(9).where("id > 99").withColumnRenamed("id", "item"))
    same(market, "add", spark.createDataFrame([], "item long"))


def test_batches_of_many_pieces(spark: SparkSession, market: Twins) -> None:
    """Arrow's batches are cut much smaller than partitions, and results come in pieces as well."""
    before = spark.conf.get("spark.sql.execution.arrow.maxRecordsPerBatch")
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "7")
    try:
        same(market, "add", frame(spark, dealt([(i % 7, i) for i in range(100)], 3), "item long, by long"))
        same(market, "read", frame(spark, dealt([(text,) for text in TEXTS * 9], 3), "line string"))
        bad = [(i % 7, None if i == 88 else i) for i in range(100)]
        assert refused(market, "add", frame(spark, dealt(bad, 3), "item long, by long"))[5] == 88
    finally:
        spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", before or "10000")


def test_larger_batches(spark: SparkSession, market: Twins) -> None:
    given = spark.range(0, 30_000, 1, 5).select((F.col("id") * 7919 % 1009).alias("item"), F.col("id").alias("by"))
    same(market, "add", given)


# -- results ----------------------------------------------------------------------------------------------------------


def test_results_stay_as_they_were(spark: SparkSession, market: Twins) -> None:
    """Read again, and again after other batches: nothing is asked, or applied, a second time."""
    given = frame(spark, dealt([(i % 3, 1) for i in range(50)], 3), "item long, by long")
    moves = frame(spark, [[(0, 1, 1)], [(1, 2, 1)]], "source long, target long, n long")
    found, wound = same(market, "add", given), same(market, "move", moves)
    assert found is not None and wound is not None
    first, rewound = values(found), values(wound)
    version = market.run.version
    assert values(found) == first
    assert found.count() == 50
    assert market.run.version == version
    same(market, "add", given)
    same(market, "move", moves)
    assert values(found) == first and values(wound) == rewound
    assert found.select(F.sum("result")).collect() == [(sum(row["result"] for row in found.collect()),)]
    assert market.same_contents()


def test_results_feed_another_entry(spark: SparkSession, market: Twins) -> None:
    found = same(market, "add", frame(spark, dealt([(i % 3, 1) for i in range(20)], 3), "item long, by long"))
    assert found is not None
    same(market, "add", found.select((F.col("result") % 4).alias("item")))


# -- what is wrong ----------------------------------------------------------------------------------------------------

BAD: list[tuple[str, str, str, list[list[Any]]]] = [
    ("a null", "add", "item long, by long", [[], [(1, 1)], [(2, 2), (None, 3)], [(4, 4)]]),
    ("a null by default", "add", "item long, by long", [[(1, 1)], [(2, None)]]),
    ("the lowest row", "add", "item long, by long", [[(1, 1)], [(2, 2), (3, None)], [(None, 3)]]),
    ("the first column", "add", "by long, item long", [[(1, 1)], [(None, None)]]),
    ("text for an int", "add", "item string, by long", [[("1", 1)], [("2", 2)]]),
    ("a float for an int", "add", "item double, by long", [[(1.0, 1)], [(2.0, 2)]]),
    ("a decimal", "add", "item decimal(38,0), by long", [[(Decimal(1), 1)], [(Decimal(2**64), 2)]]),
    ("an int for a text", "earn", "shop long, cents long", [[(1, 1)], [(2, 2)]]),
    ("a column is missing", "earn", "shop string", [[("a",)], [("b",)]]),
    ("a column too many", "add", "item long, buy long", [[(1, 1)], [(2, 2)]]),
    ("a column too many after a bad row", "add", "item long, by long, x long", [[(None, 1, 1)], [(2, 2, 2)]]),
    ("no rows, a column is missing", "earn", "shop string", [[], []]),
    ("no rows, a column too many", "add", "item long, x long", [[], []]),
    ("one name twice", "add", "item long, item long", [[(1, 1)], [(2, 2)]]),
    ("a null in a record", "sell", "shop string, cents long, note string", [[("a", 1, None)], [("b", None, None)]]),
    ("a null in a list", "give", "items array<long>", [[([1],)], [([1, None],)]]),
    ("a null at no key", "read", "line string", [[("a",)], [], [("b",), (None,)]]),
    ("a null of a winding entry", "move", "source long, target long, n long", [[(1, 2, 0)], [(1, None, 0)]]),
    ("an int that is no float", "twice", "n long, x long", [[(1, 1)], [(2, 2**53 + 1)]]),
]


@pytest.mark.parametrize(("entry", "schema", "parts"), [case[1:] for case in BAD], ids=[case[0] for case in BAD])
def test_bad_input(spark: SparkSession, market: Twins, entry: str, schema: str, parts: list[list[Any]]) -> None:
    kind, text, *_ = refused(market, entry, frame(spark, parts, schema))
    assert issubclass(kind, ab.BadInput)
    assert text.startswith(f"{entry}: ")


def test_what_is_no_dataframe_is_refused_as_ever(spark: SparkSession, market: Twins) -> None:
    for odd in (spark.range(3)["id"], F.lit(3), "item", 7):
        with pytest.raises(ab.BadInput, match="expected a batch, got"):
            market.run.add.many(odd)
    stream = spark.readStream.format("rate").load().selectExpr("value as item")
    with pytest.raises(TypeError, match=r"^add\.many takes a DataFrame .*: for a stream write add\.stream\(df\)$"):
        market.run.add.many(stream)


def test_a_user_exception(spark: SparkSession, market: Twins) -> None:
    rows = [[(1, 1)] * 9, [(2, 2)] * 9, [(i, 101 if i == 7 else 2) for i in range(9)], [(3, 999)]]
    found = refused(market, "take", frame(spark, rows, "item long, n long"))
    assert found[0] is ValueError
    assert found[3] == ["in entry 'take', row 25, at market.py:58: raise ValueError(\"too much\", item, n)"]
    rows[2] = rows[3] = []
    same(market, "take", frame(spark, rows, "item long, n long"))


def test_a_key_that_cannot_be_computed(spark: SparkSession, market: Twins) -> None:
    """Where such a row starts depends on its number, which feeders do not know."""
    for row in range(6):
        rows = [[(i, 0 if i == row else 1) for i in range(2 * p, 2 * p + 2)] for p in range(3)]
        assert refused(market, "spread", frame(spark, rows, "total long, shops long"))[0] is ZeroDivisionError


def test_exceptions_of_the_dataframe_itself(spark: SparkSession, market: Twins) -> None:
    """Not ours: they come as Spark raises them, and nothing has changed."""
    before = market.run.contents()
    given = spark.range(8).select(F.col("id").alias("item"), F.expr("assert_true(id < 5)").cast("long").alias("by"))
    with pytest.raises(Exception, match=r"USER_RAISED_EXCEPTION|is not true"):
        market.run.add.many(given)
    assert market.run.contents() == before
    same(market, "add", frame(spark, [[(1, 1)]], "item long, by long"))


# -- at once ----------------------------------------------------------------------------------------------------------


def test_batches_of_two_sessions_of_one_context(spark: SparkSession, market: Twins) -> None:
    other = spark.newSession()
    same(market, "add", other.range(5).withColumnRenamed("id", "item"))


def test_tables_and_lists_go_in_as_ever(spark: SparkSession, market: Twins) -> None:
    table = pa.table({"item": [1, 2], "by": [3, 4]})
    assert market.run.add.many(table) == market.plain.add.many(table)
    assert market.run.add.many([(1,), (2, 2)]) == market.plain.add.many([(1,), (2, 2)])
    assert market.same_contents()
