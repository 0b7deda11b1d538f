"""What the translator knows of the class it reads: shared by the lowering of all its methods."""

from __future__ import annotations

import ast
import builtins
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import FunctionType
from typing import Any

from anabranch.frontend.diagnostics import Report
from anabranch.frontend.read import Source
from anabranch.graph.code import Function
from anabranch.graph.nodes import State
from anabranch.lang.spec import ProgramSpec
from anabranch.lang.types import Type

Definition = ast.FunctionDef | ast.AsyncFunctionDef
MISSING = object()


@dataclass
class Unit:
    """One program on its way to a graph."""

    spec: ProgramSpec
    source: Source
    report: Report
    states: Mapping[str, State]
    config: dict[str, Type]
    methods: Mapping[str, Definition]
    broken: frozenset[str] = frozenset()  # fields whose declaration was refused
    outside: dict[str, tuple[str, str]] = field(default_factory=dict)  # configuration that is no value: code and reason
    functions: dict[tuple[Any, ...], Function] = field(default_factory=dict)
    in_progress: list[Any] = field(default_factory=list)
    _touches: dict[str, bool] = field(default_factory=dict)

    def touches_state(self, method: str, path: tuple[str, ...] = ()) -> bool:
        """Does this method, or one it calls, reach state?"""
        if method in path:
            return False
        if method not in self._touches:
            node = self.methods[method]
            name = self_name(node)
            direct = any(self.reaches(n, name, (*path, method)) for n in ast.walk(node))
            if path:
                return direct
            self._touches[method] = direct
        return self._touches[method]

    def reaches(self, node: ast.AST, self_name: str | None, path: tuple[str, ...] = ()) -> bool:
        """Is this very node a reference to a state, or to a method that reaches one?"""
        if not (isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == self_name):
            return False
        if node.attr in self.states:
            return True
        return node.attr in self.methods and node.attr != "__init__" and self.touches_state(node.attr, path)


@dataclass(frozen=True)
class Names:
    """How the names of one function are looked up: closure, globals, builtins."""

    function: FunctionType | None
    namespace: Mapping[str, Any]

    def find(self, name: str) -> Any:
        function = self.function
        if function is not None:
            for free, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
                if free == name:
                    try:
                        return cell.cell_contents
                    except ValueError:
                        return MISSING
            if name in function.__globals__:
                return function.__globals__[name]
        if name in self.namespace:
            return self.namespace[name]
        return getattr(builtins, name, MISSING)

    def known(self) -> list[str]:
        function = self.function
        own = [*function.__code__.co_freevars, *function.__globals__] if function is not None else []
        return [*own, *self.namespace, *dir(builtins)]

    def is_closure(self, name: str) -> bool:
        return self.function is not None and name in self.function.__code__.co_freevars


def self_name(node: Definition) -> str | None:
    parameters = [*node.args.posonlyargs, *node.args.args]
    return parameters[0].arg if parameters else None


_NAMED = ast.ExceptHandler | ast.MatchAs | ast.MatchStar | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def assigned_names(nodes: list[ast.stmt]) -> Iterator[str]:
    """Names that the statements bind: Python makes them local to the whole function."""
    for node in nodes:
        for inner in ast.walk(node):
            if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store | ast.Del):
                yield inner.id
            elif isinstance(inner, ast.alias):
                yield (inner.asname or inner.name).partition(".")[0]
            elif isinstance(inner, _NAMED) and inner.name:
                yield inner.name


def is_users_own(function: FunctionType) -> bool:
    """Is it from the user's sources, and not from the standard library or an installed package?"""
    file = Path(function.__code__.co_filename)
    if function.__module__.partition(".")[0] in sys.stdlib_module_names:
        return False
    paths = sysconfig.get_paths()
    installed = [Path(paths[k]) for k in ("purelib", "platlib", "stdlib", "platstdlib")]
    return not any(file.is_relative_to(p) for p in installed)


def global_changes(tree: ast.Module, name: str) -> bool:
    """Is a module-level name bound more than once, or from inside a function?"""
    bound = 0
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
            bound += node.name == name
            for inner in ast.walk(node):
                if isinstance(inner, ast.Global) and name in inner.names:
                    return True
        elif isinstance(node, ast.AugAssign):
            bound += 2 * (isinstance(node.target, ast.Name) and node.target.id == name)
        else:
            bound += sum(found == name for found in assigned_names([node]))
    return bound > 1
