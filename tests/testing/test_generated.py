"""Random programs that are crashed, restarted and scaled at random moments give what the class gives."""

from __future__ import annotations

from random import Random

import pytest

import anabranch as ab
from anabranch.testing import Disturbance, advance, check, checkpoint, crash, meanwhile, restart, scale
from anabranch.testing.requests import Call as Asked
from anabranch.testing.requests import Many, Request
from tests.generator import inputs
from tests.generator.choices import SeededChoices
from tests.generator.plain import arguments, loaded, rows
from tests.generator.scaling import can_scale
from tests.generator.seeds import generate_seed

CHUNKS, SIZE = 6, 10
FIRST = 95_000  # not those of the other engines
MOST = 4  # workers


def asked(program: type[ab.Program], request: inputs.Request) -> Request:
    if isinstance(request, inputs.Call):
        return Asked(request.entry, arguments(program, request))
    return Many(request.entry, rows(program, request))


def disturbance(chance: Random) -> Disturbance:
    workers = chance.randint(1, MOST)
    found = chance.choice([crash(), crash(0), restart(workers), scale(workers), advance(60)])
    return chance.choice([found, found, meanwhile(found), checkpoint()])


def check_seed(seed: int, hosts: str) -> bool:
    generated, chance = generate_seed(seed), Random(seed)
    given = inputs.generate_requests(SeededChoices(f"inputs of {seed}"), generated)
    with loaded(generated.source) as program:
        if not given or "grouping-sensitive" in generated.features or not can_scale(ab.compile(program)):
            return False
        requests = [asked(program, request) for request in given]
        moments = chance.sample(range(len(requests)), min(len(requests), 3))
        disturb = {moment: disturbance(chance) for moment in moments}
        try:
            check(program, requests, workers=1 + seed % 3, hosts=hosts, tier="python", disturb=disturb, saved=True)
        except Exception as error:
            error.add_note(f"seed {seed}, {disturb}: python -m tests.generator --seed {seed} --run")
            raise
        return True


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_random_programs(chunk: int) -> None:
    assert sum(check_seed(seed, "threads") for seed in range(FIRST + chunk * SIZE, FIRST + (chunk + 1) * SIZE))


def test_random_programs_on_processes() -> None:
    assert sum(check_seed(seed, "processes") for seed in range(FIRST + 1000, FIRST + 1004))
