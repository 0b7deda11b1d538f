"""The generated ratings keep their laws."""

from __future__ import annotations

import numpy as np

from anabranch.demo.ratings import BLOCK, ITEMS, USERS, Source, genre_of


def test_every_source_gives_the_same_ratings_however_they_are_asked_for() -> None:
    one, other = Source(), Source()
    end = BLOCK + 500
    whole = one.columns(0, end)
    parts = [other.columns(0, 7), other.columns(7, BLOCK - 1), other.columns(BLOCK - 1, end)]
    for name, column in whole.items():
        assert np.array_equal(column, np.concatenate([part[name] for part in parts]))
    assert all(one.likes(user) == other.likes(user) for user in range(100))


def test_ratings_are_halves_above_zero_of_known_users_and_items() -> None:
    ratings = Source().columns(0, BLOCK)
    halves = ratings["rating"] * 2
    assert np.array_equal(halves, halves.astype(int)) and halves.min() >= 1 and halves.max() <= 10
    assert ratings["user"].min() >= 0 and ratings["user"].max() < USERS
    assert ratings["item"].min() >= 0 and ratings["item"].max() < ITEMS


def test_few_users_and_items_have_most_of_the_ratings() -> None:
    ratings = Source().columns(0, 5 * BLOCK)
    for column, count in ((ratings["user"], USERS), (ratings["item"], ITEMS)):
        by_count = np.sort(np.bincount(column, minlength=count))[::-1]
        assert by_count[: count // 10].sum() > 2 * len(column) / 10


def test_users_like_what_they_rate_high() -> None:
    source = Source()
    ratings = source.columns(0, 1_000)
    for user, item, rating in zip(*ratings.values(), strict=True):
        assert (genre_of(item) in source.likes(user)) == (rating > 3)
