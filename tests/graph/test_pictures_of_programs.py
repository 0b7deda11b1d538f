"""Every picture of every program of the corpus: it can be drawn, and it names all there is."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

import anabranch as ab
from tests.programs.load import good, load, program_of

PROGRAMS = good()


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda p: p.stem)
def test_every_picture_names_all_tasks_and_states(path: Path) -> None:
    graph = ab.compile(program_of(load(path)))
    names = [t.name for t in graph.tasks] + [s.name for s in graph.states]
    for picture in (graph.to_dot(), graph.to_mermaid(), graph.to_svg(), graph.draw(80), graph.draw(120), str(graph)):
        assert [n for n in names if n not in picture] == []
    ET.fromstring(graph.to_svg())


def test_notebooks_show_the_svg() -> None:
    graph = ab.compile(program_of(load(PROGRAMS[0])))
    assert graph._repr_html_() == graph.to_svg()


def test_parts_are_found_by_name() -> None:
    graph = ab.compile(program_of(load(PROGRAMS[0])))
    for task in graph.tasks:
        assert graph.task(task.name) is task
    for entry in graph.entries:
        assert graph.entry(entry.name) is entry
    for state in graph.states:
        assert graph.state(state.name) is state
    for flow in graph.flows:
        assert graph.flow(flow.number) is flow
