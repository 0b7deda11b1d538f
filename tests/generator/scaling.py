"""Random programs whose app is scaled at random moments: it gives what the class gives."""

from __future__ import annotations

import threading
from collections.abc import Callable
from random import Random

import anabranch as ab
from anabranch.engines.embedded import App
from anabranch.lang.distribution import Distribution
from anabranch.lang.marks import is_builtin
from anabranch.testing.outcomes import Outcome, assert_same
from tests.generator.apps import run_app
from tests.generator.choices import SeededChoices
from tests.generator.inputs import Request, generate_requests
from tests.generator.limits import SECONDS, TooLong, at_most
from tests.generator.plain import loaded, run_plain
from tests.generator.seeds import generate_seed

Start = Callable[[ab.Program, ab.Graph, Random], App]  # of an app that keeps its history


def can_scale(graph: ab.Graph) -> bool:
    return all(is_builtin(s.cls) or s.distribution is not Distribution.PARTITIONED for s in graph.states)


def check_scaled(seed: int, start: Start, most: int = 4) -> bool:
    """The program of a seed, with one to `most` workers, against the plain run; False if it cannot be scaled."""
    generated = generate_seed(seed)
    requests, rng = list(generate_requests(SeededChoices(f"inputs of {seed}"), generated)), Random(seed)
    try:
        with loaded(generated.source) as program:
            graph = ab.compile(program)
            if not can_scale(graph):
                return False
            plain = run_plain(program, requests)
            run = _meanwhile if len(requests) > 1 and rng.random() < 0.5 else _between
            with at_most(SECONDS, f"seed {seed}"), start(program(), graph, rng) as app:
                found = run(app, program, requests, rng, most)
            if "grouping-sensitive" not in generated.features:
                assert_same(plain, found, requests)
            return True
    except (Exception, TooLong) as error:
        error.add_note(f"seed {seed}: python -m tests.generator --seed {seed} --run")
        raise


def _between(app: App, program: type[ab.Program], requests: list[Request], rng: Random, most: int) -> Outcome:
    """Between two requests."""

    def scale() -> None:
        if rng.random() < 0.4:
            app.scale(workers=rng.randint(1, most))

    return run_app(app, program, requests, scale)


def _meanwhile(app: App, program: type[ab.Program], requests: list[Request], rng: Random, most: int) -> Outcome:
    """Again and again, while requests are answered."""
    over = threading.Event()
    errors: list[BaseException] = []

    def scale() -> None:
        try:
            while not over.is_set():
                app.scale(workers=rng.randint(1, most))
        except BaseException as error:
            errors.append(error)

    scaling = threading.Thread(target=scale)

    def begin_or_end() -> None:
        nonlocal left
        if left == len(requests):
            scaling.start()
        left -= 1
        if not left:
            over.set()
            scaling.join()

    left = len(requests)
    try:
        return run_app(app, program, requests, begin_or_end)
    finally:
        over.set()
        assert not errors, errors
