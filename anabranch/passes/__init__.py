"""Graph to graph, one file each. `PASSES` is the order; `run_passes` verifies the graph after each."""

from collections.abc import Callable

from anabranch.graph.nodes import Graph
from anabranch.graph.verify import verify
from anabranch.passes.classify import classify

PASSES: tuple[Callable[[Graph], Graph], ...] = (
    classify,  # straight or winding: engines choose how to run an entry by it
)


def run_passes(graph: Graph) -> Graph:
    verify(graph)
    for each in PASSES:
        graph = each(graph)
        verify(graph)
    return graph
