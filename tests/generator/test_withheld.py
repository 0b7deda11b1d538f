"""What the generator leaves out shows a defect, as long as it leaves it out."""

from __future__ import annotations

from textwrap import indent
from typing import Any

import pytest

import anabranch as ab
from tests.generator.choices import SeededChoices
from tests.generator.inputs import REPEATS, generate_requests
from tests.generator.plain import loaded
from tests.generator.programs import generate_seed
from tests.generator.withheld import HEAD, WITHHELD, Defect

SHOWN = {name: defect for name, defect in WITHHELD.items() if defect.body}


def answers(target: Any, defect: Defect) -> list[Any]:
    entry = target.entries["e"]
    return [entry.many({"k": [1] * defect.batch}) if defect.batch else entry(1) for _ in range(defect.times)]


@pytest.mark.parametrize("name", SHOWN)
def test_what_is_withheld_shows_a_defect(name: str) -> None:
    """Strict: if this fails, the defect is mended, and its line in withheld.py is to be removed."""
    defect = SHOWN[name]
    with loaded(HEAD + indent(defect.body, "    ")) as program:
        wanted = answers(program(), defect)
        try:
            with ab.run(program(), workers=1, tier=defect.tier) as app:
                found = answers(app, defect)
        except Exception:
            return
    assert found != wanted, f"mended: {defect.why}. Remove the line {name!r} from tests/generator/withheld.py"


def test_what_is_withheld_is_not_made() -> None:
    for seed in range(300):
        program = generate_seed(seed)
        assert not program.features & set(WITHHELD) - {"changed defaults"}
        requests = generate_requests(SeededChoices(seed), program)
        assert len(requests) < REPEATS or "repeated batches" not in WITHHELD
