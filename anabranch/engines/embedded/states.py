"""`app.state.NAME`: look inside a state between two epochs, or fill it.

Laws: what is read belongs to one version and never changes; `load` takes effect whole or not at all; `load(to_arrow())`
into a new app gives an equal state, for any number of workers.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

from anabranch.drivers.threads import Threads
from anabranch.engines.embedded.sizes import size_of
from anabranch.engines.embedded.tables import arrow_columns, load_columns, put, put_nothing, row_of, stored_in
from anabranch.graph.nodes import Graph, State
from anabranch.lang import Value, merges
from anabranch.lang.access import MARK
from anabranch.lang.columns import arrow_array, arrow_field, read_batch
from anabranch.lang.distribution import Distribution
from anabranch.lang.errors import BadInput, FrozenAttribute, FrozenError
from anabranch.lang.marks import copy_state, freeze_state, is_builtin
from anabranch.lang.spec import EntrySpec, Parameter
from anabranch.lang.types import NONE
from anabranch.lang.values import as_key, same_value
from anabranch.runtime.memory import Memory
from anabranch.runtime.messages import NOTHING_YET, Version
from anabranch.state.parts import place_of, together

if TYPE_CHECKING:
    import pyarrow as pa

LOADING = Version(-1, 0)  # opens the journals for `load`; no epoch has it


class States:
    """The states of an app by name."""

    _views: dict[str, StateView]

    def __init__(self, graph: Graph, memory: Memory, merges: Mapping[str, Any], driver: Threads) -> None:
        vars(self)["_views"] = {s.name: StateView(s, memory, merges.get(s.name), driver) for s in graph.states}

    def __getattr__(self, name: str) -> StateView:
        views = self.__dict__.get("_views", {})
        if name in views:
            return views[name]  # type: ignore[no-any-return]
        raise AttributeError(_no_state(name, views))

    def __getitem__(self, name: str) -> StateView:
        if name not in self._views:
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

    def _sizes(self) -> dict[str, int]:
        """Bytes by state; for whoever holds the state already."""
        return {name: view._size() for name, view in self._views.items()}


class StateView:
    """A state of a running app. Methods that read work as on the state itself; those that write are for entries."""

    _state: State
    _memory: Memory
    _merge: Any
    _driver: Threads
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, state: State, memory: Memory, merge: Any, driver: Threads) -> None:
        vars(self).update(_state=state, _memory=memory, _merge=merge, _driver=driver)

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
        partial = self._state.distribution is Distribution.PARTIAL
        with self._driver.hold():
            parts = [copy_state(part) for part in self._parts] if partial else self._parts
            whole = None if partial else self._together(parts)
        # A merge may be the user's code: it does not hold up the app, and Ctrl-C ends it.
        return freeze_state(self._together(parts) if partial else whole)

    def instances(self) -> list[Any]:
        """What each instance holds, by number, read-only."""
        with self._driver.hold():
            return [freeze_state(copy_state(part)) for part in self._parts]

    def scan(self) -> Iterator[tuple[Any, Any]]:
        """The entries as pairs of key and value, in no order; all of one version."""
        whole = self.copy()
        if not is_builtin(whole):
            raise TypeError(f"{self._state.name} is a {self._state.cls.__name__}, whose entries only its methods know")
        return iter(list(whole._cells()))

    def to_arrow(self) -> pa.Table:
        """The entries as a table; `load` takes it back."""
        import pyarrow as pa

        columns = arrow_columns(self._state)
        whole = self._state.distribution is Distribution.PARTITIONED
        with self._driver.hold():
            if whole and all(hasattr(part, "arrow_arrays") for part in self._parts):
                pieces = list(zip(*[part.arrow_arrays() for part in self._parts], strict=True))
                schema = pa.schema([arrow_field(name, t) for name, t in columns])
                return pa.Table.from_arrays([pa.concat_arrays(found) for found in pieces], schema=schema)
        rows = [row_of(self._state, key, value) for key, value in self.scan()]
        arrays = [arrow_array(t, [row[i] for row in rows]) for i, (_, t) in enumerate(columns)]
        return pa.Table.from_arrays(arrays, schema=pa.schema([arrow_field(name, t) for name, t in columns]))

    @property
    def nbytes(self) -> int:
        """Bytes in memory: exact in flat memory, else estimated from a sample of the entries."""
        with self._driver.hold():
            return self._size()

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
        if name == "as_of":
            raise AttributeError(f"{state.name}.as_of is reserved: not yet available; read the state as it is")
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
        columns = load_columns(state)
        if state.distribution is Distribution.PARTIAL and self._merge is None:
            raise TypeError(
                f"{state.name} names no merge, so nobody knows what its instances mean together: "
                "give it one with ab.partial(..., merge=...), or fill it by an entry"
            )
        name = f"state.{state.name}.load"
        rows = read_batch(EntrySpec(name, tuple(Parameter(n, t) for n, t in columns), NONE, type(self).load), data).rows
        if state.cls is Value and len(rows) != 1:
            raise BadInput(f"{state.name} is a {state.type}: expected one row, got {len(rows)}", entry=name)
        instances = range(self._memory.routing.instances)
        done = 0
        with self._driver.hold(writes=True) as interrupts:
            self._memory.open(instances, LOADING)
            try:
                for row in rows:
                    interrupts.relent()
                    self._store(*stored_in(state, row))
                    done += 1
                self._check_merge(dict(stored_in(state, row) for row in rows))
            except BaseException as error:
                self._memory.settle(instances, NOTHING_YET, LOADING)
                error.add_note(f"in {name}{f', row {done}' if done < len(rows) else ''}: nothing was loaded")
                raise
            self._memory.settle(instances, LOADING, LOADING)

    def _store(self, key: Any, value: Any) -> None:
        parts = self._parts
        if self._state.distribution is Distribution.PARTITIONED:
            put(parts[self._memory.owner(place_of(self._state, key))], key, value)
        elif self._merge is merges.add:
            put(parts[0], key, value)  # a sum is what one holds if the others hold nothing
            for other in parts[1:]:
                put_nothing(other, key, value)
        else:
            for part in parts:
                put(part, key, value)

    def _check_merge(self, stored: dict[Any, Any]) -> None:
        """All instances now hold the same: only for the merges of ours is that known to be what they mean together."""
        ours = self._merge in (None, merges.add, merges.mean, merges.largest, merges.smallest)
        if ours or not stored or len(self._parts) == 1:
            return
        whole = dict(self._together(self._parts)._cells())
        for key, value in stored.items():
            if key not in whole or not same_value(whole[key], value):
                raise TypeError(
                    f"the merge of {self._state.name} does not give what all its instances hold, so nobody knows "
                    "which instance should hold what: fill it by an entry"
                )

    # -- inside -------------------------------------------------------------------------------------------------

    @property
    def _parts(self) -> list[Any]:
        return self._memory.parts[self._state.name]

    def _together(self, parts: list[Any]) -> Any:
        return together(self._state, parts, self._memory.owner, self._merge)

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
        with self._driver.hold():
            owner = 0
            if state.distribution is Distribution.PARTITIONED:
                owner = self._owner(name, args[0] if args else named.get(key))
            return getattr(self._parts[owner], name)(*args, **named)

    def _owner(self, name: str, key: Any) -> int:
        """The instance that has a key; any one for what is no key of the state, which says so in its own words."""
        try:
            whole_lines = name in ("row", "column") or not is_builtin(self._state.cls)
            return self._memory.owner(as_key(key if whole_lines else place_of(self._state, key)))
        except (TypeError, ValueError, OverflowError, IndexError):
            return 0

    def _size(self) -> int:
        return sum(size_of(part) for part in self._parts)


def _key_parameter(state: State, name: str) -> str | None:
    """The name of the first parameter of a method, if it says where the state is read."""
    if is_builtin(state.cls) and name not in ("__getitem__", "__contains__", "get", state.axis):
        return None
    return _first_parameter(getattr(state.cls, name))


@functools.lru_cache(maxsize=1024)
def _first_parameter(method: Any) -> str | None:
    return next(islice(inspect.signature(method).parameters, 1, None), None)


def _no_state(name: str, views: Mapping[str, Any]) -> str:
    return f"the app has no state {name!r}: states are {', '.join(views) or 'none'}"
