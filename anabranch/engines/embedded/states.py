"""`app.state.NAME`: look inside a state between two epochs, or fill it.

Laws: what is read belongs to one version and never changes; `load` takes effect whole or not at all; `load(to_arrow())`
into a new app gives an equal state, for any number of workers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from anabranch.drivers.threads import Threads
from anabranch.engines.embedded.sizes import size_of
from anabranch.graph.nodes import Graph, State
from anabranch.lang import DenseMatrix, DenseVector, Matrix, Table, Value, Vector, merges
from anabranch.lang.access import MARK
from anabranch.lang.columns import arrow_array, arrow_field, read_batch
from anabranch.lang.distribution import Distribution
from anabranch.lang.marks import copy_state, freeze_state, is_builtin
from anabranch.lang.spec import EntrySpec, Parameter
from anabranch.lang.types import FLOAT, INT, NONE, Type
from anabranch.runtime.memory import Memory
from anabranch.runtime.messages import NOTHING_YET, Version
from anabranch.state.parts import place_of, together

if TYPE_CHECKING:
    import pyarrow as pa

LOADING = Version(-1, 0)  # opens the journals for `load`; no epoch has it


class States:
    """The states of an app by name."""

    def __init__(self, graph: Graph, memory: Memory, merges: Mapping[str, Any], driver: Threads) -> None:
        self._views = {s.name: StateView(s, memory, merges.get(s.name), driver) for s in graph.states}

    def __getattr__(self, name: str) -> StateView:
        views = self.__dict__.get("_views", {})
        if name in views:
            return views[name]  # type: ignore[no-any-return]
        raise AttributeError(f"the app has no state {name!r}: states are {', '.join(views) or 'none'}")

    def __getitem__(self, name: str) -> StateView:
        return self.__getattr__(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._views)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._views})

    def sizes(self) -> dict[str, int]:
        """Bytes by state; for whoever holds the state already."""
        return {name: view._size() for name, view in self._views.items()}


class StateView:
    """A state of a running app. Methods that read work as on the state itself; those that write are for entries."""

    def __init__(self, state: State, memory: Memory, merge: Any, driver: Threads) -> None:
        self._state, self._memory, self._merge, self._driver = state, memory, merge, driver

    # -- reading ------------------------------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> Any:
        return self._at(key, "__getitem__", key)

    def __contains__(self, key: Any) -> bool:
        return bool(self._at(key, "__contains__", key))

    def __len__(self) -> int:
        return int(self._whole("__len__"))

    def __iter__(self) -> Iterator[Any]:
        return iter(self._whole("keys" if self._state.cls is Table else "__iter__"))

    def get(self, key: Any, *default: Any) -> Any:
        return self._at(key, "get", key, *default)

    def row(self, key: Any) -> Any:
        return self._at((key, None), "row", key) if self._state.axis == "row" else self._whole("row", key)

    def column(self, key: Any) -> Any:
        return self._at((None, key), "column", key) if self._state.axis == "column" else self._whole("column", key)

    @property
    def value(self) -> Any:
        if self._state.cls is not Value:
            raise AttributeError(f"{self._state.name} is a {self._state.type}: only a Value has a value")
        return self.copy().value

    def copy(self) -> Any:
        """The state as one object of its type, read-only: the union of its parts, or the merge of its instances."""
        with self._driver.hold():
            return freeze_state(self._together())

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

        columns = self._columns()
        rows = [_flat(self._state, key, value) for key, value in self.scan()]
        arrays = [arrow_array(t, [row[i] for row in rows]) for i, (_, t) in enumerate(columns)]
        return pa.Table.from_arrays(arrays, schema=pa.schema([arrow_field(name, t) for name, t in columns]))

    @property
    def nbytes(self) -> int:
        """Bytes in memory, estimated from a sample of the entries."""
        with self._driver.hold():
            return self._size()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        state = self._state
        member = getattr(state.cls, name, None)
        mark = getattr(member, MARK, None)
        if mark == "reads":
            return lambda *args: self._whole(name, *args)
        if isinstance(member, property):
            return getattr(self.copy(), name)
        if mark == "writes":
            instead = f"entries change state, app.state.{state.name}.load fills it"
            raise AttributeError(f"{state.name}.{name} writes: {instead}")
        raise AttributeError(f"{state.name} is a {state.type}, which has no {name!r}")

    def __repr__(self) -> str:
        return f"<state {self._state.name}: {self._state.distribution.value}[{self._state.type}]>"

    # -- filling ------------------------------------------------------------------------------------------------

    def load(self, data: Any) -> None:
        """Store the entries of a table with the columns of `to_arrow`; others stay. One request: all or nothing."""
        names = [name for name, _ in self._columns()]
        spec = EntrySpec(
            f"state.{self._state.name}.load",
            tuple(Parameter(name, t) for name, t in self._columns()),
            NONE,
            type(self).load,
        )
        rows = read_batch(spec, data).rows
        instances = range(self._memory.routing.instances)
        with self._driver.hold(writes=True):
            self._memory.open(instances, LOADING)
            try:
                for row in rows:
                    self._store(row)
            except BaseException as error:
                self._memory.settle(instances, NOTHING_YET, LOADING)
                error.add_note(f"in state.{self._state.name}.load, columns {', '.join(names)}: nothing was loaded")
                raise
            self._memory.settle(instances, LOADING, LOADING)

    def _store(self, row: tuple[Any, ...]) -> None:
        key, value = _entry(self._state, row)
        for part in self._written(key):
            if isinstance(part, Value):
                part.value = value
            else:
                part[key] = value

    def _written(self, key: Any) -> list[Any]:
        """The parts that hold an entry that is loaded."""
        match self._state.distribution:
            case Distribution.PARTITIONED:
                return [self._parts[self._memory.owner(place_of(self._state, key))]]
            case Distribution.PARTIAL if self._merge is None:
                raise TypeError(
                    f"{self._state.name} names no merge, so nobody knows what its instances mean together: "
                    "give it one with ab.partial(..., merge=...), or fill it by an entry"
                )
            case Distribution.PARTIAL if self._merge is merges.add:
                return self._parts[:1]  # a sum is what one holds if the others hold nothing
        return self._parts

    # -- inside -------------------------------------------------------------------------------------------------

    @property
    def _parts(self) -> list[Any]:
        return self._memory.parts[self._state.name]

    def _together(self) -> Any:
        return together(self._state, self._parts, self._memory.owner, self._merge)

    def _at(self, key: Any, method: str, *args: Any) -> Any:
        """Read at the owner of a key, without putting the parts together."""
        if self._state.distribution is Distribution.PARTIAL:
            return self._whole(method, *args)
        with self._driver.hold():
            owner = 0
            if self._state.distribution is Distribution.PARTITIONED:
                owner = self._memory.owner(place_of(self._state, key))
            return getattr(self._parts[owner], method)(*args)

    def _whole(self, method: str, *args: Any) -> Any:
        return getattr(self.copy(), method)(*args)

    def _size(self) -> int:
        return sum(size_of(part) for part in self._parts)

    def _columns(self) -> list[tuple[str, Type]]:
        return _columns(self._state)


def _columns(state: State) -> list[tuple[str, Type]]:
    """The table of a state: names and types of its columns."""
    if state.cls is Table:
        assert state.key is not None and state.value is not None
        return [("key", state.key), ("value", state.value)]
    if state.cls in (Vector, DenseVector):
        return [("index", INT), ("value", FLOAT)]
    if state.cls in (Matrix, DenseMatrix):
        return [("row", INT), ("column", INT), ("value", FLOAT)]
    if state.cls is Value:
        assert state.value is not None
        return [("value", state.value)]
    raise TypeError(f"{state.name} is a {state.cls.__name__}, an own type: read and fill it by entries")


def _flat(state: State, key: Any, value: Any) -> tuple[Any, ...]:
    if state.cls in (Matrix, DenseMatrix):
        return (*key, value)
    return (value,) if state.cls is Value else (key, value)


def _entry(state: State, row: tuple[Any, ...]) -> tuple[Any, Any]:
    if state.cls in (Matrix, DenseMatrix):
        return (row[0], row[1]), row[2]
    return (None, row[0]) if state.cls is Value else (row[0], row[1])
