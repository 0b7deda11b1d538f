from __future__ import annotations

import re
from dataclasses import replace

import pytest

from anabranch.graph.draw_dot import draw_dot
from anabranch.graph.nodes import Graph
from tests.graph.test_draw_graphs import GRAPHS, fan_out, recommender

STRING = r'"(?:[^"\\\n]|\\.)*"'
LOOK = rf"\[\w+=(?:{STRING}|\d+)(?:, \w+=(?:{STRING}|\d+))*\]"
STATEMENT = re.compile(
    rf"digraph {STRING} {{|subgraph {STRING} {{|}}|\w+=(?:{STRING}|\w+)|\w+ {LOOK}"
    rf"|{STRING}(?: -> {STRING})?(?: {LOOK})?"
)


@pytest.mark.parametrize("graph", GRAPHS, ids=lambda g: g.name)
def test_it_is_graphviz_with_every_name(graph: Graph) -> None:
    lines = draw_dot(graph).splitlines()
    assert [line for line in lines if not STATEMENT.fullmatch(line.strip())] == []
    bare = re.sub(STRING, "", draw_dot(graph))
    assert bare.count("{") == bare.count("}") == 1 + len(graph.entries)
    for kind, values in (("state", graph.states), ("task", graph.tasks), ("entry", graph.entries)):
        for value in values:
            assert f'"{kind} {value.name}" [' in draw_dot(graph)


@pytest.mark.parametrize("graph", GRAPHS, ids=lambda g: g.name)
def test_every_edge_joins_declared_nodes(graph: Graph) -> None:
    lines = [line.strip() for line in draw_dot(graph).splitlines()]
    nodes = {m[1] for line in lines if (m := re.match(rf"({STRING}) \[", line))}
    edges = [(m[1], m[2]) for line in lines if (m := re.match(rf"({STRING}) -> ({STRING})", line))]
    assert all(a in nodes and b in nodes for a, b in edges)


def test_edges_of_the_recommender() -> None:
    text = draw_dot(recommender())
    edges = [line.strip().partition(", tooltip")[0].rstrip("]") for line in text.splitlines() if " -> " in line]
    edges = [line for line in edges if not line.startswith(("label=", "tooltip="))]
    assert edges == [
        '"entry rate" -> "task rate.1" [label="by key user", arrowhead="normal"',
        '"entry recommend" -> "task recommend.1" [label="by key user", arrowhead="normal"',
        '"task recommend.3" -> "result recommend"',
        '"task rate.1" -> "task rate.2" [label="any\\nitem, ratings.row", arrowhead="vee"',
        '"task recommend.1" -> "task recommend.2" [label="all\\nrow", arrowhead="crow"',
        '"task recommend.2" -> "task recommend.3" [label="gather\\nscores", arrowhead="inv"',
        '"task rate.1" -> "state ratings" [style="dashed", dir="both"',
        '"task rate.2" -> "state together" [style="dashed", dir="both"',
        '"state ratings" -> "task recommend.1" [style="dashed", dir="forward"',
        '"state together" -> "task recommend.2" [style="dashed", dir="forward"',
    ]


def test_a_fan_out_has_three_heads() -> None:
    assert 'label="each by key follower\\npost, follower, author.display_name", arrowhead="normalnormalnormal"' in (
        draw_dot(fan_out())
    )


def test_names_are_escaped() -> None:
    text = draw_dot(replace(recommender(), name='a"b\\N\n&lt;'))
    assert text.startswith('digraph "a\\"b\\\\N\\n&amp;lt;" {\n')
