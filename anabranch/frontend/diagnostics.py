"""Diagnostics: what is wrong with a program, where, why, and what to write instead."""

from __future__ import annotations

import linecache
from collections.abc import Iterable
from dataclasses import dataclass

from anabranch.frontend.codes import CODES, ERROR
from anabranch.graph.span import Span


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding of `ab.check`: `print` it to see file, line and a caret under the place.

    `code` is its number in the list of diagnostics, `message` says what is wrong and what was got, `span` where, `hint`
    the code to write.
    """

    code: str
    message: str
    span: Span
    hint: str

    @property
    def severity(self) -> str:
        """An "error", a "warning" or a "note"."""
        return CODES[self.code][0]

    def __str__(self) -> str:
        """File and line, the finding, the user's line with a caret, the hint."""
        lines = [f"{self.span}: {self.severity} {self.code}: {self.message}"]
        source = linecache.getline(self.span.file, self.span.line).rstrip("\n")
        if source.strip():
            last = self.span.end_column if self.span.end_line == self.span.line else len(source)
            width = max(1, min(last, len(source)) - self.span.column)
            lines += [f"    {source}", f"    {' ' * self.span.column}{'^' * width}"]
        if self.hint:
            lines.append(f"  = {self.hint}")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, object]:
        """For `--json`."""
        return {
            "code": self.code,
            "severity": self.severity,
            "message": self.message,
            "hint": self.hint,
            "file": self.span.file,
            "line": self.span.line,
            "column": self.span.column + 1,
            "end_line": self.span.end_line,
            "end_column": self.span.end_column + 1,
        }


class CompileError(Exception):
    """The program breaks a rule: it does not start. `diagnostics` holds every finding."""

    def __init__(self, name: str, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        errors = [d for d in self.diagnostics if d.severity == ERROR]
        count = "1 error" if len(errors) == 1 else f"{len(errors)} errors"
        super().__init__(f"{name} does not compile: {count}\n" + "\n".join(map(str, errors)))


class Report:
    """Collects the findings of one class. A place is told once per code, however often it is looked at."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, Span], Diagnostic] = {}

    def add(self, code: str, span: Span, message: str, hint: str) -> None:
        if code not in CODES:
            raise KeyError(code)
        self._found.setdefault((code, span), Diagnostic(code, message, span, hint))

    def __len__(self) -> int:
        return len(self._found)

    @property
    def failed(self) -> bool:
        return any(d.severity == ERROR for d in self._found.values())

    def sorted(self) -> list[Diagnostic]:
        return sorted(self._found.values(), key=lambda d: (d.span, d.code))

    def take(self) -> dict[tuple[str, Span], Diagnostic]:
        """A copy to go back to with `restore`: loops are read several times until their types are stable."""
        return dict(self._found)

    def restore(self, found: dict[tuple[str, Span], Diagnostic]) -> None:
        self._found = dict(found)
