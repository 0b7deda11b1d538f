"""What is asked of a program and of an app alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from anabranch.lang.columns import is_stream
from anabranch.lang.scalars import short
from anabranch.testing.feeding import Source


@dataclass(frozen=True, slots=True)
class Call:
    """One call of an entry."""

    entry: str
    args: tuple[Any, ...] = ()
    named: Mapping[str, Any] = field(default_factory=dict)

    def ask(self, target: Any, **options: Any) -> Any:
        """Of a program, or of an app."""
        return _entry(target, self.entry)(*self.args, **self.named, **options)

    def __str__(self) -> str:
        args = [*map(short, self.args), *(f"{name}={short(x)}" for name, x in self.named.items())]
        return f"{self.entry}({', '.join(args)})"


@dataclass(frozen=True, slots=True)
class Many:
    """One batch for an entry; a `Source` is given as a stream, one request for each of its batches."""

    entry: str
    data: Any
    named: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_stream(self) -> bool:
        return isinstance(self.data, Source) or is_stream(self.data)

    def ask(self, target: Any, **options: Any) -> Any:
        data = iter(self.data) if isinstance(self.data, Source) else self.data
        return _entry(target, self.entry).many(data, **self.named, **options)

    def __str__(self) -> str:
        return f"{self.entry}.many({short(self.data)})"


Request = Call | Many


def call(entry: str, /, *args: Any, **named: Any) -> Call:
    """A call of an entry, for `testing.check`; `("rate", 7, 42, 5.0)` is short for one without names."""
    return Call(entry, args, named)


def many(entry: str, data: Any) -> Many:
    """A batch for an entry, for `testing.check`. It is given to several runs, so it is no iterator."""
    if is_stream(data):
        raise TypeError(f"{short(data)} can be read once, and every run reads it: write many({entry!r}, Source([...]))")
    return Many(entry, data)


def request_of(given: Any) -> Request:
    if isinstance(given, Call | Many):
        return given
    if isinstance(given, tuple) and given and isinstance(given[0], str):
        return Call(given[0], given[1:])
    raise TypeError(
        f'expected a request, got {short(given)}: write ("rate", 7, 42, 5.0), testing.call("rate", 7, item=42) or '
        'testing.many("rate", {"user": [7], "item": [42]})'
    )


def _entry(target: Any, name: str) -> Any:
    """An app may have a method of that name: its entries are a mapping too."""
    entries = getattr(target, "entries", None)
    return entries[name] if isinstance(entries, Mapping) and name in entries else getattr(target, name)
