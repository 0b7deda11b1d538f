"""`app.state.NAME` over a connection: each read happens where the app is, between two epochs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from anabranch.drivers.crossing import pack_table, unpack_state, unpack_table
from anabranch.drivers.described import StateDescribed
from anabranch.engines.connected.batches import outgoing, tell_here
from anabranch.lang.errors import BadInput, FrozenAttribute, FrozenError
from anabranch.lang.marks import is_builtin
from anabranch.lang.scalars import short
from anabranch.lang.similar import with_question
from anabranch.lang.spec import EntrySpec, Parameter
from anabranch.lang.types import NONE
from anabranch.lang.values import freeze
from anabranch.state.tables import load_columns

if TYPE_CHECKING:
    import pyarrow as pa

Ask = Callable[..., Any]


class RemoteStates:
    """The states of an app by name."""

    _views: dict[str, RemoteState]

    def __init__(self, described: Mapping[str, StateDescribed], ask: Ask) -> None:
        vars(self)["_views"] = {name: RemoteState(state, ask) for name, state in described.items()}

    def __getattr__(self, name: str) -> RemoteState:
        views = self.__dict__.get("_views", {})
        if name in views:
            return views[name]  # type: ignore[no-any-return]
        raise AttributeError(_no_state(name, views))

    def __getitem__(self, name: str) -> RemoteState:
        if type(name) is not str or name not in self._views:
            raise KeyError(_no_state(name, self._views))
        return self._views[name]

    def __setattr__(self, name: str, value: Any) -> None:
        raise FrozenAttribute(f"app.state.{name} cannot be set: entries change state, app.state.{name}.load fills it")

    def __iter__(self) -> Iterator[str]:
        return iter(self._views)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._views})

    def __repr__(self) -> str:
        return f"<states {', '.join(self._views) or 'none'}>"


class RemoteState:
    """A state of an app elsewhere. Methods that read work as on the state itself; those that write are for entries."""

    _state: StateDescribed
    _ask: Ask
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, state: StateDescribed, ask: Ask) -> None:
        vars(self).update(_state=state, _ask=ask)

    # -- reading ------------------------------------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> Any:
        return self._read("__getitem__", key)

    def __contains__(self, key: Any) -> bool:
        return bool(self._read("__contains__", key))

    def __len__(self) -> int:
        return int(self._read("__len__"))

    def __bool__(self) -> bool:
        return bool(self._read("__bool__"))

    def __iter__(self) -> Iterator[Any]:
        return iter(self._read("__iter__"))

    def __eq__(self, other: object) -> bool:
        return bool(self.copy() == (other.copy() if isinstance(other, RemoteState) else other))

    def copy(self) -> Any:
        """The state as one object of its type, read-only: the union of its parts, or the merge of its instances."""
        return unpack_state(self._ask("copy", self._state.name), self._state.spec)

    def instances(self) -> list[Any]:
        """What each instance holds, by number, read-only."""
        return [unpack_state(x, self._state.spec) for x in self._ask("instances", self._state.name)]

    def scan(self) -> Iterator[tuple[Any, Any]]:
        """The entries as pairs of key and value, in no order; all of one version."""
        return iter(self._read("scan"))

    def to_arrow(self) -> pa.Table:
        """The entries as a table; `load` takes it back."""
        return unpack_table(self._ask("arrow", self._state.name))

    @property
    def nbytes(self) -> int:
        """Bytes in memory, where the app is."""
        return int(self._read("nbytes"))

    def __getattr__(self, name: str) -> Any:
        state = self._state
        if name.startswith("_"):
            raise AttributeError(name)
        if name in state.properties:
            return self._read(name)
        if name in state.reads:
            return _named(name, lambda *args, **named: self._read(name, *args, **named))
        if name in state.writes:
            raise AttributeError(f"{state.name}.{name} writes: {self._instead}")
        if name == "as_of":
            raise AttributeError(f"{state.name}.as_of is reserved: not yet available; read the state as it is")
        raise AttributeError(f"{state.name} is a {state.spec.type_text}, which has no {name!r}")

    def __setitem__(self, key: Any, value: Any) -> None:
        raise FrozenError(f"app.state.{self._state.name}[...] cannot be set: {self._instead}")

    def __delitem__(self, key: Any) -> None:
        raise FrozenError(f"app.state.{self._state.name}[...] cannot be deleted: {self._instead}")

    def __setattr__(self, name: str, value: Any) -> None:
        raise FrozenAttribute(f"app.state.{self._state.name}.{name} cannot be set: {self._instead}")

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._state.reads, *self._state.properties})

    def __repr__(self) -> str:
        return f"<state {self._state.name}: {self._state.spec.text}>"

    # -- filling ------------------------------------------------------------------------------------------------------

    def load(self, data: Any) -> None:
        """Store the entries of a table with the columns of `to_arrow`; others stay. One request: all or nothing."""
        spec: Any = self._state.spec
        columns = load_columns(spec)
        entry = EntrySpec(f"state.{spec.name}.load", tuple(Parameter(n, t) for n, t in columns), NONE, self.load)
        sent = outgoing(entry, data)
        assert sent.table is not None, "every state has columns"
        try:
            self._ask("load", spec.name, pack_table(sent.table), effects=True)
        except BadInput as error:
            raise tell_here(error, sent.check) from None

    # -- inside -------------------------------------------------------------------------------------------------------

    @property
    def _instead(self) -> str:
        loaded = f", app.state.{self._state.name}.load fills it" if is_builtin(self._state.spec.cls) else ""
        return f"entries change state{loaded}"

    def _read(self, member: str, *args: Any, **named: Any) -> Any:
        # Frozen: a number of numpy's is then one of Python's, which has a form outside of this process.
        try:
            given = tuple([freeze(x) for x in args])
            by_name = {n: freeze(x) for n, x in named.items()}
        except RecursionError:
            raise ValueError(f"{self._state.name}.{member}: what was given is nested too deeply to be sent") from None
        return self._ask("read", self._state.name, member, given, by_name)


def _named(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    function.__name__ = function.__qualname__ = name
    return function


def _no_state(name: str, views: Mapping[str, Any]) -> str:
    message = f"the app has no state {short(name)}: states are {', '.join(views) or 'none'}"
    return with_question(message, name, views)
