"""The graphs of the corpus, word for word."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import anabranch as ab
from anabranch.graph.nodes import Dispatch, Variable, Where
from anabranch.lang.types import FLOAT, INT, VECTOR
from tests.conftest import Golden
from tests.programs.load import EXAMPLES, good, load, program_of

PROGRAMS = good()


def graph_of(name: str) -> ab.Graph:
    return ab.compile(program_of(load(EXAMPLES / f"{name}.py")))


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda p: p.stem)
def test_the_graph_is_the_golden_one(path: Path, golden: Golden) -> None:
    golden(Path("graphs") / f"{path.stem}.txt", str(ab.compile(program_of(load(path)))))


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda p: p.stem)
def test_good_programs_have_no_errors_and_no_warnings(path: Path) -> None:
    assert [d for d in ab.check(program_of(load(path))) if d.code != "AB601"] == []


def test_the_recommender_is_figure_1_of_the_sdg_paper() -> None:
    """Five tasks on two states: update the ratings, update the counts; read the row, multiply everywhere, merge."""
    graph = graph_of("recommender")
    assert [s.name for s in graph.states] == ["ratings", "together"]
    assert [(t.name, t.where, t.reads, t.writes) for t in graph.tasks] == [
        ("rate.1", Where.KEY, ("ratings",), ("ratings",)),
        ("rate.2", Where.HERE, ("together",), ("together",)),
        ("recommend.1", Where.KEY, ("ratings",), ()),
        ("recommend.2", Where.EVERYWHERE, ("together",), ()),
        ("recommend.3", Where.NOWHERE, (), ()),
    ]
    assert [(e.name, e.dispatch, e.start, e.straight) for e in graph.entries] == [
        ("rate", Dispatch.BY_KEY, "rate.1", True),
        ("recommend", Dispatch.BY_KEY, "recommend.1", True),
    ]
    assert [(f.source, f.target, f.dispatch, f.carries) for f in graph.flows] == [
        ("rate.1", "rate.2", Dispatch.ANY, (Variable("item", INT), Variable("ratings.row", VECTOR))),
        ("recommend.1", "recommend.2", Dispatch.ALL, (Variable("row", VECTOR),)),
        ("recommend.2", "recommend.3", Dispatch.GATHER, (Variable("scores", VECTOR, multi=True),)),
    ]
    assert graph.task("rate.1").inputs == (
        Variable("item", INT),
        Variable("rating", FLOAT),
        Variable("user", INT),
    )


def test_the_words_of_a_line_fan_out() -> None:
    graph = graph_of("wordcount")
    entry = graph.entry("add")
    assert entry.straight
    (flow,) = [f for f in graph.flows if f.source == entry.start]
    assert (flow.dispatch, flow.each) == (Dispatch.BY_KEY, True)


def test_a_transfer_is_winding_and_says_why() -> None:
    entry = graph_of("transfer").entry("transfer")
    assert entry.winding == "it visits accounts at source and again at target"


def test_query_1_of_the_smart_grid_stays_at_the_house() -> None:
    graph = graph_of("smartgrid")
    entry = graph.entry("measure")
    assert entry.straight
    assert [t.where for t in graph.tasks if t.entry == "measure"] == [Where.KEY]


def test_compiling_again_gives_an_equal_graph() -> None:
    for path in PROGRAMS:
        program = program_of(load(path))
        assert ab.compile(program) == ab.compile(program), path.stem


def test_the_text_does_not_depend_on_hash_seeds() -> None:
    code = (
        "import sys; sys.path.insert(0, '.'); import anabranch as ab\n"
        "from tests.programs.load import good, load, program_of\n"
        "print(*[ab.compile(program_of(load(p))) for p in good()])"
    )
    texts = set()
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        root = EXAMPLES.parent
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=root, env=environment)
        assert done.returncode == 0, done.stderr
        texts.add(done.stdout)
    assert len(texts) == 1
