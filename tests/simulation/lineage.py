"""After a story of several runs: did each begin with what was acknowledged, and was every answer right?

Laws: what a run restores is the state after some epoch of the run it goes on from, and all that was ever acknowledged
there is in it; what is acknowledged was not known to be replaced; a request sees all that was acknowledged before it
was asked, by whichever run.
"""

from __future__ import annotations

from math import inf
from random import Random
from typing import Any

from anabranch.engines.sequential import SequentialApp
from anabranch.lang.distribution import Distribution
from anabranch.lang.keys import BUCKETS
from anabranch.lang.marks import bind, copy_state, is_builtin, same_state
from anabranch.lang.merges import mean
from anabranch.runtime.messages import Ran
from anabranch.state.parts import together
from tests.simulation.ages import Ages
from tests.simulation.cases import make_case
from tests.simulation.check import answer_of, assert_same, check_state, each_of, told
from tests.simulation.clients import Asked
from tests.simulation.saved import Run
from tests.simulation.seams import simulated


def run_saved(seed: int, apart: bool | None = None, mood: str | None = None, scaled: bool = False) -> Ages:
    """Run a story of several runs and check it; what fails carries its story. `mood` as in `ages.MOODS`.

    If `scaled`, runs go on with other workers from time to time.
    """
    with make_case(seed, apart) as case, simulated(case.rng.choice((1, 2, 2000))) as threads:
        ages = Ages(case, threads, mood, Random(f"scaling {seed}") if scaled else None)
        try:
            ages.run()
            check_ages(ages)
        except BaseException as error:
            kind = "scaled" if scaled else "saved"
            error.add_note(f"seed {seed}: {case.name}; its story: python -m tests.simulation --{kind} --seed {seed}")
            error.__dict__["story"] = ages.story
            raise
        finally:
            ages.close()
        return ages


def run_saved_chunk(first: int) -> tuple[int, int, list[str]]:
    """The number of seeds and steps, and the failures."""
    seeds, steps, failures = each_of(first, run_saved)
    return seeds, steps, [f"--saved {failure}" for failure in failures]


def run_scaled(seed: int) -> Ages:
    return run_saved(seed, scaled=True)


def run_scaled_chunk(first: int) -> tuple[int, int, list[str]]:
    """The number of seeds and steps, and the failures."""
    seeds, steps, failures = each_of(first, run_scaled)
    return seeds, steps, [f"--scaled {failure}" for failure in failures]


def check_ages(ages: Ages) -> None:
    runs = ages.by_generation
    path = _ancestors(ages, ages.runs[-1])
    for run in runs.values():
        acknowledged = _acknowledged(run)
        assert run in path or not acknowledged, (
            f"generation {run.generation} was replaced, and has acknowledged {sorted(acknowledged)}"
        )
        _check_freshness(ages, run)
    for run in runs.values():
        if run.start is not None:
            _check_run(ages, run)


def _ancestors(ages: Ages, run: Run) -> list[Run]:
    found = [run]
    while found[-1].parent is not None:
        found.append(ages.by_generation[found[-1].parent])
    return found


def _acknowledged(run: Run) -> dict[int, Asked]:
    assert run.world is not None
    return {n: asked for n, asked in run.world.asked.items() if asked.outcome is not None}


def _check_freshness(ages: Ages, run: Run) -> None:
    before = _ancestors(ages, run)
    for number, asked in _acknowledged(run).items():
        for other in ages.by_generation.values():
            if other in before:
                continue
            late = [n for n, a in _acknowledged(other).items() if a.told < asked.at]
            assert not late, (
                f"request {number} of generation {run.generation} was asked after {late} of generation "
                f"{other.generation} had been acknowledged, and has not seen it"
            )


def _check_run(ages: Ages, run: Run) -> None:
    """Run its requests again, one after the other, from what it began with."""
    case, world = ages.case, run.world
    assert world is not None and run.start is not None
    routing = world.case.routing
    oracle = SequentialApp(case.program(), routing.instances, routing.instance_of_bucket.__getitem__, graph=case.graph)
    if run.parent is None:
        check_state(dict(enumerate(run.start)), oracle, "at the very beginning")
    for i, content in enumerate(run.start):
        for name, part in content.items():
            oracle.store.parts[name][i] = held = copy_state(part)
            bind(held, oracle.store.journal)
    acknowledged = _acknowledged(run)
    last = max((r.epoch for r in world.ran if r.request.number in acknowledged), default=0)
    children = [r for r in ages.by_generation.values() if r.parent == run.generation]
    moments = sorted({child.version for child in children} | {last})
    switches = [*world.switches]

    def reach(epoch: float) -> None:
        """What was there before a request of that epoch: runs may have begun with it, and keys have moved."""
        while (moments and moments[0] < epoch) or (switches and switches[0][0] <= epoch):
            if switches and (not moments or switches[0][0] <= moments[0]):
                routing = switches.pop(0)[1]
                oracle.assign(routing.instance_of_bucket, routing.instances)
            else:
                _check_children(children, moments.pop(0), last, oracle, run)

    for ran, r in enumerate(world.ran, 1):
        reach(r.epoch)
        _check_answer(acknowledged.get(r.request.number), r, oracle)
        for look in [k for k in world.looks if k.ran == ran]:
            reach(look.epoch)
            check_state(look.instances, oracle, f"seen after {ran} requests of generation {run.generation}")
    reach(inf)
    numbers = [r.request.number for r in world.ran]
    assert len(numbers) == len(set(numbers)), "a request has run twice"
    assert set(acknowledged) <= set(numbers), "a request was answered and has not run"
    withdrawn = {n for n, asked in world.asked.items() if asked.withdrawn}
    assert not withdrawn & set(numbers), "a request was withdrawn and has run"


def _check_answer(asked: Asked | None, ran: Ran, oracle: SequentialApp) -> None:
    oracle.sequence = ran.sequence
    wanted = answer_of(oracle, ran)
    if asked is not None:
        assert_same(told(asked.outcome), wanted, f"request {ran.request.number} ({ran.request.entry})")


def _check_children(children: list[Run], now: int, last: int, oracle: SequentialApp, run: Run) -> None:
    """What a run began with is the state after its version; if more was acknowledged, that had changed nothing."""
    for child in children:
        replaced = child.generation < run.generation  # it was slow to open: it can acknowledge nothing
        if now in (child.version, child.version if replaced else max(last, child.version)):
            more = f", and epoch {last} was acknowledged" if now > child.version else ""
            when = f"restored by generation {child.generation} as version {child.version} of {run.generation}{more}"
            _check_same(child, oracle, when)


def _check_same(child: Run, oracle: SequentialApp, when: str) -> None:
    assert child.world is not None and child.start is not None
    now, store = child.world.case.routing, oracle.store
    moved = [store.assignment(b) for b in range(BUCKETS)] != [*now.instance_of_bucket]
    program = oracle.program
    for state in oracle.graph.states:
        parts = oracle.store.parts[state.name]
        restored = [content[state.name] for content in child.start]
        wanted: list[Any] = parts
        if state.distribution is Distribution.REPLICATED:
            wanted = [parts[0]] * now.instances
        elif state.distribution is Distribution.PARTIAL:
            merge = program.__anabranch_merges__[state.name]
            new = mean([copy_state(p) for p in parts]) if merge is mean else program.__anabranch_templates__[state.name]
            wanted = [*parts, *[new] * (now.instances - len(parts))]
        elif moved and is_builtin(state.cls):
            restored = [together(state, restored, now.owner, None)]
            wanted = [together(state, parts, store.owner, None)]
        assert len(restored) == len(wanted), f"{state.name} {when}: {len(restored)} instances, not {len(wanted)}"
        for i, (got, part) in enumerate(zip(restored, wanted, strict=True)):
            assert same_state(got, part), f"{state.name} of instance {i} {when}: {got} != {part}"
