"""One call of an entry from outside, as a row."""

from __future__ import annotations

from typing import Any

from anabranch.lang.arguments import as_text
from anabranch.lang.binding import Refused, bind_call
from anabranch.lang.columns import is_stream
from anabranch.lang.spec import EntrySpec
from anabranch.lang.values import coercer


def as_id(id: Any) -> str:
    """The name of a request: it is written to disk with what the request did, and sent to other processes."""
    if type(id) is str and not id:
        raise TypeError("id= is a text that names the request, got '': write id=str(uuid.uuid4())")
    return as_text("id", id, "a text that names the request", "id=str(uuid.uuid4())")


def as_id_of_one(id: Any, data: Any) -> str:
    """For a batch."""
    if is_stream(data):
        raise TypeError("id= names one request, and an iterator of batches is several: give each its own")
    return as_id(id)


class Calling:
    """Makes rows of the arguments of an entry, and finds the `id=` that names a request."""

    def __init__(self, spec: EntrySpec) -> None:
        self._spec = spec
        self.takes_id = all(p.name != "id" for p in spec.parameters)  # else it is a parameter like any other
        self._coerce = [coercer(p.type) for p in spec.parameters if p.type is not None]

    def id_in(self, kwargs: dict[str, Any]) -> str | None:
        """Taken out of them, if it is there."""
        id = kwargs.pop("id") if "id" in kwargs and self.takes_id else None
        return None if id is None else as_id(id)

    def row(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        row = self._plainly(args) if not kwargs else None
        if row is not None:
            return row
        try:
            return bind_call(self._spec, args, kwargs)
        except Refused as error:
            raise error.as_input(self._spec.name, 0) from None

    def _plainly(self, args: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """The arguments as they most often come; None for `bind_call` to see what is to be said of them."""
        coerce = self._coerce
        if len(args) != len(coerce):
            return None
        try:
            return tuple([as_declared(value) for as_declared, value in zip(coerce, args, strict=True)])
        except (TypeError, ValueError, OverflowError):
            return None
