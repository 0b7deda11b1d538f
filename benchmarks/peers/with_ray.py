"""Ray actors: each owns the keys of its share, in dicts.

Tuned: two actors, as many as there are cores; rows travel in batches, split by owner with numpy in the caller, as lists
in one message for each actor, not as objects of their own; calls are not waited for one by one, but all together at the
end; Ray runs on this machine without its dashboard. Recommendations need the counts of all actors: each adds up its
own, and the caller merges what they give.
"""

from __future__ import annotations

import os
import zlib
from collections import defaultdict
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow as pa
from talk import Done, Spec, answer, columns, keyed, settle, turns, weigh, windowed

os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
import ray


@ray.remote(num_cpus=1)
class Owner:
    """The share of the state that one actor has; a workload uses what it needs of it."""

    def __init__(self) -> None:
        self.totals: dict[Any, Any] = defaultdict(int)
        self.ratings: dict[int, dict[int, float]] = defaultdict(dict)
        self.together: dict[int, dict[int, float]] = defaultdict(dict)
        self.weights: Any = None
        self.points: Any = None

    def add(self, keys: Any, values: Any) -> None:
        totals = self.totals
        for key, value in zip(keys.tolist(), values.tolist(), strict=True):
            totals[key] += value

    def put(self, keys: list[str], values: list[int]) -> None:
        data = self.totals
        for key, value in zip(keys, values, strict=True):
            data[key] = value

    def count(self, windows: list[int], words: list[str]) -> None:
        counts = self.totals
        for key in zip(windows, words, strict=True):
            counts[key] += 1

    def result(self) -> dict[Any, Any]:
        return dict(self.totals)

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

    def rows(self, users: list[int]) -> list[dict[int, float]]:
        return [self.ratings[user] for user in users]

    def scores(self, rows: list[dict[int, float]]) -> list[dict[int, float]]:
        found = []
        for row in rows:
            scores: dict[int, float] = defaultdict(float)
            for item, rating in row.items():
                for other, count in self.together[item].items():
                    scores[other] += count * rating
            found.append(dict(scores))
        return found

    def load(self, points: Any, labels: Any) -> None:
        self.points, self.labels = points, labels

    def learn(self, weights: Any, rate: float) -> Any:
        """A pass over the points, one step for a hundred of them, as numpy is slow for single ones."""
        weights = weights.copy()
        for first in range(0, len(self.points), 100):
            x, y = self.points[first : first + 100], self.labels[first : first + 100]
            weights += rate * x.T @ (y - 1 / (1 + np.exp(-(x @ weights))))
        return weights


def owners(spec: Spec) -> list[Any]:
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, configure_logging=False)
    made = [Owner.remote() for _ in range(spec.options["workers"])]
    ray.get([each.result.remote() for each in made])
    return made


def merged(made: list[Any]) -> dict[Any, Any]:
    return {key: value for part in ray.get([each.result.remote() for each in made]) for key, value in part.items()}


def timed(before: list[Any], counted: list[Any], send: Any) -> float:
    ray.get([call for batch in before for call in send(batch)])
    settle()
    start = perf_counter()
    ray.get([call for batch in counted for call in send(batch)])
    return perf_counter() - start


def keyed_sum(spec: Spec) -> Done:
    made = owners(spec)
    before, counted = (
        [(batch["key"].to_numpy(), batch["value"].to_numpy()) for batch in batches]
        for batches in (spec.batches_before(), spec.batches_counted())
    )

    def send(batch: Any) -> list[Any]:
        keys, values = batch
        places = [keys % len(made) == n for n in range(len(made))]
        return [each.add.remote(keys[place], values[place]) for each, place in zip(made, places, strict=True)]

    return Done(timed(before, counted, send), lambda: keyed({k: float(v) for k, v in merged(made).items()}))


def place_of(key: str, count: int) -> int:
    return zlib.crc32(key.encode()) % count


def word_count(spec: Spec) -> Done:
    made, size = owners(spec), spec.parameters["window"]
    before, counted = (
        [columns(batch) for batch in batches] for batches in (spec.batches_before(), spec.batches_counted())
    )

    def send(batch: Any) -> list[Any]:
        shares: list[tuple[list[int], list[str]]] = [([], []) for _ in made]
        places: dict[str, int] = {}
        for time, line in zip(*batch, strict=True):
            window = time // size
            for word in line.split():
                place = places.get(word)
                if place is None:
                    place = places[word] = place_of(word, len(made))
                windows, words = shares[place]
                windows.append(window)
                words.append(word)
        return [each.count.remote(*share) for each, share in zip(made, shares, strict=True)]

    return Done(timed(before, counted, send), lambda: windowed(merged(made)))


def key_value(spec: Spec) -> Done:
    made = owners(spec)
    before, counted = (
        [columns(batch) for batch in batches] for batches in (spec.batches_before(), spec.batches_counted())
    )

    def send(batch: Any) -> list[Any]:
        shares: list[tuple[list[str], list[int]]] = [([], []) for _ in made]
        for key, value in zip(*batch, strict=True):
            keys, values = shares[hash(key) % len(made)]
            keys.append(key)
            values.append(value)
        return [each.put.remote(*share) for each, share in zip(made, shares, strict=True)]

    return Done(timed(before, counted, send), lambda: keyed(merged(made)))


def recommender(spec: Spec) -> Done:
    made = owners(spec)

    def rate(table: pa.Table) -> list[Any]:
        users = table["user"].to_numpy()
        parts = [table.filter(pa.array(users % len(made) == n)) for n in range(len(made))]
        return [each.rate.remote(*columns(part)) for each, part in zip(made, parts, strict=True)]

    def ask(table: pa.Table) -> list[dict[int, float]]:
        users = table["user"].to_pylist()
        mine = [[user for user in users if user % len(made) == n] for n in range(len(made))]
        given = ray.get([each.rows.remote(part) for each, part in zip(made, mine, strict=True)])
        row_of = {user: row for n, part in enumerate(mine) for user, row in zip(part, given[n], strict=True)}
        rows = ray.put([row_of[user] for user in users])
        first, *others = ray.get([each.scores.remote(rows) for each in made])
        for other in others:
            for scores, more in zip(first, other, strict=True):
                for item, score in more.items():
                    scores[item] = scores.get(item, 0.0) + score
        return first

    for batch in spec.batches_before():
        ray.get(rate(batch))
    steps = [turn for batch in spec.batches_counted() for turn in turns(batch)]
    answers: list[dict[int, float]] = []
    waiting: list[Any] = []
    settle()
    start = perf_counter()
    for asks, table in steps:
        if asks:
            answers += ask(table)
        else:
            waiting += rate(table)
    ray.get(waiting)
    seconds = perf_counter() - start
    values = [weigh(answer.keys(), answer.values()) for answer in answers]
    return Done(seconds, lambda: pa.table({"value": pa.array(values, pa.float64())}))


def logistic(spec: Spec) -> Done:
    made, parameters = owners(spec), spec.parameters
    (table,) = spec.batches_counted()
    x = np.array(table["x"].to_pylist())
    y = table["y"].to_numpy()
    ray.get([each.load.remote(x[n :: len(made)], y[n :: len(made)]) for n, each in enumerate(made)])
    weights = np.zeros(parameters["dimension"])
    settle()
    start = perf_counter()
    for _ in range(parameters["iterations"]):
        parts = ray.get([each.learn.remote(weights, parameters["rate"]) for each in made])
        weights = sum(parts) / len(parts)
    return Done(perf_counter() - start, lambda: pa.table({"value": weights}))


if __name__ == "__main__":
    answer(
        {
            "keyed_sum": keyed_sum,
            "word_count": word_count,
            "key_value": key_value,
            "recommender": recommender,
            "logistic": logistic,
        },
        ("ray",),
    )
