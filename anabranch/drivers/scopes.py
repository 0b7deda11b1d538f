"""Classes that are defined inside a function, on their way to another process: with what they use of its names.

The text of the file is enough to define them again: all but the definitions that are needed is left out of the
function, so that none of its other statements runs, and lines and names stay what they were.
"""

from __future__ import annotations

import ast
import re
from collections import ChainMap
from collections.abc import Iterable, Mapping
from types import FunctionType, ModuleType
from typing import Any

from anabranch.lang.errors import ProgramError

LOCALS = "<locals>"
_WORD = re.compile(r"[A-Za-z_]\w*")


def definitions(tree: ast.AST, prefix: str = "") -> Iterable[tuple[str, ast.AST]]:
    """The classes and functions of a text, by qualified name."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef):
            yield prefix + node.name, node
            yield from definitions(node, f"{prefix}{node.name}.")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield prefix + node.name, node
            yield from definitions(node, f"{prefix}{node.name}.{LOCALS}.")
        else:
            yield from definitions(node, prefix)


class Scope:
    """What a local class needs: definitions of the same function, imports, and values, by name."""

    def __init__(self, cls: type, text: str) -> None:
        self._tree = ast.parse(text)
        self._outer = cls.__qualname__.rpartition(".")[0] + "."
        frames = getattr(cls, "__anabranch_frames__", [])
        self._names = ChainMap(*[dict(frame.f_locals) for frame in frames if frame.f_locals is not frame.f_globals])
        self.definitions: dict[str, int] = {}  # the line of each
        self.imports: dict[str, tuple[str, str]] = {}
        self.values: dict[str, Any] = {}
        self.add(cls)

    def add(self, found: type | FunctionType) -> None:
        name = found.__qualname__
        if not name.startswith(self._outer) or LOCALS in name[len(self._outer) :]:
            raise ProgramError(
                f"{self._outer}{found.__name__} uses {name}, which is defined in another function: a worker in another "
                f"process cannot find it; define both where a module begins, or in one function"
            )
        if name in self.definitions:
            return
        node = find(self._tree, name, _lines(found))
        if node is None:
            raise ProgramError(f"the source of {name} cannot be read; define it in a file, where a module begins")
        self.definitions[name] = node.lineno
        for used in _used(node):
            if used in self._names and used not in self.imports and used not in self.values:
                self._use(used, self._names[used])

    def _use(self, name: str, found: Any) -> None:
        local = isinstance(found, type | FunctionType) and LOCALS in found.__qualname__
        if local:
            self.add(found)
        elif isinstance(found, ModuleType):
            self.imports[name] = found.__name__, ""
        elif isinstance(found, type | FunctionType):
            self.imports[name] = found.__module__, found.__qualname__
        else:
            self.values[name] = found


def _lines(found: type | FunctionType) -> list[int]:
    """Lines inside a definition: several may have one name."""
    if isinstance(found, FunctionType):
        return [found.__code__.co_firstlineno]
    functions = [getattr(f, "__wrapped__", f) for f in vars(found).values()]
    own = [f for f in functions if isinstance(f, FunctionType) and f.__qualname__.startswith(found.__qualname__ + ".")]
    return [f.__code__.co_firstlineno for f in own if not f.__code__.co_filename.startswith("<")]


def find(tree: ast.AST, qualname: str, lines: Iterable[int]) -> Any:
    """The definition of this name that holds all lines; the last one of its name if they are nowhere."""
    found: list[Any] = [node for name, node in definitions(tree) if name == qualname]
    holding = [node for node in found if all(_first(node) <= n <= node.end_lineno for n in lines)]
    return next(iter(holding or found[-1:]), None)


def _first(node: Any) -> int:
    return int(min([node.lineno, *(d.lineno for d in node.decorator_list)]))


def _used(node: ast.AST) -> set[str]:
    """Names in a definition; those in text too, as annotations may be."""
    found: set[str] = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Name):
            found.add(part.id)
        elif isinstance(part, ast.Constant) and isinstance(part.value, str) and len(part.value) < 100:
            found.update(_WORD.findall(part.value))
    return found


def define(
    text: str, file: str, module: ModuleType, qualname: str, wanted: Mapping[str, int], given: Mapping[str, Any]
) -> dict[str, type]:
    """Define all that is wanted, by qualified name, where `given` are the other names of the function."""
    tree = ast.parse(text)
    nodes = [find(tree, name, [line]) for name, line in sorted(wanted.items(), key=lambda item: item[1])]
    *path, _ = qualname.split(".")
    innermost = True
    names = ast.Dict([ast.Constant(n.name) for n in nodes], [ast.Name(n.name, ast.Load()) for n in nodes])
    body: list[ast.stmt] = [*nodes, ast.Return(names)]
    while path:
        part = path.pop()
        if part == LOCALS:
            name = path.pop()
            arguments = ast.arguments([], [ast.arg(n) for n in given] if innermost else [], None, [], [], None, [])
            outer: ast.stmt = ast.FunctionDef(name, arguments, body, [])
            innermost = False
            after = ast.Return(ast.Name(name, ast.Load()))
        else:
            outer = ast.ClassDef(part, [], [], body, [])
            after = ast.Return(ast.Name(part, ast.Load()))
        inside = bool(path) and path[-1] == LOCALS
        body = [outer, after] if inside else [outer]
    whole = ast.fix_missing_locations(ast.Module(body, []))
    space: dict[str, Any] = {}
    exec(compile(whole, file, "exec", dont_inherit=True, flags=_future(tree)), vars(module), space)
    found: Any = None
    parts = qualname.split(".")[:-1]
    for i, part in enumerate(parts):
        if part == LOCALS:
            found = found(**given) if i == len(parts) - 1 else found()
        elif i and parts[i - 1] == LOCALS:
            pass  # it was returned
        else:
            found = space[part] if found is None else getattr(found, part)
    outside = qualname.rpartition(".")[0]
    return {f"{outside}.{name}": cls for name, cls in found.items()}


def _future(tree: ast.Module) -> int:
    import __future__

    flags = 0
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            for alias in node.names:
                flags |= getattr(__future__, alias.name).compiler_flag
    return flags
