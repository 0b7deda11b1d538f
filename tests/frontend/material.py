"""What there is in a program to change it with: its places, its expressions, names and attributes."""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import NamedTuple, TypeVar

from tests.frontend.snippets_declarations import TYPES
from tests.frontend.snippets_expressions import ATOMS
from tests.generator.choices import Choices

Function = ast.FunctionDef | ast.AsyncFunctionDef
Region = Function | ast.ClassDef
Node = TypeVar("Node", bound=ast.AST)
T = TypeVar("T")

HOLE = re.compile(r"\$(old|e|n|s|t)\b")
# Types and format specifications are no expressions that run; bases and decorators have mutations of their own.
LEFT_ALONE = ("annotation", "returns", "format_spec", "bases", "decorator_list")


class NothingToChange(Exception):
    """The region has nothing of the kind that a mutation changes."""


class Material:
    """A module as it is before one change. What is found is kept, so make a new one after the change."""

    def __init__(self, choices: Choices, tree: ast.Module) -> None:
        self.choices, self.tree = choices, tree
        self.programs = [n for n in tree.body if isinstance(n, ast.ClassDef) and _is_program(n)]

    def choose(self, options: Sequence[T]) -> T:
        if not options:
            raise NothingToChange
        return self.choices.choose(options)

    def region(self) -> Region:
        """Where to change something: mostly a method, sometimes the class or what stands beside it."""
        methods = [n for p in self.programs for n in p.body if isinstance(n, Function)]
        beside = [n for n in self.tree.body if isinstance(n, ast.FunctionDef | ast.ClassDef) and n not in self.programs]
        kinds: list[tuple[int, Sequence[Region]]] = [(82, methods), (12, self.programs), (6, beside)]
        return self.choose(self.choices.weighted([(w, r) for w, r in kinds if r] or [(1, [])]))

    def fill(self, template: str, old: str = "None") -> str:
        """`$old` is what is replaced, `$e` some expression, `$n` a name, `$s` an attribute of self, `$t` a type."""
        fillings: dict[str, Callable[[], str]] = {
            "old": lambda: old,
            "e": lambda: f"({ast.unparse(self.expression())})",
            "n": self.name,
            "s": self.attribute,
            "t": lambda: self.choose(TYPES),
        }
        return HOLE.sub(lambda hole: fillings[hole[1]](), template)

    def expression(self) -> ast.expr:
        """A copy of some expression of the program, or one of those that programs seldom have."""
        if self.choices.chance(25) or not self._expressions:
            return expression_of(self.choose(ATOMS))
        return copy.deepcopy(self.choose(self._expressions))

    def name(self) -> str:
        return self.choose(self._names)

    def attribute(self) -> str:
        """The text of an attribute of the program: a state, a setting, a method, or none of these."""
        return f"self.{self.choose(self._attributes if self.choices.chance(40) else self._states)}"

    @cached_property
    def _nodes(self) -> list[ast.AST]:
        """Of the programs."""
        return [n for p in self.programs for n in ast.walk(p)]

    @cached_property
    def _expressions(self) -> list[ast.expr]:
        parts = ast.FormattedValue | ast.Slice | ast.Starred
        return [n for n in self._nodes if isinstance(n, ast.expr) and _is_read(n) and not isinstance(n, parts)]

    @cached_property
    def _names(self) -> list[str]:
        found = {n.id if isinstance(n, ast.Name) else n.arg for n in self._nodes if isinstance(n, ast.Name | ast.arg)}
        return [*sorted(found), "fresh", "other"]

    @cached_property
    def _states(self) -> list[str]:
        members = [n.target for p in self.programs for n in p.body if isinstance(n, ast.AnnAssign)]
        return [*sorted({n.id for n in members if isinstance(n, ast.Name)}), "nothing"]

    @cached_property
    def _attributes(self) -> list[str]:
        methods = {n.name for p in self.programs for n in p.body if isinstance(n, ast.FunctionDef)}
        return sorted({n.attr for n in self._nodes if isinstance(n, ast.Attribute)} | methods | {*self._states})


class Slot(NamedTuple):
    """Where a node stands: its parent, the field, and the index if the field is a list."""

    parent: ast.AST
    field: str
    at: int | None
    node: ast.AST

    def put(self, node: ast.AST) -> None:
        if self.at is None:
            setattr(self.parent, self.field, node)
        else:
            getattr(self.parent, self.field)[self.at] = node


def slots(region: ast.AST, among: type[ast.expr] = ast.expr) -> list[Slot]:
    """Where expressions that are read stand. Types and the parts of f-strings are left alone."""
    return [
        Slot(parent, field, at, node)
        for parent in ast.walk(region)
        if not isinstance(parent, ast.JoinedStr)
        for field, value in ast.iter_fields(parent)
        if field not in LEFT_ALONE
        for at, node in (enumerate(value) if isinstance(value, list) else [(None, value)])
        if isinstance(node, among) and _is_read(node)
    ]


def blocks(region: ast.AST) -> list[list[ast.stmt]]:
    return [
        value
        for node in ast.walk(region)
        if isinstance(node, ast.mod | ast.stmt | ast.excepthandler | ast.match_case)
        for _, value in ast.iter_fields(node)
        if isinstance(value, list) and value and isinstance(value[0], ast.stmt)
    ]


def places(region: ast.AST, *kinds: type[ast.stmt]) -> list[tuple[list[ast.stmt], int]]:
    """Where statements of some kinds stand: the block and the index in it."""
    return [(block, i) for block in blocks(region) for i, stmt in enumerate(block) if isinstance(stmt, kinds)]


def nodes_of(region: ast.AST, *kinds: type[Node]) -> list[Node]:
    return [n for n in ast.walk(region) if isinstance(n, kinds)]


def expression_of(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def statements_of(text: str) -> list[ast.stmt]:
    return ast.parse(text).body


def _is_program(node: ast.ClassDef) -> bool:
    return any(ast.unparse(b) in ("ab.Program", "Program", "anabranch.Program") for b in node.bases)


def _is_read(node: ast.expr) -> bool:
    return isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
