"""What clients ask of an app: checked, carried out as any caller would, and answered.

A request is a tuple of what is asked and its arguments; an answer is ("gave", value) or ("raised", exception).

Laws: a request that is not exactly what a client of ours would send is refused and changes nothing; whatever the app
raises is the answer; nothing of the app can be reached but its entries, and the reading of its states and `load`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from anabranch.drivers import pieces
from anabranch.drivers.carried import pack_error
from anabranch.drivers.crossing import pack_state, pack_table, refuse_invalid, unpack_table
from anabranch.drivers.described import describe_app, values_of
from anabranch.drivers.streams import Refused, Stream
from anabranch.drivers.typecodes import rebuilder
from anabranch.drivers.values import Malformed
from anabranch.graph.nodes import Graph, State
from anabranch.lang import binding
from anabranch.lang.access import MARK
from anabranch.lang.columns import result_table
from anabranch.lang.scalars import short
from anabranch.lang.spec import EntrySpec
from anabranch.lang.types import NONE, Record

ASK = "ask"  # the name of the stream
BARE = 1_000_000  # rows of an entry without parameters: nothing else says how long a batch of them may be
_LOOKS = frozenset(("__getitem__", "__contains__", "__len__", "__bool__", "__iter__", "scan", "nbytes"))
_NOT_BY_NAME = frozenset(("copy", "instances", "to_arrow", "load"))  # of the view, whatever the state calls so


class NoRequest(Refused):
    """What has come is nothing that a client of ours sends."""

    def __init__(self, why: str) -> None:
        super().__init__(f"this is no request: {why}")


class Reception:
    """Serves the streams of all clients of one app."""

    def __init__(
        self,
        app: Any,
        graph: Graph,
        specs: Mapping[str, EntrySpec],
        max_message: int,
        more: Mapping[str, Callable[..., Any]] | None = None,
    ) -> None:
        """`more` can be asked besides, where nobody else has a connection."""
        self._app, self._specs, self._max_message = app, dict(specs), max_message
        self._entries = {e.name for e in graph.entries}
        self._states = {s.name: s for s in graph.states}
        self._values = values_of(graph)
        self._description = describe_app(graph, specs)
        self._builders = {
            name: [rebuilder(p.type, _built) if p.type is not None else None for p in specs[name].parameters]
            for name in self._entries
        }
        self.kinds: dict[str, Callable[..., Any]] = {
            "describe": lambda: self._description,
            "call": self._call,
            "many": self._many,
            "read": self._read,
            "copy": lambda state: pack_state(self._view(state).copy()),
            "instances": lambda state: tuple([pack_state(x) for x in self._view(state).instances()]),
            "arrow": lambda state: pack_table(self._view(state).to_arrow()),
            "load": self._load,
            "version": lambda: self._app.version,
            "metrics": lambda: self._app.metrics().to_dict(),
            "explain": self._explain,
            **(more or {}),
        }
        self._arity = {kind: len(inspect.signature(answer).parameters) for kind, answer in self.kinds.items()}

    def serve(self, stream: Stream) -> None:
        """One request after the other, until the client ends."""
        while (request := pieces.receive(stream)) is not None:
            pieces.send(stream, self.answer(request), self._max_message)

    def answer(self, request: bytes | memoryview) -> bytes:
        """Raises `NoRequest`, and nothing else."""
        answer, given = self._understood(request)
        try:
            found = answer(*given)
        except NoRequest:
            raise
        except BaseException as error:  # also SystemExit: it is an answer like any other
            return self._values.encode(("raised", pack_error(error, self._values)))
        return self._encoded(found)

    def _encoded(self, found: Any) -> bytes:
        try:
            answer = self._values.encode(("gave", found))
            if len(answer) <= pieces.WHOLE:
                return answer
            why = f"its answer has {len(answer)} bytes, and the limit is {pieces.WHOLE}"
        except TypeError as error:
            why = f"its answer cannot be sent: {error}"
        return self._values.encode(
            ("raised", pack_error(TypeError(f"the request was carried out, but {why}"), self._values))
        )

    def _understood(self, request: bytes | memoryview) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        try:
            match self._values.decode(request):
                case (str(kind), *given) if kind in self.kinds and len(given) == self._arity[kind]:
                    return self.kinds[kind], tuple(given)
                case (str(kind), *_) if kind in self.kinds:
                    raise NoRequest(f"{kind} has {self._arity[kind]} arguments")
        except Malformed as error:
            raise NoRequest(str(error)) from None
        raise NoRequest("it does not begin with what is asked")

    # -- entries ------------------------------------------------------------------------------------------------------

    def _call(self, name: Any, row: Any, id: Any) -> Any:
        spec = self._spec(name)
        if id is not None and any(p.name == "id" for p in spec.parameters):
            raise NoRequest(f"{name} has a parameter id, and its calls have no name")
        if type(row) is not tuple or len(row) != len(spec.parameters):
            raise NoRequest(f"a call of {name} has {len(spec.parameters)} arguments in a tuple, got {short(row)}")
        if any(self._builders[name]):
            row = self._with_records(spec, row)
        return self._app.entries[name](*row, **_named(id))

    def _with_records(self, spec: EntrySpec, row: tuple[Any, ...]) -> tuple[Any, ...]:
        """Records as their own classes make them: what came has passed no constructor."""
        made = []
        for p, build, x in zip(spec.parameters, self._builders[spec.name], row, strict=True):
            try:
                made.append(x if build is None else build(x))
            except Exception as error:
                refused = binding.Refused(p.name, f"expected {p.type}, got {short(x)}: {error}", x, type(error))
                raise refused.as_input(spec.name, 0) from None
        return tuple(made)

    def _many(self, name: Any, rows: Any, table: Any, id: Any) -> bytes | None:
        """`rows` counts where there are no columns to count by."""
        spec = self._spec(name)
        entry = self._app.entries[name]
        if table is None:
            if type(rows) is not int or not 0 <= rows <= BARE:
                raise NoRequest(f"a batch without columns has from 0 to {BARE} rows, got {short(rows)}")
            found = entry.many([()] * rows, **_named(id))
            results = None if spec.result == NONE else result_table(spec, found)
        else:
            results = entry.many(_table(table, name), **_named(id))
        return None if results is None else pack_table(results)

    def _spec(self, name: Any) -> EntrySpec:
        if type(name) is not str or name not in self._entries:
            raise NoRequest(
                f"there is no entry {short(name)}: entries are {', '.join(sorted(self._entries)) or 'none'}"
            )
        return self._specs[name]

    # -- states -------------------------------------------------------------------------------------------------------

    def _state(self, name: Any) -> State:
        if type(name) is not str or name not in self._states:
            raise NoRequest(f"there is no state {short(name)}: states are {', '.join(self._states) or 'none'}")
        return self._states[name]

    def _view(self, name: Any) -> Any:
        return self._app.state[self._state(name).name]

    def _read(self, name: Any, member: Any, args: Any, named: Any) -> Any:
        state, view = self._state(name), self._view(name)
        if type(member) is not str or type(args) is not tuple or type(named) is not dict:
            raise NoRequest("what is read of a state is a name with a tuple and a dict of arguments")
        if not all(type(n) is str for n in named):
            raise NoRequest("arguments that go by name have names")
        if member in _LOOKS:
            return _look(view, member, args, named)
        found = getattr(state.cls, member, None)
        if member.startswith("_") or member in _NOT_BY_NAME:
            raise NoRequest(f"{member} is not for clients")
        if isinstance(found, property):
            return getattr(view, member)
        if getattr(found, MARK, None) != "reads":
            raise NoRequest(f"{short(member)} of {name} is no method that reads")
        return getattr(view, member)(*args, **named)

    def _load(self, name: Any, table: Any) -> None:
        self._view(name).load(_table(table, f"state.{name}.load"))

    def _explain(self) -> tuple[Any, ...]:
        found = self._app.explain()
        return str(found), found.to_dict(), found._repr_html_()


def _look(view: Any, member: str, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    wanted = 1 if member in ("__getitem__", "__contains__") else 0
    if len(args) != wanted or named:
        raise NoRequest(f"{member} takes {wanted} arguments")
    match member:
        case "nbytes":
            return view.nbytes
        case "scan" | "__iter__":
            return list(view.scan() if member == "scan" else iter(view))
    return getattr(type(view), member)(view, *args)


def _built(t: Record, x: Any, fields: dict[str, Any]) -> Any:
    return t.cls(**fields)


def _named(id: Any) -> dict[str, str]:
    """The name of a request that may be repeated."""
    if id is None:
        return {}
    if type(id) is not str or not id:
        raise NoRequest(f"the name of a request is a text, got {short(id)}")
    return {"id": id}


def _table(data: Any, entry: str) -> Any:
    if type(data) is not bytes:
        raise NoRequest(f"a table is bytes, got {short(data)}")
    try:
        table = unpack_table(data)
    except Malformed as error:
        raise NoRequest(str(error)) from None
    refuse_invalid(table, entry)
    return table
