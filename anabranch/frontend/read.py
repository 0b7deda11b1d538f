"""From a class to its source: find the text, parse it, and know where each node stands."""

from __future__ import annotations

import ast
import functools
import inspect
import linecache
from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import Any

from anabranch.graph.span import Span
from anabranch.lang.entry import EntryMethod

TRIES = 5  # to parse a text


@dataclass(frozen=True)
class Source:
    """The parsed text of one class."""

    file: str
    node: ast.ClassDef

    def methods(self) -> dict[str, ast.FunctionDef | ast.AsyncFunctionDef]:
        return {n.name: n for n in self.node.body if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)}


class NoSource(Exception):
    """The text of a class or function cannot be read; the message says why."""


def span_of(file: str, node: ast.AST) -> Span:
    line = getattr(node, "lineno", 1)
    column = getattr(node, "col_offset", 0)
    return Span(file, line, column, getattr(node, "end_lineno", line) or line, getattr(node, "end_col_offset", column))


def head_of(file: str, node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> Span:
    """The span of a `class` or `def` line only: a caret under a whole body helps nobody."""
    lines = linecache.getlines(file)
    line = lines[node.lineno - 1].rstrip() if node.lineno <= len(lines) else ""
    return Span(file, node.lineno, node.col_offset, node.lineno, max(len(line), node.col_offset + 1))


def class_span(cls: type) -> Span:
    source = read_class(cls)
    return head_of(source.file, source.node)


def read_class(cls: type) -> Source:
    functions = [f for f in map(plain_function, vars(cls).values()) if f is not None]
    own = [f for f in functions if f.__module__ == cls.__module__ and f.__qualname__.startswith(cls.__qualname__ + ".")]
    codes = [f.__code__ for f in own]
    file = codes[0].co_filename if codes else _class_file(cls)
    tree = parse_file(file)
    found = [node for name, node in _definitions(tree) if name == cls.__qualname__ and isinstance(node, ast.ClassDef)]
    found = [node for node in found if _holds(node, codes)] or found
    if not found:
        raise NoSource(f"{file} has no class {cls.__qualname__}: the file changed after it was imported")
    return Source(file, found[-1])


def read_function(function: FunctionType) -> tuple[str, ast.FunctionDef | ast.Lambda]:
    code = function.__code__
    tree = parse_file(code.co_filename)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            if node.name == code.co_name and code.co_firstlineno == first:
                return code.co_filename, node
        elif isinstance(node, ast.Lambda) and code.co_name == "<lambda>" and node.lineno == code.co_firstlineno:
            return code.co_filename, node
    raise NoSource(f"the source of {code.co_name} is not in {code.co_filename}")


def parse_file(file: str) -> ast.Module:
    text = "".join(linecache.getlines(file))
    if not text.strip():
        raise NoSource(f"{file} cannot be read")
    try:
        return _parse(text)
    except SyntaxError as error:
        raise NoSource(f"{file} cannot be parsed: {error.msg}") from None


@functools.lru_cache(maxsize=16)
def _parse(text: str) -> ast.Module:
    for left in reversed(range(TRIES)):
        try:
            return ast.parse(text)
        except SystemError:  # CPython counts the depth of its trees for all threads together, and may count wrongly
            if not left:
                raise
    raise AssertionError("there is a last try")


def plain_function(attribute: Any) -> FunctionType | None:
    """The function behind an attribute of a class body, if it is one."""
    if isinstance(attribute, EntryMethod):
        attribute = attribute.__wrapped__
    if isinstance(attribute, staticmethod | classmethod):
        attribute = attribute.__func__
    if not isinstance(attribute, FunctionType):
        return None
    # A decorator from another file must not lead there.
    function = inspect.unwrap(attribute)
    return function if isinstance(function, FunctionType) else attribute


def _class_file(cls: type) -> str:
    try:
        file = inspect.getsourcefile(cls)
    except TypeError:
        file = None
    if file is None:
        raise NoSource("it was typed into a console or made by exec")
    return file


def _definitions(tree: ast.AST, prefix: str = "") -> list[tuple[str, ast.AST]]:
    found: list[tuple[str, ast.AST]] = []
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef):
            found.append((prefix + node.name, node))
            found += _definitions(node, f"{prefix}{node.name}.")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found += _definitions(node, f"{prefix}{node.name}.<locals>.")
        else:
            found += _definitions(node, prefix)
    return found


def _holds(node: ast.ClassDef, codes: list[CodeType]) -> bool:
    last = node.end_lineno or node.lineno
    return all(node.lineno <= code.co_firstlineno <= last for code in codes)
