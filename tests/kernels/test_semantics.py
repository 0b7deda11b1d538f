"""The corners of Python's semantics that the interpreter is tested with, in emitted Python: also the user's lines."""

from __future__ import annotations

from typing import Any

import pytest

import anabranch as ab
from anabranch.testing.outcomes import state_contents
from tests.engines import test_semantics as bodies
from tests.engines import test_semantics_programs as programs
from tests.generator.plain import loaded
from tests.kernels.harness import PythonApp


def check(source: str, calls: list[Any]) -> None:
    """`calls` makes the arguments of each call anew."""
    with loaded(source) as program:
        graph = ab.compile(program)
        apps = [PythonApp(program(), whole=whole, graph=graph) for whole in (False, True)]
        plain = program()
        for args in calls:
            wanted = programs.outcome(plain.entries["f"], arguments(program, args))
            for app in apps:
                assert programs.outcome(app.entries["f"], arguments(program, args)) == wanted, args
        for name, state in plain.__anabranch_states__.items():
            for app in apps:
                assert state_contents(app.store.merged(name)) == state_contents(state)


def arguments(program: type[ab.Program], args: tuple[Any, ...]) -> list[Any]:
    return [programs.argument(program, a) for a in programs._copy(args)]


@pytest.mark.parametrize("name", bodies.SAME)
def test_bodies(name: str) -> None:
    check(bodies.source(*bodies.SAME[name]), bodies.ARGUMENTS)


@pytest.mark.parametrize("name", programs.SAME)
def test_programs(name: str) -> None:
    body, calls = programs.SAME[name]
    check(programs.source(body), calls)
