"""Diagnostics: what is wrong with a program, where, why, and what to write instead."""

from __future__ import annotations

import html
import linecache
from collections.abc import Iterable
from dataclasses import dataclass

from anabranch.frontend.codes import CODES, ERROR, WARNING
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


class Diagnostics(list[Diagnostic]):
    """What `ab.check` found: a list that prints as `anabranch check` does, and shows itself in notebooks."""

    def __str__(self) -> str:
        return "\n".join(map(str, self)) if self else super().__repr__()

    def _repr_html_(self) -> str:
        if not self:
            return "<p>no diagnostics</p>"
        return "".join(map(_as_html, self))


def _as_html(found: Diagnostic) -> str:
    colour = {ERROR: "#b00020", WARNING: "#9a6700"}.get(found.severity, "#57606a")
    first, _, rest = str(found).partition("\n")
    return (
        f'<pre style="border-left: 4px solid {colour}; padding-left: 0.8em">'
        f"<b>{html.escape(first)}</b>\n{html.escape(rest)}</pre>"
    )


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
        self._consequences: set[tuple[str, Span]] = set()
        self._subjects: dict[tuple[str, Span], str] = {}

    def add(
        self, code: str, span: Span, message: str, hint: str, *, subject: str = "", consequence: bool = False
    ) -> None:
        """`subject` is what it is about: of that the same is told once, at its first place. A `consequence` may follow
        from another error, and is told only where there is no other."""
        if code not in CODES:
            raise KeyError(code)
        key = (code, span)
        if subject and any(k[0] == code and k != key and self._subjects.get(k) == subject for k in self._found):
            return
        self._found.setdefault(key, Diagnostic(code, message, span, hint))
        self._subjects[key] = subject
        if consequence:
            self._consequences.add(key)

    def __len__(self) -> int:
        return len(self._found)

    @property
    def failed(self) -> bool:
        return any(d.severity == ERROR for d in self._found.values())

    def causes(self) -> set[tuple[str, Span]]:
        """The errors that follow from no other."""
        return {k for k, d in self._found.items() if d.severity == ERROR and k not in self._consequences}

    def errors_in(self, span: Span) -> bool:
        """Is something wrong with what stands there?"""
        return any(d.severity == ERROR and _within(d.span, span) for d in self._found.values())

    def sorted(self) -> Diagnostics:
        hidden = self._consequences if self.causes() else set()
        told = (d for k, d in self._found.items() if k not in hidden)
        return Diagnostics(sorted(told, key=lambda d: (d.span, d.code)))

    def take(self) -> dict[tuple[str, Span], Diagnostic]:
        """A copy to go back to with `restore`: loops are read several times until their types are stable."""
        return dict(self._found)

    def restore(self, found: dict[tuple[str, Span], Diagnostic]) -> None:
        self._found = dict(found)


def _within(inner: Span, outer: Span) -> bool:
    starts = (outer.line, outer.column) <= (inner.line, inner.column)
    ends = (inner.end_line, inner.end_column) <= (outer.end_line, outer.end_column)
    return inner.file == outer.file and starts and ends
