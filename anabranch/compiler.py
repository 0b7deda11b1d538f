"""Class to graph: `compile`, and `examine` for those who want to know what was found on the way."""

from __future__ import annotations

from typing import Any

from anabranch.frontend.diagnostics import CompileError, Report
from anabranch.frontend.read import class_span
from anabranch.frontend.translate import translate
from anabranch.graph.nodes import Graph
from anabranch.lang import Program
from anabranch.passes import run_passes


def compile(program: Any) -> Graph:
    """The graph of a program class (or of an instance of one).

    Raises `CompileError` with every broken rule, each at the user's line, if there is any.
    """
    graph, report = examine(program)
    if graph is None:
        raise CompileError(_class_of(program).__name__, report.sorted())
    return graph


def examine(program: Any) -> tuple[Graph | None, Report]:
    """The graph, None where the program breaks a rule, and all that was found."""
    report = Report()
    try:
        graph = translate(_class_of(program), report)
        if graph is None:
            return None, report
        graph = run_passes(graph)
    except RecursionError:
        span = class_span(_class_of(program))
        report.add(
            "AB501", span, "the program nests too deeply", "split the deepest expression into several statements"
        )
        return None, report
    for entry in graph.entries:
        if entry.winding is not None:
            report.add(
                "AB601",
                entry.span,
                f"'{entry.name}' is winding: {entry.winding}",
                "it runs right, but row by row: to make it straight, finish with one place before going to the next",
            )
    return graph, report


def _class_of(program: Any) -> Any:
    return type(program) if isinstance(program, Program) else program
