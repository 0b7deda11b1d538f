"""`app.state.NAME`: look inside a state between two epochs, or fill it.

Laws: what is read belongs to one version and never changes; `load` takes effect whole or not at all; `load(to_arrow())`
into a new app gives an equal state, for any number of workers.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

from anabranch.engines.embedded.rest import Rest
from anabranch.graph.nodes import Graph, State
from anabranch.lang import Matrix, Table, Value, Vector, merges
from anabranch.lang.access import MARK
from anabranch.lang.columns import arrow_array, arrow_field, read_batch
from anabranch.lang.distribution import Distribution
from anabranch.lang.errors import BadInput, FrozenAttribute, FrozenError
from anabranch.lang.marks import copy_state, freeze_state, is_builtin
from anabranch.lang.scalars import short
from anabranch.lang.similar import with_question
from anabranch.lang.spec import EntrySpec, Parameter
from anabranch.lang.types import NONE
from anabranch.lang.values import as_key, same_value
from anabranch.runtime.rows import Held
from anabranch.state.parts import place_of, together
from anabranch.state.tables import arrow_columns, load_columns, put, put_nothing, row_of, stored_in

if TYPE_CHECKING:
    import pyarrow as pa


Past = Callable[[str, int], Rest]
PutIn = Callable[[list[Any], Any, Any], None]


class States:
    """The states of an app by name: `app.state.NAME`, or `app.state["NAME"]`."""

    _views: dict[str, StateView]

    def __init__(self, graph: Graph, merges: Mapping[str, Any], rest: Rest, past: Past | None = None) -> None:
        vars(self)["_views"] = {s.name: StateView(s, merges.get(s.name), rest, past) for s in graph.states}

    def __getattr__(self, name: str) -> StateView:
        views = self.__dict__.get("_views", {})
        if name in views:
            return views[name]  # type: ignore[no-any-return]
        raise AttributeError(_no_state(name, views))

    def __getitem__(self, name: str) -> StateView:
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


class StateView:
    """A state of a running app, `app.state.NAME`. What reads works as on the state itself: `[key]`, `in`, `len`, `row`,
    ...; what writes is for entries. Each read sees the newest version; two reads may see two.
    """

    _state: State
    _merge: Any
    _rest: Rest
    _past: Past | None
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, state: State, merge: Any, rest: Rest, past: Past | None = None) -> None:
        vars(self).update(_state=state, _merge=merge, _rest=rest, _past=past)

    # -- reading ------------------------------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> Any:
        return self._read("__getitem__", key) if hasattr(self._state.cls, "__getitem__") else self.copy()[key]

    def __contains__(self, key: Any) -> bool:
        # Python looks at all values of what has no such method.
        return bool(self._read("__contains__", key)) if hasattr(self._state.cls, "__contains__") else key in self.copy()

    def __len__(self) -> int:
        return len(self.copy())

    def __bool__(self) -> bool:
        return bool(self.copy())

    def __iter__(self) -> Iterator[Any]:
        return iter(self.copy())

    def __eq__(self, other: object) -> bool:
        return bool(self.copy() == (other.copy() if isinstance(other, StateView) else other))

    def copy(self) -> Any:
        """The state as one object of its type, read-only: the union of its parts, or the merge of its instances."""
        if self._state.distribution is not Distribution.PARTIAL:
            return freeze_state(self._rest.look(lambda held: self._together(self._parts(held))))
        parts = self._rest.look(lambda held: [copy_state(part) for part in self._parts(held)])
        # A merge may be the user's code: it does not hold up the app, and Ctrl-C ends it.
        return freeze_state(self._together(parts))

    def as_of(self, version: int) -> StateView:
        """The state as it was after an epoch; `app.version` counts them. For an app with a checkpoint location, as far
        back as that goes.
        """
        if self._past is None:
            raise TypeError(
                f"{self._state.name} has no past: start the app with ab.run(..., checkpoint='folder') to have one"
            )
        return StateView(self._state, self._merge, self._past(self._state.name, version))

    def instances(self) -> list[Any]:
        """What each instance holds, by number, read-only."""
        return self._rest.look(lambda held: [freeze_state(copy_state(part)) for part in self._parts(held)])

    def scan(self) -> Iterator[tuple[Any, Any]]:
        """The entries as pairs of key and value, in no order; all of one version."""
        whole = self.copy()
        if not is_builtin(whole):
            raise TypeError(f"{self._state.name} is a {self._state.cls.__name__}, whose entries only its methods know")
        return iter(list(whole._cells()))

    def to_arrow(self) -> pa.Table:
        """The entries as a table; `load` takes it back."""
        import pyarrow as pa

        state, columns = self._state, arrow_columns(self._state)
        schema = pa.schema([arrow_field(name, t) for name, t in columns])
        if state.distribution is Distribution.PARTITIONED and state.cls in (
            Table,
            Vector,
            Matrix,
        ):  # a union of entries
            from anabranch.state.changes import schema_of

            found = pa.Table.from_batches(self._rest.rows(state), schema_of(state))
            return pa.Table.from_arrays(found.columns[: len(columns)], schema=schema)
        rows = [row_of(state, key, value) for key, value in self.scan()]
        arrays = [arrow_array(t, [row[i] for row in rows]) for i, (_, t) in enumerate(columns)]
        return pa.Table.from_arrays(arrays, schema=schema)

    @property
    def nbytes(self) -> int:
        """Bytes in memory: exact in flat memory, else estimated from a sample of the entries."""
        return self._rest.sizes()[self._state.name]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        state = self._state
        member = getattr(state.cls, name, None)
        mark = getattr(member, MARK, None)
        if mark == "reads":
            return functools.wraps(member)(lambda *args, **named: self._read(name, *args, **named))  # type: ignore[arg-type]
        if isinstance(member, property):
            return getattr(self.copy(), name)
        if mark == "writes":
            raise AttributeError(f"{state.name}.{name} writes: {self._instead}")
        raise AttributeError(f"{state.name} is a {state.type}, which has no {name!r}")

    def __setitem__(self, key: Any, value: Any) -> None:
        raise FrozenError(f"app.state.{self._state.name}[...] cannot be set: {self._instead}")

    def __delitem__(self, key: Any) -> None:
        raise FrozenError(f"app.state.{self._state.name}[...] cannot be deleted: {self._instead}")

    def __setattr__(self, name: str, value: Any) -> None:
        raise FrozenAttribute(f"app.state.{self._state.name}.{name} cannot be set: {self._instead}")

    def __dir__(self) -> list[str]:
        reads = {n for n in dir(self._state.cls) if getattr(getattr(self._state.cls, n), MARK, None) == "reads"}
        return sorted({*super().__dir__(), *reads})

    def __repr__(self) -> str:
        return f"<state {self._state.name}: {self._state.distribution.value}[{self._state.type}]>"

    # -- filling ------------------------------------------------------------------------------------------------

    def load(self, data: Any) -> None:
        """Store the entries of a table with the columns of `to_arrow`; others stay. One request: all or nothing."""
        state = self._state
        load_columns(state)
        if state.distribution is Distribution.PARTIAL and self._merge is None:
            raise TypeError(
                f"{state.name} names no merge, so nobody knows what its instances mean together: "
                "give it one with ab.partial(..., merge=...), or fill it by an entry"
            )
        self._load(data, self._store, self._check_merge)

    def _load_instance(self, number: int, data: Any) -> None:
        """The same, in one instance of a partial state alone."""
        self._load(data, lambda parts, key, value: put(parts[number], key, value), lambda held, stored: None)

    def _load(self, data: Any, put_in: PutIn, check: Callable[[Held, dict[Any, Any]], None]) -> None:
        state = self._state
        columns = load_columns(state)
        name = f"state.{state.name}.load"
        rows = read_batch(EntrySpec(name, tuple(Parameter(n, t) for n, t in columns), NONE, type(self).load), data).rows
        if state.cls is Value and len(rows) != 1:
            raise BadInput(f"{state.name} is a {state.type}: expected one row, got {len(rows)}", entry=name)
        stored = [stored_in(state, row) for row in rows]
        done = 0

        def step(i: int) -> Callable[[Held], None]:
            def store(held: Held) -> None:
                nonlocal done
                put_in(self._parts(held), *stored[i])
                done = i + 1

            return store

        try:
            self._rest.change([step(i) for i in range(len(stored))], lambda held: check(held, dict(stored)))
        except BaseException as error:
            error.add_note(f"in {name}{f', row {done}' if done < len(rows) else ''}: nothing was loaded")
            raise

    def _store(self, parts: list[Any], key: Any, value: Any) -> None:
        if self._state.distribution is Distribution.PARTITIONED:
            put(parts[self._rest.routing.owner(place_of(self._state, key))], key, value)
        elif self._merge is merges.add:
            put(parts[0], key, value)  # a sum is what one holds if the others hold nothing
            for other in parts[1:]:
                put_nothing(other, key, value)
        else:
            for part in parts:
                put(part, key, value)

    def _check_merge(self, held: Held, stored: dict[Any, Any]) -> None:
        """All instances now hold the same: only for the merges of ours is that known to be what they mean together."""
        parts = self._parts(held)
        ours = self._merge in (None, merges.add, merges.mean, merges.largest, merges.smallest)
        if ours or not stored or len(parts) == 1:
            return
        whole = dict(self._together(parts)._cells())
        for key, value in stored.items():
            if key not in whole or not same_value(whole[key], value):
                raise TypeError(
                    f"the merge of {self._state.name} does not give what all its instances hold, so nobody knows "
                    "which instance should hold what: fill it by an entry"
                )

    # -- inside -------------------------------------------------------------------------------------------------

    def _parts(self, held: Held) -> list[Any]:
        return held.parts[self._state.name]

    def _together(self, parts: list[Any]) -> Any:
        return together(self._state, parts, self._rest.routing.owner, self._merge)

    @property
    def _instead(self) -> str:
        loaded = f", app.state.{self._state.name}.load fills it" if is_builtin(self._state.cls) else ""
        return f"entries change state{loaded}"

    def _read(self, name: str, *args: Any, **named: Any) -> Any:
        """Call a reading method: at the owner of its key, without putting the parts together, where it has one."""
        state = self._state
        key = _key_parameter(state, name)
        if state.distribution is Distribution.PARTIAL or key is None:
            return getattr(self.copy(), name)(*args, **named)

        def read(held: Held) -> Any:
            owner = 0
            if state.distribution is Distribution.PARTITIONED:
                owner = self._owner(name, args[0] if args else named.get(key))
            return getattr(self._parts(held)[owner], name)(*args, **named)

        return self._rest.look(read)

    def _owner(self, name: str, key: Any) -> int:
        """The instance that has a key; any one for what is no key of the state, which says so in its own words."""
        try:
            whole_lines = name in ("row", "column") or not is_builtin(self._state.cls)
            return self._rest.routing.owner(as_key(key if whole_lines else place_of(self._state, key)))
        except (TypeError, ValueError, OverflowError, IndexError):
            return 0


def _key_parameter(state: State, name: str) -> str | None:
    """The name of the first parameter of a method, if it says where the state is read."""
    if is_builtin(state.cls) and name not in ("__getitem__", "__contains__", "get", state.axis):
        return None
    return _first_parameter(getattr(state.cls, name))


@functools.lru_cache(maxsize=1024)
def _first_parameter(method: Any) -> str | None:
    return next(islice(inspect.signature(method).parameters, 1, None), None)


def _no_state(name: str, views: Mapping[str, Any]) -> str:
    message = f"the app has no state {short(name)}: states are {', '.join(views) or 'none'}"
    return with_question(message, name, views)
