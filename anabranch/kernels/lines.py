"""The user's lines in emitted code.

A function is compiled under one file name. Lines of that file stay as they are, so that a traceback shows the user's
own text; a line of another file (a helper written elsewhere, inlined here) is moved by a multiple of STRIDE that
tells which.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TypeVar

from anabranch.graph.span import Span
from anabranch.kernels.source import Source

STRIDE = 1 << 20
Node = TypeVar("Node", bound=ast.expr | ast.stmt | ast.excepthandler)


@dataclass
class Lines:
    """`others`: the files other than their own in which emitted functions have code."""

    others: list[str] = field(default_factory=list)
    _sources: dict[str, Source] = field(default_factory=dict)

    def source(self, file: str) -> Source:
        if file not in self._sources:
            self._sources[file] = Source(file)
        return self._sources[file]

    def encode(self, own: str, file: str, line: int) -> int:
        """
        >>> lines = Lines()
        >>> lines.encode("a.py", "a.py", 7), lines.decode("a.py", lines.encode("a.py", "b.py", 7))
        (7, ('b.py', 7))
        """
        if file == own:
            return line
        if file not in self.others:
            self.others.append(file)
        return line + STRIDE * (1 + self.others.index(file))

    def decode(self, own: str, line: int) -> tuple[str, int]:
        number, line = divmod(line, STRIDE)
        return (self.others[number - 1] if number else own), line

    def locate(self, node: Node, own: str, span: Span) -> Node:
        moved = self.encode(own, span.file, span.line)
        node.lineno, node.col_offset = moved, span.column
        node.end_lineno, node.end_col_offset = moved + span.end_line - span.line, span.end_column
        return node
