"""The text of a kernel while it is written."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class Source:
    """Lines of Python with their indentation, and names that are new."""

    def __init__(self, depth: int = 0) -> None:
        self.lines: list[str] = []
        self._depth = depth
        self._names = 0

    def line(self, text: str) -> None:
        self.lines.append("    " * self._depth + text)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """What is written inside stands below `head`."""
        self.line(head)
        start = len(self.lines)
        self._depth += 1
        try:
            yield
            if len(self.lines) == start:
                self.line("pass")
        finally:
            self._depth -= 1

    @contextmanager
    def aside(self) -> Iterator[list[str]]:
        """Collect what is written inside, to be put in place later by `insert`."""
        outer, self.lines = self.lines, []
        try:
            yield self.lines
        finally:
            self.lines = outer

    def insert(self, lines: list[str]) -> None:
        """Lines that were written aside at the depth at hand."""
        self.lines += lines

    def name(self, hint: str = "t") -> str:
        self._names += 1
        return f"{hint}{self._names}"

    def let(self, text: str, hint: str = "t") -> str:
        """A name for the value of an expression."""
        if text.isidentifier() and text not in ("True", "False"):
            return text
        name = self.name(hint)
        self.line(f"{name} = {text}")
        return name

    def fresh(self, text: str, hint: str = "t") -> str:
        """A new name for the value of an expression, also where that is a name already."""
        name = self.name(hint)
        self.line(f"{name} = {text}")
        return name

    def __str__(self) -> str:
        return "\n".join(self.lines) + "\n"
