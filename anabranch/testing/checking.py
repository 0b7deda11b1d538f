"""A program on an engine, compared with its plain run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any

from anabranch.engines.embedded.states import StateView
from anabranch.lang import Program
from anabranch.lang.distribution import Distribution
from anabranch.lang.marks import is_builtin
from anabranch.testing.disturbing import Disturbance, disturbances_of
from anabranch.testing.kit import Kit
from anabranch.testing.outcomes import Answer, Contents, Outcome, answer_of, assert_same, state_contents
from anabranch.testing.requests import Request, request_of

Disturbances = Mapping[int, Any]


def check(
    program: Callable[[], Program],
    requests: Iterable[Any],
    *,
    workers: int | Sequence[int] = (1, 3),
    hosts: str | Sequence[str] = "threads",
    tier: str | Sequence[str] = "auto",
    disturb: Disturbances | None = None,
    **options: Any,
) -> None:
    """Ask the plain program and an app the same, in each way to run it: every answer, every exception (its type and
    arguments) and the state at the end have to be the same bit by bit. If not, an `AssertionError` shows the first
    difference.

    `program` makes one: a class, or a function. A request is `("rate", 7, 42, 5.0)`, `testing.call(...)` or
    `testing.many(...)`. `disturb` says what happens before which: `{3: crash(1), 5: [scale(3), advance(60)]}`; the
    number after the last is the end. `options` are those of `testing.app`.

    >>> from anabranch import testing
    >>> from anabranch.demo import Recommender
    >>> testing.check(Recommender, [("rate", 1, 10, 1.0), ("rate", 1, 11, 1.0), ("recommend", 1)])
    """
    asked = [request_of(request) for request in requests]
    moments = {number: disturbances_of(what) for number, what in (disturb or {}).items()}
    _refuse(options, moments, len(asked))
    options.setdefault("saved", any(what.ends != "nothing" for some in moments.values() for what in some))
    plain = _run_plain(program(), asked)
    for where, how, count in product(_several(hosts), _several(tier), _several(workers)):
        kit = Kit(program(), count, options["saved"], _run_options(options, where, how))
        try:
            for number, some in moments.items():
                kit.at(number, *some)
            found = _run(kit, asked, plain)
        finally:
            kit.stop()
        at = "".join(f", {', '.join(map(repr, some))} at {number}" for number, some in sorted(moments.items()))
        name, way = type(kit._program).__name__, f"workers={count}, hosts={where!r}, tier={how!r}{at}"
        assert_same(plain, found, asked, f" of {name} ({way})")


def _run_plain(program: Program, requests: Sequence[Request]) -> Outcome:
    answers = [answer_of(partial(request.ask, program)) for request in requests]
    states = {name: state_contents(state) for name, state in program.__anabranch_states__.items()}
    return Outcome(tuple(answers), states)


def _run(kit: Kit, requests: Sequence[Request], plain: Outcome) -> Outcome:
    """As far as the first answer that differs: what comes after it says nothing new."""
    answers: list[Answer] = []
    for request, wanted in zip(requests, plain.answers, strict=True):
        beside = kit.disturb()
        answers.append(answer_of(partial(kit.ask_beside, request, beside)))
        kit.refuse_failures()
        if answers[-1] != wanted:
            return Outcome(tuple(answers), {})
    kit.disturb()
    return Outcome(tuple(answers), contents_of(kit.app))


def contents_of(app: Any) -> dict[str, Contents | None]:
    """All states of an app; None where nobody knows what the parts of one mean together."""
    instances = app._engine.routing.instances
    found: dict[str, Contents | None] = {}
    for name in app.state:
        view = app.state[name]
        found[name] = state_contents(view.copy()) if instances == 1 or _is_one(view) else None
    return found


def _is_one(view: StateView) -> bool:
    match view._state.distribution:
        case Distribution.PARTIAL:
            return view._merge is not None
        case Distribution.PARTITIONED:
            return is_builtin(view._state.cls)
    return True


def _run_options(options: Mapping[str, Any], hosts: str, tier: str) -> dict[str, Any]:
    return {**{name: x for name, x in options.items() if name != "saved"}, "hosts": hosts, "tier": tier}


def _refuse(options: Mapping[str, Any], moments: Mapping[int, Sequence[Disturbance]], requests: int) -> None:
    if "checkpoint" in options:
        raise TypeError("one run would go on from the state of another: leave out checkpoint=, and write saved=True")
    for number, some in moments.items():
        beside = any(what.beside for what in some)
        if not 0 <= number <= requests - beside:
            what = ", ".join(map(repr, some))
            raise ValueError(f"{what} at {number} never comes: there are {requests} requests, numbered from 0")


def _several(given: Any) -> Sequence[Any]:
    return given if isinstance(given, Sequence) and not isinstance(given, str) else [given]
