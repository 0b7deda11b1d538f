"""Own state types before they are fetched: only they know what their methods touch, so they are here as a whole or not.

Laws: code that runs on a hollow part raises `NotHere` before it has read or written an attribute; a part that was
filled in is an ordinary object of its class.
"""

from __future__ import annotations

import types
from functools import lru_cache
from typing import Any

from anabranch.graph.nodes import State
from anabranch.lang.journal import Journal
from anabranch.lang.marks import _OURS, bind
from anabranch.lang.values import same_value
from anabranch.state.fetched import Miss
from anabranch.state.found import Effect, Found, Want
from anabranch.state.own import Attributes, decode, encode

_FETCHED = "__anabranch_fetched__"


class FetchedOwn:
    """A part of an own type: hollow, or whole."""

    def __init__(self, state: State, instance: int, held: Any, journal: Journal, miss: Miss) -> None:
        self._want = Want(state.name, instance, "all")
        self._cls: Any = type(held)
        self._journal, self._miss = journal, miss
        self._hollow = _hollow(self._cls)  # type: ignore[arg-type]  # a class can be hashed
        self.part: Any = object.__new__(self._hollow)
        self.clear()

    def clear(self) -> None:
        """Forget all that was fetched and written."""
        self._found: Attributes | None = None
        object.__setattr__(self.part, "__class__", self._hollow)
        held = _attributes(self.part)
        held.clear()
        held[_FETCHED] = self
        bind(self.part, self._journal)

    def need(self) -> None:
        self._miss(self._want)

    def fill(self, want: Want, found: Found) -> None:
        if self._found is None:
            held = _attributes(self.part)
            del held[_FETCHED]
            held.update(decode(found))
            object.__setattr__(self.part, "__class__", self._cls)
            self._found = found

    def untouch(self) -> None:
        """All writes were taken back, which the attributes show by themselves."""

    def effects(self) -> list[Effect]:
        """All of it, if it is not what was found."""
        if self._found is None:
            return []
        now = encode(self.part)
        return [] if same_value(now, self._found) else [(self._want.state, "all", None, now)]


def _attributes(part: Any) -> dict[str, Any]:
    return object.__getattribute__(part, "__dict__")  # type: ignore[no-any-return]


@lru_cache(maxsize=1024)
def _hollow(cls: Any) -> type:
    """A class that looks like `cls`, in front of attributes that are not here."""

    def guard(part: Any) -> None:
        fetched = _attributes(part).get(_FETCHED)
        if fetched is not None:  # an object that is being built as a copy has none
            fetched.need()

    def read(self: Any, name: str) -> Any:
        special = name.startswith("__") and name.endswith("__") and name != "__dict__"
        if not special and name not in _OURS:
            guard(self)
        return cls.__getattribute__(self, name)

    def write(self: Any, name: str, value: Any) -> None:
        guard(self)
        cls.__setattr__(self, name, value)

    def remove(self: Any, name: str) -> None:
        guard(self)
        cls.__delattr__(self, name)

    methods = {"__getattribute__": read, "__setattr__": write, "__delattr__": remove}
    # No slots, so that a part can go from one class to the other; the name is for messages.
    return types.new_class(cls.__name__, (cls,), {}, lambda body: body.update(methods, __slots__=()))
