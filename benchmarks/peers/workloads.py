"""What is measured: the input of every workload, and what must come out of it, by numpy and Arrow."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from recommend import make_ratings
from word_count import WORDS_A_LINE, make_lines

KEYS, WORDS, DIMENSION = 1_000_000, 50_000, 10


@dataclass(frozen=True, slots=True)
class Point:
    """One setting of what a workload varies; `x` is its place in the plot."""

    name: str
    x: float
    parameters: Mapping[str, Any] = field(compare=False)


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much of a workload a contender gets: of all, at full size, this share of the counted batches."""

    share: float = 1.0
    batch: int | None = None  # rows of a batch; None: as the workload says
    batches: int | None = None  # counted; None: by the share
    warm: int = 0  # batches after those that fill the state, before those that count
    fill: bool = True


@dataclass(frozen=True, eq=False, slots=True)
class Feed:
    """The batches of a contender: itself and no other, so that what must come of it can be kept."""

    before: tuple[pa.Table, ...]
    counted: tuple[pa.Table, ...]

    @property
    def rows(self) -> int:
        return sum(table.num_rows for table in self.counted)

    def write(self, folder: Path) -> tuple[list[str], list[str]]:
        """A file for each batch; the names of those before and of the counted ones."""
        folder.mkdir(parents=True)
        names = []
        for number, table in enumerate(self.before + self.counted):
            names.append(str(folder / f"{number:05}.parquet"))
            pq.write_table(table, names[-1], compression="none", use_dictionary=False)
        return names[: len(self.before)], names[len(self.before) :]


@dataclass(frozen=True, slots=True)
class Workload:
    """`make` gives the state at first (None: none) and the rows; `check` raises where a result is wrong."""

    name: str
    about: str
    unit: str
    x_name: str
    points: tuple[Point, ...]
    batch: int
    make: Callable[[Point, float], tuple[pa.Table | None, pa.Table]]
    check: Callable[[Point, Feed, pa.Table], None]
    work: Callable[[Point, Feed], int] = lambda _, feed: feed.rows  # how much of `unit` the counted part is

    def feed(self, point: Point, scale: float, sizes: Sizes) -> Feed:
        first, rows = self.make(point, scale)
        batch = max(1, min(math.ceil((sizes.batch or self.batch) * min(1.0, scale)), rows.num_rows))
        there = rows.num_rows // batch
        warm = min(sizes.warm, there - 1)
        counted = min(there - warm, sizes.batches or max(1, round(there * sizes.share)))
        before = in_batches(first, max(batch, 1)) if sizes.fill and first is not None else ()
        parts = [rows.slice(n * batch, batch) for n in range(warm + counted)]
        return Feed((*before, *parts[:warm]), tuple(parts[warm:]))


def in_batches(table: pa.Table, batch: int) -> tuple[pa.Table, ...]:
    return tuple(table.slice(first, batch) for first in range(0, table.num_rows, batch))


def scaled(full: int, scale: float, least: int) -> int:
    return max(least, round(full * scale))


class Wrong(Exception):
    """A contender gave something else than numpy."""


def require_equal(expected: pa.Table, found: pa.Table) -> None:
    """The same rows in any order; the last column is the value."""
    names = expected.column_names
    if set(names) != set(found.column_names):
        raise Wrong(f"columns {found.column_names} instead of {names}")
    if expected.num_rows != found.num_rows:
        raise Wrong(f"{found.num_rows:,} entries instead of {expected.num_rows:,}")
    order = [(name, "ascending") for name in names[:-1]]
    one, other = expected.sort_by(order), found.select(names).cast(expected.schema).sort_by(order)
    for name in names:
        if not one[name].combine_chunks().equals(other[name].combine_chunks()):
            raise Wrong(f"column {name!r} differs")


# --- keyed sum ---------------------------------------------------------------------------------------------------


@cache
def sums(point: Point, scale: float) -> tuple[pa.Table, pa.Table]:
    """Ten million rows of a million keys, all of which are there at first; parts of two add up exactly in any order."""
    rng = np.random.default_rng(7)
    rows, keys = scaled(10_000_000, scale, 1000), scaled(KEYS, scale, 100)
    values = rng.integers(0, 1024, rows) / 1024
    return (
        pa.table({"key": np.arange(keys), "value": np.zeros(keys)}),
        pa.table({"key": rng.integers(0, keys, rows), "value": values}),
    )


def check_sums(point: Point, feed: Feed, found: pa.Table) -> None:
    given = pa.concat_tables(feed.before + feed.counted)
    summed = given.group_by("key").aggregate([("value", "sum")])
    require_equal(summed.select(["key", "value_sum"]).rename_columns(["key", "value"]), found)


# --- word count --------------------------------------------------------------------------------------------------


@cache
def lines_of(scale: float) -> pa.Table:
    lines = make_lines(scaled(2_000_000, scale, 1000), scaled(WORDS, scale, 100))
    return pa.table({"time": np.arange(len(lines)) // 10, "line": lines})


def words(point: Point, scale: float) -> tuple[None, pa.Table]:
    """Two million words, Zipf over 50 thousand, in lines of ten, ten lines a millisecond of event time."""
    return None, lines_of(scale)


def check_words(point: Point, feed: Feed, found: pa.Table) -> None:
    given = pa.concat_tables(feed.before + feed.counted)
    split = pc.split_pattern(given["line"], " ").combine_chunks()
    windows = pc.divide(given["time"], point.parameters["window"]).combine_chunks()
    table = pa.table({"window": windows.take(pc.list_parent_indices(split)), "word": pc.list_flatten(split)})
    counted = table.group_by(["window", "word"]).aggregate([([], "count_all")])
    require_equal(counted.select(["window", "word", "count_all"]).rename_columns(["window", "word", "value"]), found)


# --- key/value ---------------------------------------------------------------------------------------------------


@cache
def puts(point: Point, scale: float) -> tuple[pa.Table, pa.Table]:
    """Two million puts to uniform string keys. Values grow, so the last of a key is its largest."""
    rng = np.random.default_rng(7)
    rows, keys = scaled(2_000_000, scale, 1000), scaled(point.parameters["keys"], scale, 100)
    names = pc.binary_join_element_wise("key ", pc.utf8_lpad(pa.array(np.arange(keys)).cast("string"), 8, "0"), "")
    return (
        pa.table({"key": names, "value": np.zeros(keys, np.int64)}),
        pa.table({"key": names.take(pa.array(rng.integers(0, keys, rows))), "value": np.arange(1, rows + 1)}),
    )


def check_puts(point: Point, feed: Feed, found: pa.Table) -> None:
    given = pa.concat_tables(feed.before + feed.counted)
    last = given.group_by("key").aggregate([("value", "max")])
    require_equal(last.select(["key", "value_max"]).rename_columns(["key", "value"]), found)


# --- recommender -------------------------------------------------------------------------------------------------

TURN = 100  # requests: first the ratings of them, then the questions


@cache
def requests(point: Point, scale: float) -> tuple[pa.Table, pa.Table]:
    """Ratings of the shape of MovieLens 100K, 90 thousand there at first; a share of the requests are questions."""
    ratings = make_ratings()
    ratings = ratings.slice(0, scaled(ratings.num_rows, scale, 2000))
    first = ratings.slice(0, ratings.num_rows * 9 // 10)
    count = max(TURN, ratings.num_rows // 20 // TURN * TURN)
    rest = ratings.slice(first.num_rows, count)
    asks = np.arange(count) % TURN >= round(TURN * (1 - point.parameters["reads"]))
    items = np.where(asks, -1, rest["item"].to_numpy())
    return first, pa.table({"user": rest["user"], "item": items, "rating": rest["rating"]})


@cache
def answers(feed: Feed) -> list[float]:
    """What numpy makes of it, with all counts in one matrix; numbers are whole, so sums are exact in any order."""
    tables = feed.before + feed.counted
    users, items = (max(pc.max(table[name]).as_py() for table in tables) + 1 for name in ("user", "item"))
    ratings, together = np.zeros((users, items)), np.zeros((items, items))
    weights, expected = np.arange(1.0, items + 1), list[float]()
    for table in tables:
        for user, item, rating in zip(*(column.to_pylist() for column in table.columns), strict=True):
            if item < 0:
                expected.append(float(weights @ (together @ ratings[user])))
                continue
            ratings[user, item] = rating
            liked = np.flatnonzero(ratings[user] > 0)
            together[item, liked] += 1
            together[liked, item] = together[item, liked]
    return expected


def check_answers(point: Point, feed: Feed, found: pa.Table) -> None:
    if found["value"].to_pylist() != answers(feed):
        raise Wrong("recommendations differ")


# --- logistic regression -----------------------------------------------------------------------------------------


@cache
def points(point: Point, scale: float) -> tuple[None, pa.Table]:
    """A hundred thousand points of ten dimensions, the first always 1, on one side of a plane or the other."""
    rng = np.random.default_rng(7)
    count = scaled(100_000, scale, 500)
    x = np.column_stack([np.ones(count), rng.normal(size=(count, DIMENSION - 1))])
    y = (x @ plane() > 0).astype(float)
    rows = pa.ListArray.from_arrays(np.arange(0, count * DIMENSION + 1, DIMENSION), x.ravel())
    return None, pa.table({"x": rows, "y": y})


def plane() -> np.ndarray[Any, Any]:
    return np.random.default_rng(8).normal(size=DIMENSION)


def check_weights(point: Point, feed: Feed, found: pa.Table) -> None:
    """Ways to learn differ: what is asked of all is that new points are told apart."""
    weights = found["value"].to_numpy()
    x = np.column_stack([np.ones(20_000), np.random.default_rng(9).normal(size=(20_000, DIMENSION - 1))])
    right = float(np.mean((x @ weights > 0) == (x @ plane() > 0)))
    if right < point.parameters["right"]:
        raise Wrong(f"{right:.1%} of unseen points are right, and {point.parameters['right']:.0%} must be")


WORKLOADS = {
    each.name: each
    for each in (
        Workload(
            "keyed_sum",
            "one addition a row, ten million rows of a million keys, batches of a million",
            "rows",
            "",
            (Point("", 1, {}),),
            1_000_000,
            sums,
            check_sums,
        ),
        Workload(
            "word_count",
            "two million words in lines of ten, counted by word and window of event time (Fig. 6.18)",
            "words",
            "window (ms of event time)",
            tuple(Point(f"windows of {size} ms", size, {"window": size}) for size in (1000, 100, 10)),
            20_000,
            words,
            check_words,
            lambda _, feed: feed.rows * WORDS_A_LINE,
        ),
        Workload(
            "key_value",
            "two million puts to string keys, with more and more of them (Fig. 6.6)",
            "puts",
            "keys",
            tuple(Point(f"{keys:,} keys", keys, {"keys": keys}) for keys in (100_000, 1_000_000, 4_000_000)),
            200_000,
            puts,
            check_puts,
        ),
        Workload(
            "recommender",
            "five thousand requests after 90 thousand ratings, more and more of them questions (Fig. 6.5)",
            "requests",
            "questions (% of requests)",
            tuple(Point(f"{share:.0%} questions", share * 100, {"reads": share}) for share in (0.0, 0.5, 0.9, 1.0)),
            5_000,
            requests,
            check_answers,
        ),
        Workload(
            "logistic",
            "logistic regression, passes over a hundred thousand points of ten dimensions (Fig. 6.19)",
            "points",
            "",
            (Point("", 1, {"iterations": 10, "rate": 0.05, "dimension": DIMENSION, "right": 0.97}),),
            100_000,
            points,
            check_weights,
            lambda point, feed: feed.rows * int(point.parameters["iterations"]),
        ),
    )
}
