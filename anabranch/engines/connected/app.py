"""`ab.connect`: an app that runs in another process, as if it ran in this one.

Laws: what a call gives, raises and changes is what it would where the app is; inputs are checked there, whatever was
checked here; nothing is sent twice.
"""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Mapping
from types import MappingProxyType, TracebackType
from typing import Any, NoReturn

from anabranch.drivers.carried import unpack_error
from anabranch.drivers.crossing import pack_table, unpack_table
from anabranch.drivers.described import Described, read_description
from anabranch.drivers.flight import Client
from anabranch.drivers.tls import Security, Tls
from anabranch.drivers.values import Malformed, Values
from anabranch.engines.connected.adopting import adopting
from anabranch.engines.connected.batches import outgoing, tell_here
from anabranch.engines.connected.link import Link
from anabranch.engines.connected.reports import RemoteExplanation, read_explanation, read_metrics
from anabranch.engines.connected.states import RemoteStates
from anabranch.engines.embedded.metrics import Metrics
from anabranch.lang.arguments import as_instance, as_text
from anabranch.lang.calling import Calling, as_id_of_one
from anabranch.lang.columns import is_stream
from anabranch.lang.entry import each_batch, not_yet_on_entries, refuse_on_error
from anabranch.lang.errors import BadInput
from anabranch.lang.scalars import short
from anabranch.lang.similar import ByName, asks_back, with_question
from anabranch.lang.spec import RESERVED, EntrySpec
from anabranch.lang.streams import rows_at_once
from anabranch.lang.types import NONE, Record

SCHEMES = ("grpc://", "grpc+tls://")


@asks_back
def connect(address: str, token: str, *, tls: Tls | None = None) -> RemoteApp:
    """Connect to an app that another process serves; `app.serve()` there has the address and the token.

    >>> import anabranch as ab
    >>> from anabranch.demo import Recommender
    >>> with ab.run(Recommender(), workers=2) as app, app.serve() as served:
    ...     with ab.connect(served.address, served.token) as far:
    ...         far.rate(7, 42, 5.0)
    ...         far.state.ratings.row(7)
    Vector({42: 5.0})
    """
    if type(address) is not str or not address.startswith(SCHEMES):
        raise ValueError(f"an address begins with {' or '.join(SCHEMES)}, got {short(address)}: give served.address")
    address = as_text("address", address, "a text of the form grpc://HOST:PORT", "ab.connect(served.address, ...)")
    if type(token) is not str:
        raise TypeError("the token is the text that served.token has where the app runs")
    if tls is not None:
        tls = as_instance("tls", tls, Tls, "tls=ab.Tls(roots=...)")
    if address.startswith(SCHEMES[1]):
        tls = tls or Tls()
    elif tls is not None:
        raise ValueError(f"{address} is served without TLS: leave tls out, or serve the app with app.serve(tls=...)")
    security = Security(token, tls)
    link = Link(address, Client(address, security), security.max_message)
    try:
        return RemoteApp(link, read_description(answer(Values(), link.ask(Values().encode(("describe",))))))
    except BaseException:
        link.close()
        raise


class RemoteApp:
    """An app elsewhere: `app.NAME(...)` calls an entry, `app.NAME.many(...)` feeds it, `app.state.NAME` looks inside.

    `app.records` are the classes of its records by name: those of this process if it has imported them, else tuples
    with the same name and fields.
    """

    def __init__(self, link: Link, described: Described) -> None:
        self._link, self._described = link, described
        self.entries: Mapping[str, RemoteEntry] = MappingProxyType(
            ByName("entry", {name: RemoteEntry(self, spec) for name, spec in described.entries.items()})
        )
        self.state = RemoteStates(described.states, self._ask)
        weakref.finalize(self, link.close)  # also when the process ends, before gRPC is taken down

    def __getattr__(self, name: str) -> Any:
        entries = self.__dict__.get("entries", {})
        if name in entries:
            return entries[name]
        if name == "records":  # no property: an entry may have this name
            return MappingProxyType({r.cls.__name__: r.cls for r in self._described.records})
        if name in RESERVED:
            raise AttributeError(f"app.{name} is not available over a connection: use it where the app runs")
        message = f"the app has no attribute or entry {name!r}: entries are {', '.join(entries)}"
        raise AttributeError(with_question(message, name, dir(self)))

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self.__dict__ or hasattr(type(self), name) or name in self.__dict__.get("entries", {}):
            raise AttributeError(f"app.{name} cannot be set")
        super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self.entries})

    def __repr__(self) -> str:
        return f"<app {self._described.program} at {self._link.address}{', closed' if self._link.closed else ''}>"

    def __enter__(self) -> RemoteApp:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def version(self) -> int:
        """The number of the last epoch."""
        return int(self._ask("version"))

    def stop(self) -> None:
        """Close the connection; may be called again. The app goes on."""
        self._link.close()

    def metrics(self) -> Metrics:
        """Rows, epochs, stages, latencies, busy shares and state sizes so far, as measured where the app is."""
        return read_metrics(self._ask("metrics"))

    def explain(self) -> RemoteExplanation:
        """How each entry runs: its tasks, their stages and tier, straight or winding, and why."""
        return read_explanation(*self._ask("explain"))

    def history(self) -> NoReturn:
        raise NotImplementedError(
            "the history is not available over a connection, as its replay needs the program: call app.history() "
            "where the app runs"
        )

    def _ask(self, kind: str, *given: Any, effects: bool = False) -> Any:
        values = self._described.values
        try:
            request = values.encode((kind, *given))
        except RecursionError:
            raise ValueError("what was given is nested too deeply to be sent") from None
        return answer(values, self._link.ask(request, effects))


class RemoteEntry:
    """An entry of an app elsewhere, to be called with one row or fed `many`."""

    def __init__(self, app: RemoteApp, spec: EntrySpec) -> None:
        self._app, self._spec = app, spec
        self._calling = Calling(spec)
        self._adopting = adopting(spec) if app._described.made else None
        self.__name__ = self.__qualname__ = spec.name
        self.__doc__ = app._described.docs[spec.name]
        self.__signature__ = _signature(spec)

    def __get__(self, instance: object, owner: type | None = None) -> RemoteEntry:
        """What has this counts as a routine: `help` then shows signature and docstring of the entry."""
        return self

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Call it with one row. With `id=` a call that is repeated is carried out once, and answered alike."""
        id = self._calling.id_in(kwargs)
        if self._adopting is not None:
            args, kwargs = self._adopting.call(args, kwargs)
        return self._app._ask("call", self._spec.name, self._calling.row(args, kwargs), id, effects=True)

    def __getattr__(self, name: str) -> Any:
        raise not_yet_on_entries(self._spec.name, name)

    def __repr__(self) -> str:
        return f"<entry {self._spec.name} of {self._app!r}>"

    def many(self, data: Any, *, on_error: str = "raise", id: str | None = None) -> Any:
        """Run a batch as one request: a dict of columns, Arrow data or a list of rows; results come in kind.

        With `id` a batch that is repeated is carried out once, and answered alike.
        An iterator of batches is one request each; it is read to its end and gives a list of their results.
        """
        refuse_on_error(on_error)
        data = rows_at_once(self._spec, data)
        if id is not None:
            as_id_of_one(id, data)
        if is_stream(data):
            results = each_batch(self.many, data)
            return None if self._spec.result == NONE else results
        sent = outgoing(self._spec, data, self._adopting)
        table = None if sent.table is None else pack_table(sent.table)
        try:
            found = self._app._ask("many", self._spec.name, sent.rows, table, id, effects=True)
        except BadInput as error:
            raise tell_here(error, sent.check) from error.__cause__
        return sent.results(None if found is None else unpack_table(found))


def answer(values: Values, data: bytes | memoryview) -> Any:
    """What an answer says, or raises."""
    match values.decode(data):
        case ("gave", found):
            return found
        case ("raised", packed):
            error = unpack_error(packed)
            try:
                raise error
            finally:
                del error  # else the traceback holds this frame, and the frame the exception
    raise Malformed(f"{len(data)} bytes are no answer")


class _TypeText(str):
    """The text of a type in a signature, which shows it without quotes as it shows types."""

    def __repr__(self) -> str:
        return str(self)


def _signature(spec: EntrySpec) -> inspect.Signature:
    parameters = [
        inspect.Parameter(
            p.name,
            inspect.Parameter.POSITIONAL_OR_KEYWORD,
            default=p.default if p.has_default else inspect.Parameter.empty,
            annotation=p.type.cls if isinstance(p.type, Record) else _TypeText(p.type),
        )
        for p in spec.parameters
    ]
    return inspect.Signature(parameters, return_annotation=_TypeText(spec.result))
