from __future__ import annotations

import pytest

from anabranch.graph.draw_text import draw_text
from anabranch.graph.nodes import Graph
from tests.graph.test_draw_graphs import GRAPHS, fan_out, names, recommender, winding

RECOMMENDER = """\
Recommender: 2 states, 2 entries, 5 tasks

  ratings   Partitioned[Matrix]  by row  recommender.py:4
  together  Partial[Matrix]      recommender.py:5

rate(user: int, item: int, rating: float)  recommender.py:7

                ┌────────────────────┐               ┌──────────────────────┐
   by key user  │ rate.1             │   any         │ rate.2               │
  ────────────▶ │ at key user        │  ╌╌╌╌╌╌╌╌╌╌╌▶ │ here                 │
                │ recommender.py:8-9 │   item,       │ recommender.py:10-11 │
                └────────────────────┘   ratings.row └──────────────────────┘
                  reads, writes ratings                reads, writes together

recommend(user: int) -> Vector  recommender.py:15

                ┌──────────────────────┐        ┌──────────────────────┐
   by key user  │ recommend.1          │  all   │ recommend.2          │
  ────────────▶ │ at key user          │ ═════▶ │ everywhere           │
                │ recommender.py:16-17 │  row   │ recommender.py:17-18 │
                └──────────────────────┘        └──────────────────────┘
                  reads ratings                   reads together

           ┌──────────────────────┐
   gather  │ recommend.3          │
  ┅┅┅┅┅┅┅▶ │ no state             │ ───▶ Vector
   scores  │ recommender.py:18-19 │
           └──────────────────────┘
"""


@pytest.mark.parametrize("width", [80, 100])
def test_the_recommender(width: int) -> None:
    assert draw_text(recommender(), width) == RECOMMENDER


def test_a_wide_terminal_takes_an_entry_in_one_row() -> None:
    assert draw_text(recommender(), 140).count("┌") == 5
    assert sum("┌" in line for line in draw_text(recommender(), 140).splitlines()) == 2


@pytest.mark.parametrize("width", [80, 100, 160])
@pytest.mark.parametrize("graph", GRAPHS, ids=lambda g: g.name)
def test_lines_fit_and_every_name_appears(graph: Graph, width: int) -> None:
    text = draw_text(graph, width)
    assert max(map(len, text.splitlines())) <= width
    assert not [line for line in text.splitlines() if line != line.rstrip()]
    for name in (graph.name, *names(graph), *(e.name for e in graph.entries)):
        assert name in text
    assert text.count("┌") == text.count("┘") == len(graph.tasks)


@pytest.mark.parametrize("graph", GRAPHS, ids=lambda g: g.name)
def test_every_flow_and_entry_has_an_arrow(graph: Graph) -> None:
    text = draw_text(graph, 200).replace("▶▶▶", "▶")
    results = text.count("───▶ int") + text.count("───▶ Vector")
    assert text.count("▶") == len(graph.flows) + len(graph.entries) + results


def test_what_leads_back_is_told_below() -> None:
    text = draw_text(winding(), 80)
    assert "\n  winding: the loop at line 9 carries `node`" in text
    assert "\n  walk.1 ── by key node ──▶ walk.1 (back)  node, left, seen\n" in text
    assert "\n  walk.2 ── by key edges[left] ──▶ walk.1 (back)  node, left, seen\n" in text


def test_a_fan_out_has_three_heads_and_results_are_told() -> None:
    assert "───────────────────▶▶▶ │ at key follower" in draw_text(fan_out())
    assert "returns int" in draw_text(fan_out())
