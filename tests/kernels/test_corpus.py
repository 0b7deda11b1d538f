"""Emitted Python does what the class does on the calls of the corpus, down to the notes on exceptions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from anabranch.lang.marks import same_state
from anabranch.testing.outcomes import canonical
from tests.kernels.harness import PythonApp
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
    module = load(path)
    program = program_of(module)
    plain, app = program(), PythonApp(program(), whole=whole)
    for name, args in module.CALLS:
        assert outcome(app.entries[name], args) == outcome(plain.entries[name], args), (name, args)
    for name, state in plain.__anabranch_states__.items():
        assert same_state(state, app.store.merged(name)), name


@pytest.mark.parametrize("whole", [False, True], ids=["cut", "whole"])
@pytest.mark.parametrize("path", [p for p in PROGRAMS if p.stem not in GROUPING], ids=lambda p: p.stem)
def test_three_instances_give_the_answers_of_one(path: Path, whole: bool) -> None:
    module = load(path)
    program = program_of(module)
    plain, app = program(), PythonApp(program(), 3, whole, assignment=lambda bucket: bucket % 3)
    for name, args in module.CALLS:
        assert outcome(app.entries[name], args) == outcome(plain.entries[name], args), (name, args)
