"""Entries: the public methods of a program, as users call them.

Laws: a request (a call, or one batch of `many`) takes effect whole or not at all; its inputs are checked before any
row runs; an exception of user code arrives as itself with one note that names entry, row and the user's line; an
entry called by an entry is part of the outer request.
"""

from __future__ import annotations

import inspect
import linecache
from collections.abc import Callable, Iterable
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from anabranch.lang.binding import Refused, bind_call
from anabranch.lang.columns import is_stream, read_batch
from anabranch.lang.scalars import short, show
from anabranch.lang.spec import EntrySpec, describe
from anabranch.lang.streams import rows_at_once
from anabranch.lang.types import NONE
from anabranch.lang.values import coercer

if TYPE_CHECKING:
    from anabranch.lang.program import Program


class EntryMethod:
    """What stands in the class in place of a public method."""

    __anabranch_entry__ = True

    def __init__(self, function: Callable[..., Any], owner: type, name: str) -> None:
        self.__wrapped__ = function
        self.__name__, self.__qualname__ = name, function.__qualname__
        self.__doc__, self.__module__ = function.__doc__, function.__module__
        self.__anabranch_owner__ = owner

    def __get__(self, program: Program | None, owner: type | None = None) -> Any:
        return self if program is None else Entry(program, self)

    def __call__(self, program: Program, *args: Any, **kwargs: Any) -> Any:
        return Entry(program, self)(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<entry {self.__qualname__}>"


class Entry:
    """An entry of one program, to be called with one row or fed `many`."""

    __slots__ = ("_method", "_program")

    def __init__(self, program: Program, method: EntryMethod) -> None:
        self._program, self._method = program, method

    @property
    def name(self) -> str:
        return self._method.__name__

    @property
    def spec(self) -> EntrySpec:
        return describe(self._method.__anabranch_owner__).entries[self._method.__name__]

    @property
    def __name__(self) -> str:
        return self._method.__name__

    @property
    def __doc__(self) -> str | None:  # type: ignore[override]
        return self._method.__doc__

    @property
    def __wrapped__(self) -> Callable[..., Any]:
        return self._method.__wrapped__.__get__(self._program)  # type: ignore[no-any-return]

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self.__wrapped__)

    def __get__(self, instance: object, owner: type | None = None) -> Entry:
        """What has this counts as a routine: `help` then shows signature and docstring of the entry."""
        return self

    def __repr__(self) -> str:
        return f"<entry {self.name} of {self._program!r}>"

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        spec = self.spec
        if self._program.__anabranch_journal__.active:
            return self._call_inner(spec, args, kwargs)
        try:
            row = bind_call(spec, args, kwargs)
        except Refused as error:
            raise error.as_input(spec.name, 0) from None
        return self._request(spec, [row])[0]

    def __getattr__(self, name: str) -> Any:
        raise not_yet_on_entries(self.name, name)

    def many(self, data: Any, *, on_error: str = "raise") -> Any:
        """Run a batch as one request: a dict of columns, Arrow data or a list of rows; results come in kind.

        An iterator of batches is one request each; it is read to its end and gives a list of their results.
        """
        refuse_on_error(on_error)
        data = rows_at_once(self.spec, data)
        if is_stream(data):
            results = each_batch(self.many, data)
            return None if self.spec.result == NONE else results
        spec = self.spec
        batch = read_batch(spec, data)
        return batch.results(self._request(spec, batch.rows))

    def _call_inner(self, spec: EntrySpec, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        try:
            row = bind_call(spec, args, kwargs)
        except Refused as error:
            raise error.plain(spec.name) from None
        return checked_result(spec, spec.function(self._program, *row))

    def _request(self, spec: EntrySpec, rows: Iterable[tuple[Any, ...]]) -> list[Any]:
        program, function = self._program, spec.function
        journal = program.__anabranch_journal__
        if journal.active:
            return [checked_result(spec, function(program, *row)) for row in rows]
        results: list[Any] = []
        journal.active = True
        try:
            for row in rows:
                results.append(checked_result(spec, function(program, *row)))
        except BaseException as error:
            journal.rollback()
            add_note(error, request_note(spec.name, len(results), *user_line(program, spec, error)))
            raise
        finally:
            journal.active = False
            journal.clear()
        return results


def checked_result(spec: EntrySpec, result: Any) -> Any:
    assert spec.result is not None
    if spec.result == NONE:
        if result is not None:
            raise TypeError(f"{spec.name}: expected no result, got {show(result)}; it is declared -> None")
        return None
    try:
        return coercer(spec.result)(result)
    except (TypeError, ValueError, OverflowError) as error:
        raise type(error)(f"{spec.name}: result: {error}") from None


def not_yet_on_entries(entry: str, name: str) -> AttributeError:
    if name in ("submit", "aio"):
        return AttributeError(f"{entry}.{name} is reserved: not yet available; call {entry}(...) or {entry}.many(...)")
    return AttributeError(f"the entry {entry} has no attribute {name!r}; it has many")


def refuse_on_error(on_error: str) -> None:
    if type(on_error) is not str or on_error != "raise":
        raise NotImplementedError(f"on_error={short(on_error)} is reserved: not yet available; leave it out")


def each_batch(many: Callable[[Any], Any], batches: Iterable[Any]) -> list[Any]:
    """The results of an iterator of batches, one request each; what cuts it short says how many took effect."""
    results: list[Any] = []
    try:
        for batch in batches:
            results.append(many(batch))
    except BaseException as error:
        before = f"{len(results)} before it took effect" if results else "nothing before it"
        add_note(error, f"in batch {len(results)} of an iterator: {before}")
        raise
    return results


def add_note(error: BaseException, note: str) -> None:
    """As `error.add_note(note)`, also for an exception that is a frozen dataclass."""
    object.__setattr__(error, "__notes__", [*getattr(error, "__notes__", []), note])


def request_note(entry: str, row: int, file: str, line: int) -> str:
    """What every engine adds to an exception of user code."""
    text = linecache.getline(file, line).strip()
    return f"in entry {entry!r}, row {row}, at {PurePath(file).name}:{line}{text and f': {text}'}"


def user_line(
    program: Program, spec: EntrySpec, error: BaseException, otherwise: tuple[str, int] | None = None
) -> tuple[str, int]:
    """The innermost line of the traceback in a file of the program; else another, or the first line of the entry."""
    described = describe(type(program))
    functions = [spec.function, *described.helpers.values(), *(e.function for e in described.entries.values())]
    files = {f.__code__.co_filename for f in functions if hasattr(f, "__code__")}
    code = spec.function.__code__
    place = otherwise or (code.co_filename, code.co_firstlineno)
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename in files:
            place = trace.tb_frame.f_code.co_filename, trace.tb_lineno
        trace = trace.tb_next
    return place
