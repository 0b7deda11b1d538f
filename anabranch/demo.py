"""`anabranch demo`: the recommender, translated, drawn, and run on worker threads on generated ratings.

The ratings are made so that a reader can judge the answer: every item has one genre, every user two favourite ones,
and a good recommendation is an unseen item of a favourite genre.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from json import dumps
from time import perf_counter

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

import anabranch as ab
from anabranch.engines.embedded import App

GENRES = ("Adventure", "Comedy", "Crime", "Drama", "Fantasy", "Horror", "Romance", "Western")
ITEMS = 200
RATINGS_PER_USER = 20
SHARE_OF_FAVOURITES = 0.8
SHOWN_USERS = 3
SHOWN_ITEMS = 5
WORKERS = 2
BATCH = 500
SEED = 7


class Recommender(ab.Program):
    ratings: ab.Partitioned[ab.Matrix]  # rows owned by user
    together: ab.Partial[ab.Matrix]  # how often two items were rated by one user

    def rate(self, user: int, item: int, rating: float) -> None:
        self.ratings[user, item] = rating
        for other, score in self.ratings.row(user).items():
            if score > 0:
                count = self.together[item, other] + 1
                self.together[item, other] = count
                self.together[other, item] = count

    def recommend(self, user: int) -> ab.Vector:
        row = self.ratings.row(user)
        scores = ab.everywhere(self.together).dot(row)  # one value per instance
        return sum(ab.gather(scores), ab.Vector())  # merged into one


@dataclass(frozen=True, slots=True)
class Ratings:
    """Generated ratings in their order of arrival, and the favourite genres behind them, by user."""

    favourites: tuple[tuple[str, ...], ...]
    rows: tuple[tuple[int, int, float], ...]


@dataclass(frozen=True, slots=True)
class Advice:
    """What one user likes, and the best items that the user has not rated."""

    user: int
    favourites: tuple[str, ...]
    items: tuple[str, ...]
    hits: int


def run(json: bool = False, rows: int = 20_000) -> int:
    """Run the demo with that many ratings; gives the exit code of the command."""
    if rows < 1:
        raise ValueError(f"the demo needs at least one rating; got rows={rows}")
    console = Console(highlight=False, markup=False, quiet=json)
    graph = ab.compile(Recommender)
    picture = graph.draw(min(console.width, 100)) if console.is_terminal else graph.draw()
    show(console, f"{picture}\n")

    ratings = generate(rows)
    with ab.run(Recommender(), workers=WORKERS) as app:
        started = perf_counter()
        with progress(console, "rating", len(ratings.rows)) as advance:
            for batch in batches(ratings.rows):
                app.rate.many(list(batch))
                app.recommend(batch[0][0])  # sees the batch that was answered just before
                advance(len(batch))
        seconds = perf_counter() - started
        advice = [advise(app, ratings, user) for user in pick_users(ratings)]
        metrics = app.metrics()
        plain = Recommender()
        plain.entries["rate"].many(list(ratings.rows))
        same = all(app.recommend(one.user) == plain.recommend(one.user) for one in advice)
    rate = len(ratings.rows) / seconds
    if json:
        answer = {
            "program": graph.name,
            "graph": str(graph),
            "engine": "embedded",
            "workers": WORKERS,
            "rows": len(ratings.rows),
            "seconds": round(seconds, 3),
            "rows_per_second": round(rate),
            "metrics": metrics.to_dict(),
            "recommendations": [dataclasses.asdict(one) for one in advice],
            "equal_to_the_plain_run": same,
        }
        print(dumps(answer))
        return 0 if same else 1
    users = len(ratings.favourites)
    told = f"{rows:,} ratings of {users:,} users on {WORKERS} workers: {seconds:.1f} s, {rate:,.0f} rows/s"
    show(console, f"{told}, and a recommendation after every batch\n")
    show(console, f"{metrics}\n")
    for one in advice:
        show(console, f"user {one.user} likes {' and '.join(one.favourites)}")
        show(console, f"  recommended: {', '.join(one.items)}")
        show(console, f"  {one.hits} of {len(one.items)} are of a genre the user likes")
    show(console, f"\nthe same class as plain Python recommends {'the same' if same else 'SOMETHING ELSE'}")
    return 0 if same else 1


def batches(rows: tuple[tuple[int, int, float], ...]) -> Iterator[tuple[tuple[int, int, float], ...]]:
    for start in range(0, len(rows), BATCH):
        yield rows[start : start + BATCH]


def generate(rows: int, seed: int = SEED) -> Ratings:
    """The same `rows` and `seed` give the same ratings; no user rates an item twice."""
    random = np.random.default_rng(seed)
    genre_of = np.arange(ITEMS) % len(GENRES)
    users = -(-rows // RATINGS_PER_USER)
    favourites = []
    triples = []
    for user in range(users):
        liked = random.choice(len(GENRES), size=2, replace=False)
        likes = np.isin(genre_of, liked)
        weights = np.where(likes, SHARE_OF_FAVOURITES / likes.sum(), (1 - SHARE_OF_FAVOURITES) / (~likes).sum())
        for item in random.choice(ITEMS, size=RATINGS_PER_USER, replace=False, p=weights):
            stars = random.integers(4, 6) if likes[item] else random.integers(1, 4)
            triples.append((user, int(item), float(stars)))
        favourites.append(tuple(GENRES[genre] for genre in sorted(liked)))
    arrival = random.permutation(len(triples))[:rows]
    return Ratings(tuple(favourites), tuple(triples[index] for index in arrival))


def pick_users(ratings: Ratings) -> list[int]:
    """The first users whose tastes have nothing in common with those picked before, as far as there are any."""
    rated = sorted({user for user, _, _ in ratings.rows})
    picked: list[int] = []
    for user in rated:
        taken = {genre for other in picked for genre in ratings.favourites[other]}
        if len(picked) < SHOWN_USERS and taken.isdisjoint(ratings.favourites[user]):
            picked.append(user)
    return picked


def advise(app: App, ratings: Ratings, user: int) -> Advice:
    seen = {item for rater, item, _ in ratings.rows if rater == user}
    ranked = app.recommend(user).top(ITEMS)
    unseen = [item for item, _ in ranked if item not in seen][:SHOWN_ITEMS]
    favourites = ratings.favourites[user]
    hits = sum(genre(item) in favourites for item in unseen)
    return Advice(user, favourites, tuple(f"{genre(item)} {item}" for item in unseen), hits)


def genre(item: int) -> str:
    return GENRES[item % len(GENRES)]


def show(console: Console, text: str) -> None:
    """Print without folding: a picture keeps its lines."""
    console.print(text, soft_wrap=True)


Advance = Callable[[int], None]


@contextmanager
def progress(console: Console, what: str, total: int) -> Iterator[Advance]:
    """A function to tell how many rows more are done: a bar on a terminal, else a line per quarter."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=console, transient=True, disable=console.quiet or not console.is_terminal)
    task = bar.add_task(what, total=total)
    done = 0

    def advance(rows: int) -> None:
        nonlocal done
        done, before = done + rows, done
        bar.update(task, completed=done)
        if not console.is_terminal and done * 4 // total > before * 4 // total:
            show(console, f"{what}: {done:,} of {total:,}")

    with bar:
        yield advance
