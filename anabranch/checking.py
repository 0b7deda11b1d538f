"""`check`: all there is to say about a program, and on demand which of its entries would run as Python."""

from __future__ import annotations

from typing import Any

from anabranch.compiler import examine
from anabranch.frontend.diagnostics import Diagnostics, Report
from anabranch.graph.nodes import Graph
from anabranch.graph.span import Span
from anabranch.lang.similar import asks_back

OF_STATE = (
    "to have it compiled, keep this in a Table, Vector, Matrix or Value of numbers, text, tuples, records or lists"
)
OF_CODE = "to have it compiled, write this with simpler means, or move it to an entry of its own"


@asks_back
def check(program: Any, *, tier: str | None = None) -> Diagnostics:
    """Everything there is to say about a program: errors, warnings and notes, in the order of the file.

    With `tier="compiled"` there is a note for each entry that cannot be compiled to machine code, at the line that is
    the reason.
    """
    if tier not in (None, "compiled"):
        raise ValueError(f"tier is 'compiled' or None, got {tier!r}")
    graph, report = examine(program)
    if graph is not None and tier is not None:
        _add_fallbacks(graph, report)
    return report.sorted()


def _add_fallbacks(graph: Graph, report: Report) -> None:
    from anabranch.kernels.native.code import explain_tiers  # loads numba, which nobody else here needs
    from anabranch.kernels.native.shapes import shapes

    of_states = {shape.why for shape in shapes(graph).values()}
    entries: dict[tuple[Span, str], list[str]] = {}  # a helper can be the reason for several
    for name, fallback in explain_tiers(graph).items():
        for reason in fallback.reasons if fallback is not None else ():
            entries.setdefault((reason.span or graph.entry(name).span, reason.why), []).append(f"'{name}'")
    for (span, why), names in entries.items():
        what = f"{names[0]} runs" if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]} run"
        hint = OF_STATE if why in of_states else OF_CODE
        report.add("AB602", span, f"{what} as Python: {why}", f"it runs right, but slower: {hint}")
