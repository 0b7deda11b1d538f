"""The recommender of the README: how fast it takes ratings in, and how soon it answers meanwhile.

    python benchmarks/recommend.py [--json] [--rounds N] [--scale F] [--data FOLDER]

MovieLens 100K in the order of its file (ml-100k.parquet in FOLDER), or ratings of that shape where there is none.
Ingest: Arrow batches of ten thousand, beside a plain version with dicts of dicts. Latency: one thread asks for
recommendations while another feeds ratings, a hundred a batch, as fast as it can: a call waits for the batch in flight.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from contextlib import ExitStack
from itertools import cycle
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from harness import PLAIN, ROOT, Bench, Way, app_name, as_lists, in_batches, main, tiers_of, time_calls_beside

from examples.recommender import Recommender

USERS, ITEMS, RATINGS = 943, 1682, 100_000
PIECE = 100  # ratings a batch beside calls

Rows = defaultdict[int, dict[int, float]]


def read_ratings(folder: Path) -> tuple[pa.Table, str]:
    """Users, items and ratings, and where they are from."""
    file = folder / "ml-100k.parquet"
    if not file.exists():
        return make_ratings(), "generated: there is no ml-100k.parquet in the folder of --data"
    schema = pa.schema({"user": pa.int64(), "item": pa.int64(), "rating": pa.float64()})
    return pq.read_table(file, columns=schema.names).cast(schema), "MovieLens 100K"


def make_ratings() -> pa.Table:
    """Ratings of the shape of MovieLens 100K: each user rates an item once, few items are rated by many."""
    rng = np.random.default_rng(7)
    popular, busy = 1 / np.arange(20, ITEMS + 20), rng.lognormal(0, 1, USERS)
    drawn = 4 * RATINGS
    users = rng.choice(USERS, drawn, p=busy / busy.sum())
    items = rng.choice(ITEMS, drawn, p=popular / popular.sum())
    first = np.sort(np.unique(users * ITEMS + items, return_index=True)[1])[:RATINGS]
    stars = rng.choice(5, len(first), p=[0.06, 0.11, 0.27, 0.34, 0.22]) + 1.0
    return pa.table({"user": users[first] + 1, "item": items[first] + 1, "rating": stars})


class Plain:
    def __init__(self) -> None:
        self.ratings: Rows = defaultdict(dict)
        self.together: Rows = defaultdict(dict)

    def rate(self, users: list[int], items: list[int], ratings: list[float]) -> None:
        together = self.together
        for user, item, rating in zip(users, items, ratings, strict=True):
            row = self.ratings[user]
            row[item] = rating
            counts = together[item]
            for other, score in row.items():
                if score > 0:
                    count = counts.get(other, 0.0) + 1
                    counts[other] = count
                    together[other][item] = count

    def recommend(self, user: int) -> dict[int, float]:
        scores: dict[int, float] = defaultdict(float)
        for item, rating in self.ratings[user].items():
            for other, count in self.together[item].items():  # counts are the same both ways
                scores[other] += count * rating
        return dict(scores)

    def together_table(self) -> pa.Table:
        cells = [(item, other, count) for item, row in self.together.items() for other, count in row.items()]
        return pa.table(dict(zip(("row", "column", "value"), map(pa.array, zip(*cells, strict=True)), strict=True)))


def plain_way(batches: list[pa.RecordBatch]) -> Way:
    lists = as_lists(batches)

    def run(plain: Plain) -> None:
        for columns in lists:
            plain.rate(*columns)

    return Way(PLAIN, Plain, run, lambda plain, _: (plain.together_table(), None))


def require_same_recommendations(bench: Bench, batches: list[pa.RecordBatch], users: list[int]) -> None:
    plain = Plain()
    with bench.run(Recommender(), 2) as app:
        for batch, columns in zip(batches, as_lists(batches), strict=True):
            app.rate.many(batch)
            plain.rate(*columns)
        for user in users:
            if dict(app.recommend(user).items()) != plain.recommend(user):
                raise AssertionError(f"app and plain recommend different items to user {user}")


def measure_ingest(bench: Bench, batches: list[pa.RecordBatch], rows: int) -> None:
    apps = [bench.app_way(Recommender, "rate", batches, "together", workers) for workers in (1, 2)]
    times = bench.time([plain_way(batches), *apps], rows)
    bench.figure(f"{app_name(1)} / plain", times.ratio(app_name(1), PLAIN), at_least=15)
    bench.figure(f"{app_name(2)} / plain", times.ratio(app_name(2), PLAIN))


def measure_latency(bench: Bench, batches: list[pa.RecordBatch], users: list[int]) -> None:
    pieces = [batch.slice(first, PIECE) for batch in batches for first in range(0, batch.num_rows, PIECE)]
    found, rates = defaultdict(list), defaultdict(list)
    with ExitStack() as stack:
        apps = {app_name(n): stack.enter_context(bench.run(Recommender(), n)) for n in (1, 2)}
        for app in apps.values():
            for batch in batches:
                app.rate.many(batch)
            app.recommend(users[0])
            bench.tiers["recommend"] = tiers_of(app, "recommend")
        for _ in bench.rounds:
            for name, app in apps.items():
                seconds, rate = time_calls_beside(app.rate.many, cycle(pieces), app.recommend, users)
                found[name].append(seconds)
                rates[name].append(rate * PIECE)
    for name in apps:
        bench.latencies(f"recommend beside ingest, {name}", found[name], None, 5000)
        bench.figure(f"ingest meanwhile, {name}", rates[name], "rows/s")


def measure(bench: Bench) -> None:
    table, source = read_ratings(bench.options.data)
    bench.note(f"ratings: {source}")
    table = table.slice(0, bench.size("ratings", RATINGS))
    batches = in_batches(dict(zip(table.column_names, table.columns, strict=True)), 10_000)
    known = np.unique(table["user"].to_numpy())
    users = np.random.default_rng(7).choice(known, bench.size("recommendations a round", 2000, least=20)).tolist()
    require_same_recommendations(bench, batches, users[:20])
    measure_ingest(bench, batches, table.num_rows)
    measure_latency(bench, batches, users)


def add_options(parser: argparse.ArgumentParser) -> None:
    folder = ROOT.parent / "shared" / "data"
    parser.add_argument("--data", type=Path, default=folder, metavar="FOLDER", help="where ml-100k.parquet is")


if __name__ == "__main__":
    main(measure, __doc__, add_options)
