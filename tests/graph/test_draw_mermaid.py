from __future__ import annotations

import re
from dataclasses import replace

import pytest

from anabranch.graph.draw_mermaid import draw_mermaid
from anabranch.graph.nodes import Graph
from tests.graph.test_draw_graphs import GRAPHS, fan_out, names, recommender, winding

LABEL = r'"[^"`\n]+"'
STATEMENT = re.compile(
    rf"flowchart LR|end|subgraph entry\d+\[{LABEL}\]|state\d+\[\({LABEL}\)\]:::\w+|task\d+\[{LABEL}\]"
    rf"|(?:from|to)\d+\(\[{LABEL}\]\)|\w+ (?:-->|==>)\|{LABEL}\| \w+|\w+ (?:-->|-\.->|<-\.->) \w+|classDef \w+ [\w:#,]+"
)


@pytest.mark.parametrize("graph", GRAPHS, ids=lambda g: g.name)
def test_it_is_a_flowchart_with_every_name(graph: Graph) -> None:
    text = draw_mermaid(graph)
    assert [line for line in text.splitlines() if not STATEMENT.fullmatch(line.strip())] == []
    lines = [line.strip() for line in text.splitlines()]
    assert lines.count("end") == sum(line.startswith("subgraph") for line in lines) == len(graph.entries)
    for name in names(graph):
        assert f'"{name}<br/>' in text
    for entry in graph.entries:
        assert f'["{entry.name}(' in text


def test_the_recommender() -> None:
    lines = [line.strip() for line in draw_mermaid(recommender()).splitlines()]
    for line in (
        'state0[("ratings<br/>Partitioned[Matrix]")]:::partitioned',
        'from0 -->|"by key user"| task0',
        'task0 -->|"any<br/>item, ratings.row"| task1',
        'task2 ==>|"all<br/>row"| task3',
        "task4 --> to1",
        "task0 <-.-> state0",
        "state1 -.-> task3",
    ):
        assert line in lines


def test_writes_go_to_the_state_and_reasons_are_shown() -> None:
    assert "task2 -.-> state0" in draw_mermaid(winding())
    assert "winding: the loop at line 9 carries #96;node#96;, read from #60;edges#62;," in draw_mermaid(winding())
    assert '|"each by key follower<br/>post, follower, author.display_name"|' in draw_mermaid(fan_out())


def test_labels_are_escaped() -> None:
    graph = recommender()
    states = (replace(graph.states[0], type='T"#;`x`'), graph.states[1])
    assert "Partitioned[T#34;#35;;#96;x#96;]" in draw_mermaid(replace(graph, states=states))
