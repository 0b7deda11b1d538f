"""Plain Python: dicts, lists and a loop, on one core; what one would write without any system.

Tuned: input is lists, converted outside the timing; `defaultdict` is the fastest dict for sums and counts; the garbage
collector does not see the input. The loops handle one row after the other, as a program that is more than a sum must;
`dict.update` with all rows at once would be faster for key/value, and is not a loop a user can put logic into.
"""

from __future__ import annotations

import math
from collections import defaultdict
from time import perf_counter
from typing import Any

import pyarrow as pa
from talk import Done, Spec, answer, columns, keyed, settle, weigh, windowed


def keyed_sum(spec: Spec) -> Done:
    totals: dict[int, float] = defaultdict(float)

    def add(rows: list[list[list[Any]]]) -> None:
        for keys, values in rows:
            for key, value in zip(keys, values, strict=True):
                totals[key] += value

    add([columns(batch) for batch in spec.batches_before()])
    counted = [columns(batch) for batch in spec.batches_counted()]
    settle()
    start = perf_counter()
    add(counted)
    return Done(perf_counter() - start, lambda: keyed(totals))


def word_count(spec: Spec) -> Done:
    counts: dict[tuple[int, str], int] = defaultdict(int)
    size = spec.parameters["window"]

    def add(rows: list[list[list[Any]]]) -> None:
        for times, lines in rows:
            for time, line in zip(times, lines, strict=True):
                window = time // size
                for word in line.split():
                    counts[window, word] += 1

    add([columns(batch) for batch in spec.batches_before()])
    counted = [columns(batch) for batch in spec.batches_counted()]
    settle()
    start = perf_counter()
    add(counted)
    return Done(perf_counter() - start, lambda: windowed(counts))


def key_value(spec: Spec) -> Done:
    data: dict[str, int] = {}

    def put(rows: list[list[list[Any]]]) -> None:
        for keys, values in rows:
            for key, value in zip(keys, values, strict=True):
                data[key] = value

    put([columns(batch) for batch in spec.batches_before()])
    counted = [columns(batch) for batch in spec.batches_counted()]
    settle()
    start = perf_counter()
    put(counted)
    return Done(perf_counter() - start, lambda: keyed(data))


class Recommender:
    """Dicts of dicts, as in ../recommend.py, which imports anabranch and so cannot be imported here."""

    def __init__(self) -> None:
        self.ratings: dict[int, dict[int, float]] = defaultdict(dict)
        self.together: dict[int, dict[int, float]] = defaultdict(dict)

    def rate(self, user: int, item: int, rating: float) -> None:
        together = self.together
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
        return scores


def recommender(spec: Spec) -> Done:
    model = Recommender()
    for batch in spec.batches_before():
        for user, item, rating in zip(*columns(batch), strict=True):
            model.rate(user, item, rating)
    counted = [columns(batch) for batch in spec.batches_counted()]
    answers = []
    settle()
    start = perf_counter()
    for users, items, ratings in counted:
        for user, item, rating in zip(users, items, ratings, strict=True):
            if item >= 0:
                model.rate(user, item, rating)
            else:
                answers.append(model.recommend(user))
    seconds = perf_counter() - start
    return Done(seconds, lambda: pa.table({"value": [weigh(a.keys(), a.values()) for a in answers]}))


def logistic(spec: Spec) -> Done:
    rate, dimension = spec.parameters["rate"], range(spec.parameters["dimension"])
    (table,) = spec.batches_counted()
    points, labels = columns(table)
    weights = [0.0 for _ in dimension]
    settle()
    start = perf_counter()
    for _ in range(spec.parameters["iterations"]):
        for x, y in zip(points, labels, strict=True):
            z = 0.0
            for i in dimension:
                z += weights[i] * x[i]
            step = rate * (y - sigmoid(z))
            for i in dimension:
                weights[i] += step * x[i]
    return Done(perf_counter() - start, lambda: pa.table({"value": weights}))


def sigmoid(z: float) -> float:
    if z < 0:
        e = math.exp(z)
        return e / (1 + e)
    return 1 / (1 + math.exp(-z))


if __name__ == "__main__":
    answer(
        {
            "keyed_sum": keyed_sum,
            "word_count": word_count,
            "key_value": key_value,
            "recommender": recommender,
            "logistic": logistic,
        }
    )
