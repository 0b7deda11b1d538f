"""The interpreter of the graph does what the class does, on the calls of the corpus."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from anabranch.engines.sequential import SequentialApp
from anabranch.lang.marks import same_state
from anabranch.testing.outcomes import canonical
from tests.programs.load import good, load, program_of

PROGRAMS = good()
# Their answers depend on how work is spread over instances: a mean of gradients is not the gradient of all.
GROUPING = {"logistic"}


def outcome(entry: Any, args: tuple[Any, ...]) -> Any:
    try:
        return canonical(entry(*args))
    except Exception as error:
        return (type(error), error.args, getattr(error, "__notes__", None))


@pytest.mark.parametrize("whole", [False, True], ids=["cut", "whole"])
@pytest.mark.parametrize("path", PROGRAMS, ids=lambda p: p.stem)
def test_one_instance_is_the_plain_run(path: Path, whole: bool) -> None:
    """Results, final state, exceptions and the notes on them."""
    module = load(path)
    program = program_of(module)
    plain, app = program(), SequentialApp(program(), whole=whole)
    for name, args in module.CALLS:
        assert outcome(app.entries[name], args) == outcome(plain.entries[name], args), (name, args)
    for name, state in plain.__anabranch_states__.items():
        assert same_state(state, app.state(name)), name


@pytest.mark.parametrize("path", [p for p in PROGRAMS if p.stem not in GROUPING], ids=lambda p: p.stem)
def test_three_instances_give_the_answers_of_one(path: Path) -> None:
    module = load(path)
    program = program_of(module)
    plain, app = program(), SequentialApp(program(), instances=3, assignment=lambda bucket: bucket % 3)
    for name, args in module.CALLS:
        assert outcome(app.entries[name], args) == outcome(plain.entries[name], args), (name, args)
    assert set(app.assigned.values()) <= {0, 1, 2}


def test_every_program_has_calls_and_some_raise() -> None:
    outcomes = []
    for path in PROGRAMS:
        module = load(path)
        plain = program_of(module)()
        outcomes += [outcome(plain.entries[name], args) for name, args in module.CALLS]
        assert module.CALLS, path
    raised = [o for o in outcomes if isinstance(o[0], type)]
    assert len(outcomes) > 250
    assert len(raised) > 20
