"""The pieces of an entry while it is cut: tasks and flows that are not finished yet."""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.frontend.cells import Cell
from anabranch.frontend.numbers import Place
from anabranch.graph.code import (
    Body,
    Expr,
)
from anabranch.graph.nodes import Dispatch, Variable
from anabranch.graph.span import Span


@dataclass(eq=False)
class Draft:
    """A task being cut."""

    number: int
    cell: Cell | None
    place: Place
    key: Expr | None
    inputs: dict[str, Variable]
    span: Span
    body: Body = ()


@dataclass(eq=False)
class Edge:
    """A flow being cut."""

    source: Draft
    target: Draft
    dispatch: Dispatch
    key: Expr | None
    carries: tuple[Variable, ...]
    span: Span
    each: bool = False
    over: str | None = None
    collects: str | None = None

    def same(self, other: Edge) -> bool:
        mine = (self.source, self.target, self.dispatch, self.key, self.each, self.over, self.collects)
        return mine == (other.source, other.target, other.dispatch, other.key, other.each, other.over, other.collects)


@dataclass
class Cut:
    """An entry in pieces."""

    start: Draft
    dispatch: Dispatch
    key: Expr | None
    tasks: list[Draft]
    edges: list[Edge]
    jumps_in_try: list[Span]  # break and continue that cannot be followed to another task
    lazy: list[Span]  # loops over what is evaluated step by step, that are left in the middle
