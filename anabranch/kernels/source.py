"""What spans do not tell of the user's text, and a traceback shows: on which line of several an error is.

Python blames a method call on the line of the method's name, and an argument that an entry refuses on the line of the
call. The span of an assigned value is that of its assignment.
"""

from __future__ import annotations

import ast
import linecache
from dataclasses import replace

from anabranch.graph.span import Span

_Place = tuple[int, int, int, int]


class Source:
    """The nodes of a file by where they stand. A file that cannot be read has none, and every span is as good as is."""

    def __init__(self, file: str) -> None:
        self._nodes: dict[_Place, ast.AST] = {}
        self._parents: dict[ast.AST, ast.AST] = {}
        try:
            tree = ast.parse("".join(linecache.getlines(file)))
        except SyntaxError:
            return
        for node in ast.walk(tree):  # outer before inner: an expression wins over the statement that it is
            if isinstance(node, ast.expr | ast.stmt):
                self._nodes[_place(node)] = node
            self._parents.update((child, node) for child in ast.iter_child_nodes(node))

    def value(self, span: Span) -> Span:
        """The span of the value that is assigned, if that of an assignment is given."""
        node = self._nodes.get((span.line, span.column, span.end_line, span.end_column))
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            return _at(span, node.value)
        return span

    def method(self, span: Span) -> Span:
        """The span of `x.name`, given that of `x.name(...)`."""
        node = self._nodes.get((span.line, span.column, span.end_line, span.end_column))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            return _at(span, node.func)
        return replace(span, end_line=span.line, end_column=span.column)

    def call(self, span: Span, name: str) -> Span:
        """The span of the call of the entry `name` among whose arguments this stands."""
        node = self._nodes.get((span.line, span.column, span.end_line, span.end_column))
        while isinstance(node, ast.expr):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == name:
                return _at(span, node)
            node = self._parents.get(node)
            if isinstance(node, ast.keyword):
                node = self._parents.get(node)
        return span


def _place(node: ast.expr | ast.stmt) -> _Place:
    line, column = node.end_lineno, node.end_col_offset
    return node.lineno, node.col_offset, line or node.lineno, node.col_offset if column is None else column


def _at(span: Span, node: ast.expr | ast.stmt) -> Span:
    return Span(span.file, *_place(node))
