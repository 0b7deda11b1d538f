"""After a run: was it what the sequential engine does in the same order?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from anabranch.engines.sequential import SequentialApp
from anabranch.lang.entry import Entry
from anabranch.lang.marks import same_state
from anabranch.runtime.messages import Outcome, Raised, Ran
from anabranch.testing.outcomes import canonical
from tests.generator.plain import states_of
from tests.simulation.cases import make_case
from tests.simulation.clients import Content, Look
from tests.simulation.world import World

CHUNK = 100


class Told(Protocol):
    story: list[str]


def run_seed(seed: int, apart: bool | None = None) -> World:
    """Run a seed and check it; what fails carries its story. `apart` says otherwise than the seed how workers live."""
    with make_case(seed, apart) as case:
        world = World(case)
        try:
            world.run()
            check(world)
        except BaseException as error:
            error.add_note(f"seed {seed}: {case.name}; its story: python -m tests.simulation --seed {seed}")
            error.__dict__["story"] = world.story
            raise
        return world


def run_chunk(first: int) -> tuple[int, int, list[str]]:
    """The number of seeds and steps, and the failures."""
    return each_of(first, run_seed)


def each_of(first: int, run: Callable[[int], Told]) -> tuple[int, int, list[str]]:
    steps, failures = 0, []
    for seed in range(first, first + CHUNK):
        try:
            steps += len(run(seed).story)
        except Exception as error:
            told = str(error).splitlines()[0] if str(error) else ""
            failures.append(f"seed {seed}: {type(error).__name__}: {told[:300]}")
    return CHUNK, steps, failures


def check(world: World) -> None:
    _check_requests(world)
    _check_oracle(world)
    if not world.case.grouping:
        _check_plain(world)


def _check_requests(world: World) -> None:
    """Each request is answered once and has run once, or was withdrawn and has not run; calls are fresh.

    Numbers of rows are passed over where a read that was to have them came to nothing.
    """
    ran = [r.request.number for r in world.ran]
    assert len(ran) == len(set(ran)), "a request has run twice"
    answered = {n for n, asked in world.asked.items() if asked.outcome is not None}
    assert answered <= set(ran), "a request was answered and has not run"
    assert set(ran) == {n for n, asked in world.asked.items() if not asked.withdrawn}, "something has run unasked"
    end = 0
    for at, r in enumerate(world.ran):
        assert r.sequence >= end, f"request {r.request.number} starts at {r.sequence}, not {end}"
        assert r.sequence == end or world.meanwhile, f"nobody has the rows {end} to {r.sequence}"
        end = r.sequence + len(r.request.rows)
        assert at >= world.asked[r.request.number].after, (
            f"request {r.request.number} is older than an answer before it"
        )


def _check_oracle(world: World) -> None:
    case, routing = world.case, world.case.routing
    oracle = SequentialApp(case.program(), routing.instances, routing.instance_of_bucket.__getitem__, graph=case.graph)
    looks = sorted(world.looks, key=lambda look: look.ran)
    for at, ran in enumerate(world.ran):
        _check_looks([look for look in looks if look.ran == at], oracle)
        asked = world.asked[ran.request.number]
        oracle.sequence = ran.sequence
        assert_same(told(asked.outcome), answer_of(oracle, ran), f"request {ran.request.number} ({ran.request.entry})")
    _check_looks([look for look in looks if look.ran == len(world.ran)], oracle)
    check_state(dict(enumerate(world.at_rest(world.coordinator.committed))), oracle, "at the end")


def _check_looks(looks: list[Look], oracle: SequentialApp) -> None:
    for look in looks:
        check_state(look.instances, oracle, f"seen after {look.ran} requests")


def check_state(instances: dict[int, Content], oracle: SequentialApp, when: str) -> None:
    for name, parts in oracle.store.parts.items():
        for i, content in instances.items():
            assert same_state(content[name], parts[i]), f"{name} of instance {i} {when}: {content[name]} != {parts[i]}"


def _check_plain(world: World) -> None:
    """Where grouping does not matter, the class itself gives the same."""
    program = world.case.program()
    for ran in world.ran:
        entry: Entry = program.entries[ran.request.entry]
        asked = world.asked[ran.request.number]
        assert_same(told(asked.outcome), _plain_answer(entry, ran), f"request {ran.request.number}, plain")
    assert set(states_of(program)) == set(world.memory.parts)


def answer_of(oracle: SequentialApp, ran: Ran) -> Any:
    try:
        return canonical(oracle.run(ran.request.entry, ran.request.rows))
    except Exception as error:
        return _told_error(error)


def _plain_answer(entry: Entry, ran: Ran) -> Any:
    try:
        return canonical(entry._request(entry.spec, ran.request.rows))
    except Exception as error:
        return _told_error(error)


def told(outcome: Outcome | None) -> Any:
    """What a client was told, comparable."""
    assert outcome is not None
    return _told_error(outcome.error) if isinstance(outcome, Raised) else canonical(list(outcome.values))


def _told_error(error: BaseException) -> Any:
    return (type(error).__name__, canonical(error.args), getattr(error, "__notes__", []))


def assert_same(got: Any, wanted: Any, what: str) -> None:
    assert got == wanted, f"{what}: got {got}, the oracle says {wanted}"
