"""Run the demo: start the app, let the threads work, compare with the plain run, say what happened."""

from __future__ import annotations

import dataclasses
import json as json_
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from rich.console import Console

import anabranch as ab
from anabranch.demo.figures import Figures
from anabranch.demo.program import Recommender
from anabranch.demo.ratings import ITEMS, Source, genre_of
from anabranch.demo.story import Event, Story, ms, s
from anabranch.demo.traffic import Traffic
from anabranch.demo.view import View, line_of
from anabranch.engines.embedded.metrics import Metrics
from anabranch.lang.marks import same_state

SECONDS = 20.0
REFRESH = 0.25  # seconds
SAMPLE = 200  # users whose recommendations are compared
SHOWN_USERS, SHOWN_ITEMS = 3, 5
TYPICAL = 12  # ratings of a user that is shown
ENGINES = {"processes": "embedded engine, workers are processes", "spark": "Spark, workers are tasks"}


@dataclass(frozen=True, slots=True)
class Advice:
    """What one user likes, and the best items that the user has not rated."""

    user: int
    likes: tuple[str, ...]
    items: tuple[str, ...]
    hits: int


@dataclass(frozen=True, slots=True)
class Compared:
    """The app beside a plain `Recommender()` that got the same ratings in the same order."""

    ratings: int
    states: bool
    recommendations: bool
    users: int
    plain_seconds: float

    @property
    def same(self) -> bool:
        return self.states and self.recommendations


def run(json: bool = False, on: str = "processes", seconds: float = SECONDS) -> int:
    """Gives the exit code of the command: 0 if the app did what the plain run does."""
    if seconds <= 0:
        raise ValueError(f"--seconds is a time above zero, got {seconds:g}")
    console = Console(highlight=False, markup=False, quiet=json)
    graph = ab.compile(Recommender)
    _show(console, graph.draw(min(console.width, 100)) if console.is_terminal else graph.draw(), "")
    source = Source()
    where: dict[str, Any] = {"on": "spark"} if on == "spark" else {"hosts": "processes"}
    with tempfile.TemporaryDirectory(prefix="anabranch-demo-") as folder:
        begun = perf_counter()
        with console.status("starting; the first start on a machine compiles the class to machine code"):
            app = ab.run(Recommender(), workers=1, checkpoint=Path(folder), tier="compiled", **where)
        with app:
            traffic = Traffic(app, source)
            with console.status("the first rating and the first recommendation"):
                traffic.warm_up()
            _show(console, f"started in {s(perf_counter() - begun)}: one worker, {ENGINES[on]}; state is saved", "")
            story, metrics = play(traffic, seconds, console, ENGINES[on])
            figures = Figures.of(traffic)
            with console.status("running the class as plain Python on the same ratings, to compare"):
                compared = compare(app, source, traffic.fed)
            advice = advise(app, source, traffic.fed)
    if json:
        print(json_.dumps(_as_object(str(graph), on, figures, story.events, metrics, advice, compared)))
    else:
        _tell(console, figures, story.events, metrics, advice, compared)
    return 0 if compared.same else 1


def play(traffic: Traffic, seconds: float, console: Console, title: str) -> tuple[Story, Metrics]:
    """Feed, ask and tell the story, each in a thread; this one shows how it goes. The first that fails ends all."""
    over, app = threading.Event(), traffic.app
    view = View(console, f"Recommender: {title}", traffic)
    story = Story(app, traffic, seconds, view.tell)

    def tell() -> None:
        try:
            story.run(over)
        finally:
            over.set()

    def measure() -> None:
        while not over.wait(1.0):  # a thread of its own: while a worker is away, this waits for it
            view.metrics = app.metrics()

    jobs: list[Callable[[], None]] = [lambda: traffic.feed(over), lambda: traffic.ask(over), measure, tell]
    with view.showing(story), ThreadPoolExecutor(len(jobs)) as pool:
        futures = [pool.submit(job) for job in jobs]
        try:
            while any(not future.done() for future in futures):
                done = wait(futures, REFRESH, FIRST_EXCEPTION).done
                if any(future.exception() for future in done):
                    over.set()
                view.update()
        finally:
            over.set()
    for future in futures:
        future.result()
    return story, app.metrics()


def compare(app: Any, source: Source, fed: int) -> Compared:
    begun = perf_counter()
    plain, ratings = Recommender(), source.columns(0, fed)
    plain.entries["rate"].many(ratings)
    took = perf_counter() - begun
    states = all(
        same_state(state, getattr(app.state, name).copy()) for name, state in plain.__anabranch_states__.items()
    )
    rated = np.unique(ratings["user"])
    users = rated[:: max(1, len(rated) // SAMPLE)][:SAMPLE].tolist()
    told = app.recommend.many({"user": users})["result"]
    return Compared(fed, states, told == [plain.recommend(user) for user in users], len(users), took)


def advise(app: Any, source: Source, fed: int) -> list[Advice]:
    """For some users who rated a few items, and whose tastes have nothing in common."""
    ratings = source.columns(0, fed)
    users, counts = np.unique(ratings["user"], return_counts=True)
    picked: list[int] = []
    for user in users[np.argsort(np.abs(counts - TYPICAL), kind="stable")].tolist():
        taken = {genre for other in picked for genre in source.likes(other)}
        if len(picked) < SHOWN_USERS and taken.isdisjoint(source.likes(user)):
            picked.append(user)
    found = []
    for user in picked:
        seen = set(ratings["item"][ratings["user"] == user].tolist())
        best = [item for item, _ in app.recommend(user).top(ITEMS) if item not in seen][:SHOWN_ITEMS]
        likes = source.likes(user)
        hits = sum(genre_of(item) in likes for item in best)
        found.append(Advice(user, likes, tuple(f"{genre_of(item)} {item}" for item in best), hits))
    return found


def _tell(
    console: Console, figures: Figures, events: list[Event], metrics: Metrics, advice: list[Advice], compared: Compared
) -> None:
    fresh, asked = figures.freshness, figures.recommending
    assert fresh is not None and asked is not None  # the story does not end before there was an answer
    states = "the same state, entry for entry" if compared.states else "ANOTHER STATE"
    answers = "the same recommendations" if compared.recommendations else "OTHER RECOMMENDATIONS"
    _show(
        console,
        "",
        f"What happened in {s(figures.seconds)}",
        f"  {figures.ratings:,} ratings, {figures.ratings_per_second:,.0f} a second, each saved before it was answered",
        f"  {figures.recommendations:,} recommendations, answered in {ms(asked.p50)} (p50), {ms(asked.p99)} (p99)",
        f"  each knew the newest rating, which was {ms(fresh.p50)} old (p50), {s(fresh.max)} at worst",
        *(f"  {line_of(event).strip()}" for event in events),
        f"  in the end: {', '.join(f'{name} {size / 1e6:.1f} MB' for name, size in metrics.states.items())}",
        "",
        *(line_of_advice(one) for one in advice),
        "",
        f"The class as plain Python, {compared.ratings:,} ratings in the same order ({s(compared.plain_seconds)}):",
        f"  {states}, and for {compared.users} users {answers}",
    )


def line_of_advice(one: Advice) -> str:
    likes = " and ".join(one.likes)
    return f"user {one.user} likes {likes}: {', '.join(one.items)} ({one.hits} of {len(one.items)} fit)"


def _as_object(
    graph: str,
    on: str,
    figures: Figures,
    events: list[Event],
    metrics: Metrics,
    advice: list[Advice],
    compared: Compared,
) -> dict[str, Any]:
    return {
        "program": Recommender.__name__,
        "graph": graph,
        "on": on,
        "workers": len(metrics.workers),
        "figures": dataclasses.asdict(figures) | {"ratings_per_second": figures.ratings_per_second},
        "events": [dataclasses.asdict(event) for event in events],
        "metrics": metrics.to_dict(),
        "recommendations": [dataclasses.asdict(one) for one in advice],
        "compared": dataclasses.asdict(compared),
        "equal_to_the_plain_run": compared.same,
    }


def _show(console: Console, *lines: str) -> None:
    """Print without folding: a picture keeps its lines."""
    for line in lines:
        console.print(line, soft_wrap=True)
