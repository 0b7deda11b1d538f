"""Generated ratings, so that the demo needs no data.

A few users and items are in most of the ratings, as in life (Zipf's law), and the answers can be judged: every item has
one genre, every user likes two, and a good recommendation is an unseen item of one of them.

Laws: every source gives the same ratings; every rating is a multiple of a half above zero, so that sums of them are
exact in whatever order they are made.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

GENRES = ("Adventure", "Comedy", "Crime", "Drama", "Fantasy", "Horror", "Romance", "Western")
USERS, ITEMS = 40_000, 400
STEEPNESS_OF_USERS, STEEPNESS_OF_ITEMS = 0.5, 0.4
SHARE_OF_FAVOURITES = 0.9
SEED = 7
BLOCK = 10_000  # ratings that are made at once

Numbers = npt.NDArray[Any]
Columns = dict[str, Numbers]


class Source:
    """Ratings without an end, in their order of arrival; those that were made are kept."""

    def __init__(self) -> None:
        random = np.random.default_rng(SEED)
        self._favourites = np.argsort(random.random((USERS, len(GENRES))), axis=1)[:, :2]
        self._users, self._ranks = _zipf(USERS, STEEPNESS_OF_USERS), _zipf(ITEMS // len(GENRES), STEEPNESS_OF_ITEMS)
        self._made: Columns = {"user": np.array([], int), "item": np.array([], int), "rating": np.array([], float)}
        self._blocks = 0

    def columns(self, start: int, end: int) -> Columns:
        """The ratings from `start` to before `end`, as `rate.many` takes them."""
        while len(self._made["user"]) < end:
            more = self._block(self._blocks)
            self._made = {name: np.concatenate([made, more[name]]) for name, made in self._made.items()}
            self._blocks += 1
        return {name: made[start:end] for name, made in self._made.items()}

    def likes(self, user: int) -> tuple[str, ...]:
        return tuple(GENRES[genre] for genre in sorted(self._favourites[user]))

    def _block(self, number: int) -> Columns:
        random = np.random.default_rng((SEED, number))
        user = random.choice(USERS, BLOCK, p=self._users)
        liked = self._favourites[user, random.integers(0, 2, BLOCK)]
        genre = np.where(random.random(BLOCK) < SHARE_OF_FAVOURITES, liked, random.integers(0, len(GENRES), BLOCK))
        item = random.choice(len(self._ranks), BLOCK, p=self._ranks) * len(GENRES) + genre
        is_liked = (self._favourites[user] == genre[:, None]).any(axis=1)
        halves = np.where(is_liked, random.integers(7, 11, BLOCK), random.integers(1, 7, BLOCK))
        return {"user": user, "item": item, "rating": halves / 2}


def genre_of(item: int) -> str:
    return GENRES[item % len(GENRES)]


def _zipf(count: int, steepness: float) -> Numbers:
    shares: Numbers = 1 / np.arange(1, count + 1) ** steepness
    found: Numbers = shares / shares.sum()
    return found
