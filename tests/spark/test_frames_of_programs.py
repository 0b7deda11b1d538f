"""DataFrames into programs of all sorts, each in an app of its own."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import pairwise
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import anabranch as ab
from anabranch.drivers.flight import Client, Remote
from examples.recommender import Recommender
from examples.transfer import Bank
from tests.conformance.accepting import Accepting, rich_table
from tests.conformance.failing import Failing, OutOfStock
from tests.spark.market import Market, Unset
from tests.spark.tools import as_frame, dealt, frame, refused, same, told, twins_on, values, wait_until


def test_values_of_every_type(spark: SparkSession) -> None:
    """Spark has no set and no vector: in and out they are arrays."""
    with twins_on(spark, Accepting) as twins:
        same(twins, "keep", as_frame(spark, rich_table()))
        same(twins, "keep", as_frame(spark, rich_table()).select(F.struct("*").alias("rich")))
        same(twins, "halve", frame(spark, [[(2**53 + 2,), (None,)], [(3,)]], "n long"))
        same(twins, "tick", spark.range(5).select())


def test_transfers_of_a_bank(spark: SparkSession) -> None:
    names = ["ada", "bob", "eve", "kim"]
    rows = [(names[i % 4], names[(i * 3 + i // 5) % 4], i) for i in range(40)]
    schema = "source string, target string, cents long"
    with twins_on(spark, Bank) as twins:
        same(twins, "deposit", frame(spark, [[(name, 1000)] for name in names], "account string, cents long"))
        same(twins, "transfer", frame(spark, dealt(rows, 3), schema))
        rows[33] = ("ada", "eve", 10**9)
        assert refused(twins, "transfer", frame(spark, dealt(rows, 3), schema))[0] is ValueError


@pytest.mark.parametrize("tier", ["python", "compiled"])
def test_recommendations(spark: SparkSession, tier: str) -> None:
    """What the instances hold of `together` depends on where rows start; what is gathered does not."""
    rated = [(i % 11, (i * 7) % 5, float(i % 3)) for i in range(200)]
    given = frame(spark, dealt(rated, 4), "user long, item long, rating double")
    users = frame(spark, dealt([(i,) for i in range(12)], 3), "user long")
    with twins_on(spark, Recommender, tier) as twins:
        assert twins.run.rate.many(given) is None
        twins.plain.rate.many(given.toArrow())
        assert twins.same_contents("ratings")
        found, expected = twins.run.recommend.many(users), twins.plain.recommend.many(users.toArrow())
        assert values(found) == values(as_frame(spark, expected))
        assert [twins.run.recommend(user) for user in range(12)] == [twins.plain.recommend(user) for user in range(12)]


def test_a_key_that_was_never_set(spark: SparkSession) -> None:
    """Where such a row starts depends on its number, which feeders do not know: none may get lost."""
    with twins_on(spark, Unset) as twins:
        for size in range(1, 5):
            given = frame(spark, [[], [(i,) for i in range(size)], [(9,)]], "by long")
            assert refused(twins, "add", given)[0] is AttributeError


def test_long_rows(spark: SparkSession) -> None:
    """Longer than any message may be, on their way in and out."""
    given = spark.range(0, 3, 1, 1).select(
        F.col("id").alias("n"), F.repeat(F.lit("long "), 5_000_000).alias("text")
    )  # 75 megabytes in one batch
    with ab.run(Market(), on=spark, workers=2) as app:
        found = app.echo.many(given)
        assert [tuple(row) for row in found.select(F.length("result")).collect()] == [
            (0,),
            (25 * 10**6,),
            (50 * 10**6,),
        ]


def test_workers_keep_nothing_of_a_batch(spark: SparkSession) -> None:
    """Neither of one that went through nor of one that failed."""
    with ab.run(Market(), on=spark, workers=2) as app:
        queries = watched(app)
        app.add.many(frame(spark, [[(1, 1)], [(2, 2)]], "item long, by long"))
        with pytest.raises(ValueError, match="too much"):
            app.take.many(frame(spark, [[(1, 1)], [(2, 200)]], "item long, n long"))
        with pytest.raises(ab.BadInput):
            app.add.many(frame(spark, [[(1, 1)], [(2, None)]], "item long, by long"))
        given = spark.range(8).select(F.expr("if(id < 7, id, raise_error('no more'))").alias("item"))
        with pytest.raises(Exception, match="no more"):
            app.add.many(given)
        assert len(queries) == 4
        wait_until(lambda: not any(held(app, *query) for query in queries.items()), "something was kept", 5.0)


def watched(app: Any) -> dict[str, Any]:
    """From now on all batches by the names of their queries, with what was staged."""
    found: dict[str, Any] = {}
    request, drop = app._frames._request, app._frames._drop

    def requested(spec: Any, rows: Any, mark: Any) -> Any:
        found[rows.query] = rows
        return request(spec, rows, mark)

    def dropped(query: str, batch: int) -> None:
        found.setdefault(query, None)
        drop(query, batch)

    app._frames._request, app._frames._drop = requested, dropped
    return found


def held(app: Any, query: str, rows: Any) -> bool:
    """Does a worker still have results of it, or staged rows?"""
    driver, values = app._engine.driver, app._engine.driver._wire.values
    for address in driver.addresses:
        client = Client(address, driver.security)
        if client.open("results", values.encode((query, 0, 0, 10**6))).receive() is not None:
            return True
        if rows is not None:
            with suppress(Remote):  # "nothing is staged"
                client.open("staged", values.encode(("take", rows))).receive()
                return True
        client.close()
    return False


def test_results_outlive_the_app(spark: SparkSession) -> None:
    with ab.run(Market(), on=spark, workers=2) as app:
        found = app.add.many(frame(spark, [[(1, 1)], [(2, 2)]], "item long, by long"))
    assert [row["result"] for row in found.collect()] == [1, 2]


def test_exceptions_of_all_kinds_of_entries(spark: SparkSession) -> None:
    with twins_on(spark, Failing) as twins:
        for entry, schema, good, bad in [
            ("take", "sku string, n long", ("tea", 0), ("rum", 11)),
            ("buy", "user long, sku string, n long", (1, "tea", 0), (1, "rum", 11)),
            ("share", "sku string, users array<long>", ("tea", [1, 2]), ("rum", [3, 101, 4, 100])),
            ("pay", "payer long, user long, n long", (1, 2, 1), (3, 4, 101)),
            ("count", "most long", (10**6,), (-1,)),
            ("leave", "user long, code long", (1, 0), (2, 1)),
            ("parse", "user long, text string", (1, "1"), (2, "x")),
        ]:
            notes = refused(twins, entry, frame(spark, [[good] * 2, [], [good, bad, bad]], schema))[3]
            assert f"in entry '{entry}', row 3, at failing.py" in notes[0]
            same(twins, entry, frame(spark, [[good]], schema))
        assert told(lambda: twins.run.take("rum", 11))[0] is OutOfStock


def test_calls_beside_batches(spark: SparkSession) -> None:
    """Every call falls before or after a batch as a whole, and none is lost."""
    with ab.run(Market(), on=spark, workers=2) as app, ThreadPoolExecutor(6) as pool:
        given = frame(spark, [[(item, 10)] * 5 for item in (1, 2)], "item long, by long")
        batches = [pool.submit(lambda: app.add.many(given)) for _ in range(4)]
        calls = [pool.submit(lambda i=i: [app.add(1 + i, 1) for _ in range(40)]) for i in range(2)]
        answers = [call.result() for call in calls]
        results = [[row["result"] for row in batch.result().collect()] for batch in batches]
    for i, found in enumerate(answers):
        own = [result[5 * i : 5 * i + 5] for result in results]
        assert all(b - a == 10 for result in own for a, b in pairwise(result))
        told_all = sorted([*found, *(n for result in own for n in result)])
        assert told_all[-1] == 4 * 50 + 40 and len(set(told_all)) == len(told_all)
        assert found == sorted(found)
