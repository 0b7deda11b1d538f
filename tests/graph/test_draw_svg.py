"""The laws of the layout, on hand-made and random graphs, and the parts of the picture."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations, pairwise
from xml.etree import ElementTree

import pytest

from anabranch.graph.draw_svg import draw_svg, lay_out
from anabranch.graph.labels import measure
from anabranch.graph.layout import RIM, Box, Wire, spread
from anabranch.graph.nodes import Graph
from tests.graph.test_draw_graphs import GRAPHS, fan_out, names, random_graph, recommender, winding

Rect = tuple[float, float, float, float]
every_graph = pytest.mark.parametrize("graph", GRAPHS, ids=lambda g: g.name)


def rect(box: Box) -> Rect:
    return box.x, box.y, box.x + box.w, box.y + box.h


def label_rects(wire: Wire) -> Iterator[Rect]:
    (x, y), (above, below) = wire.at, (measure(wire.above), measure(wire.below))
    if wire.above:
        yield x - above[0] / 2, y - 4 - above[1], x + above[0] / 2, y - 4
    if wire.below:
        yield x - below[0] / 2, y + 4, x + below[0] / 2, y + 4 + below[1]


def stretches(wire: Wire) -> Iterator[Rect]:
    """A curve stays inside the rectangle of its ends."""
    for (ax, ay), (bx, by) in pairwise(wire.points):
        yield min(ax, bx), min(ay, by), max(ax, bx), max(ay, by)


def overlap(a: Rect, b: Rect, by: float = 0.1) -> bool:
    return a[0] + by < b[2] and b[0] + by < a[2] and a[1] + by < b[3] and b[1] + by < a[3]


def on_border(point: tuple[float, float], box: Box) -> bool:
    (x, y), (left, top, right, bottom) = point, rect(box)
    slack = RIM if box.kind == "state" else 0.1
    inside = left - 0.1 <= x <= right + 0.1 and top - 0.1 <= y <= bottom + 0.1
    return inside and min(abs(x - left), abs(x - right), abs(y - top), abs(y - bottom)) <= slack


def texts(graph: Graph) -> list[str]:
    return ["".join(e.itertext()) for e in ElementTree.fromstring(draw_svg(graph)).iter() if e.tag.endswith("}text")]


@every_graph
def test_no_two_boxes_overlap(graph: Graph) -> None:
    boxes = lay_out(graph).boxes
    assert not [(a.name, b.name) for a, b in combinations(boxes, 2) if overlap(rect(a), rect(b))]


@every_graph
def test_no_label_overlaps_a_box_or_a_label(graph: Graph) -> None:
    picture = lay_out(graph)
    written = [r for wire in picture.wires for r in label_rects(wire)]
    assert not [pair for pair in combinations(written, 2) if overlap(*pair)]
    assert not [(r, b.name) for r in written for b in picture.boxes if overlap(r, rect(b))]


@every_graph
def test_no_flow_crosses_a_label_of_one_that_leads_ahead(graph: Graph) -> None:
    flows = [w for w in lay_out(graph).wires if w.kind not in ("read", "write", "both")]
    for wire in flows:
        others = [r for w in flows if w is not wire and not w.back for r in label_rects(w)]
        assert not [r for s in stretches(wire) for r in others if overlap(s, r, by=-0.1)], wire.title


@every_graph
def test_wires_end_on_their_boxes_and_cross_no_box(graph: Graph) -> None:
    picture = lay_out(graph)
    for wire in picture.wires:
        assert on_border(wire.points[0], wire.chain[0]), wire.title
        assert on_border(wire.points[-1], wire.chain[-1]), wire.title
        for stretch in stretches(wire):
            hit = [b for b in picture.boxes if overlap(stretch, rect(b), by=0 if b not in wire.chain else RIM + 1)]
            assert not hit, (wire.title, hit)


@every_graph
def test_text_fits_its_box_and_everything_the_picture(graph: Graph) -> None:
    picture = lay_out(graph)
    for box in picture.boxes:
        w, h = measure(box.lines)
        assert w + 20 <= box.w and h <= box.h
    rects = [*map(rect, picture.boxes), *(r for w in picture.wires for r in (*stretches(w), *label_rects(w)))]
    for left, top, right, bottom in rects:
        assert left >= 0 and top >= 0 and right <= picture.width and bottom <= picture.height


@every_graph
def test_every_access_is_drawn_once(graph: Graph) -> None:
    drawn = [(w.chain[0].name, w.chain[1].name) for w in lay_out(graph).wires if w.kind in ("read", "write", "both")]
    assert sorted(drawn) == sorted((task.name, state) for task in graph.tasks for state in task.states)


@every_graph
def test_the_picture_is_xml_with_every_name(graph: Graph) -> None:
    shown = texts(graph)
    for name in (graph.name, *names(graph), *(e.name for e in graph.entries)):
        assert name in shown


def test_the_same_graph_gives_the_same_picture() -> None:
    assert draw_svg(recommender()) == draw_svg(recommender())
    assert draw_svg(random_graph(5)) == draw_svg(random_graph(5))


def test_the_recommender_has_its_two_states_between_its_two_lanes() -> None:
    picture = lay_out(recommender())
    states = [b for b in picture.boxes if b.kind == "state"]
    (first, height), (second, _) = picture.lanes
    assert [b.name for b in states] == ["ratings", "together"]
    assert all(first + height < b.y and b.y + b.h < second for b in states)
    straight = [w for w in picture.wires if len({x for x, _ in w.points}) == 1 or len({y for _, y in w.points}) == 1]
    assert straight == picture.wires


def test_a_notebook_may_hold_several_pictures() -> None:
    svg = draw_svg(fan_out())
    assert ' id="' not in svg and "url(#" not in svg
    style = svg.partition("<style>")[2].partition("</style>")[0].partition("{")[2]
    assert all(rule.startswith(".anabranch .") for rule in style.rstrip("}").split("}"))


def test_a_state_used_by_distant_lanes_is_drawn_again() -> None:
    states = [(b.name, b.again) for b in lay_out(fan_out()).boxes if b.kind == "state"]
    assert states.count(("settings", False)) == states.count(("settings", True)) == 1
    assert ("unused", False) in states


def test_tooltips_say_types_and_why_an_entry_winds() -> None:
    titles = [e.text for e in ElementTree.fromstring(draw_svg(winding())).iter() if e.tag.endswith("}title")]
    assert (
        "walk(start: int, steps: int) -> int\n"
        "winding: the loop at line 9 carries `node`, read from <edges>, to the next key\nrecommender.py:7"
    ) in titles
    assert (
        "walk.2 to walk.3: by key home\ncarries node: int, left: int, seen: dict[int, float]\nrecommender.py:13"
    ) in titles
    assert "edges: Partitioned[Table]\nkey int, value float\nrecommender.py:4" in titles


def test_control_characters_do_not_break_the_picture() -> None:
    graph = replace(recommender(), name="bad\x00]]>name")
    assert "bad�]]>name" in texts(graph)


def test_spread_keeps_order_and_room() -> None:
    assert spread([0, 10, 20], [2] * 3, [2] * 3) == [0, 10, 20]
    assert spread([5, 5, 5], [2] * 3, [2] * 3, 1) == [0, 5, 10]
    assert spread([], [], []) == []
