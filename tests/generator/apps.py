"""What a running app gives for generated requests, checked against the oracle with the assignment of the run."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import anabranch as ab
from anabranch.drivers.fleet import Launcher
from anabranch.engines.embedded import App
from anabranch.lang.marks import same_state
from anabranch.testing.checking import contents_of
from anabranch.testing.outcomes import Outcome, assert_same
from tests.generator.choices import SeededChoices
from tests.generator.inputs import Request, generate_requests
from tests.generator.limits import SECONDS, TooLong, at_most, end_workers
from tests.generator.plain import answer, loaded, run_plain
from tests.generator.seeds import generate_seed


def run_app(
    app: App,
    program: type[ab.Program],
    requests: list[Request],
    before_each: Callable[[], object] = lambda: None,
) -> Outcome:
    """Answers and states; those of partial state that names no merge are None where there are several instances."""
    answers = tuple((before_each(), answer(program, app, request))[1] for request in requests)
    history = app.history()
    parts = {name: app.state[name].instances() for name in app.state}
    contents = contents_of(app)
    for name, found in contents.items():
        if found is None:
            with pytest.raises(TypeError, match=r"names no merge|cannot be put together"):
                app.state[name].copy()
    oracle, _ = history.replay(program())
    for name, instances in parts.items():
        for i, part in enumerate(instances):
            assert same_state(part, oracle.instances(name)[i]), (name, i)
    return Outcome(answers, contents)


def check_apart(seed: int, hosts: Callable[[int], Launcher]) -> None:
    """The program of a seed on two or three workers that are apart, some as kernels, against the plain run."""
    workers, tier = 2 + seed % 2, "compiled" if seed % 7 == 3 else "auto"
    generated = generate_seed(seed)
    requests = list(generate_requests(SeededChoices(f"inputs of {seed}"), generated))
    try:
        with loaded(generated.source) as program:
            graph = ab.compile(program)
            plain = run_plain(program, requests)
            launcher = hosts(workers)
            with (
                at_most(SECONDS, f"seed {seed}", lambda: end_workers(launcher)),
                App(program(), workers, True, graph=graph, tier=tier, hosts=launcher) as app,
            ):
                found = run_app(app, program, requests)
    except (Exception, TooLong) as error:
        error.add_note(f"seed {seed}: python -m tests.generator --seed {seed} --run")
        raise
    if "grouping-sensitive" not in generated.features:
        assert_same(plain, found, requests, f" of seed {seed}")
