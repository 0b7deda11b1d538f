"""An entry of a running app."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from anabranch.lang.calling import Calling, as_id_of_one
from anabranch.lang.columns import is_stream
from anabranch.lang.entry import not_yet_on_entries, refuse_on_error
from anabranch.lang.spec import EntrySpec
from anabranch.lang.streams import rows_at_once
from anabranch.lang.types import NONE

if TYPE_CHECKING:
    from anabranch.engines.embedded.app import App


class AppEntry:
    """An entry of a running app: `app.NAME(...)` calls it with one row, `app.NAME.many(...)` with a batch of rows. With
    `id="..."` a call that is repeated is carried out once, and answered alike, also after a restart of a saved app.
    """

    def __init__(self, app: App, spec: EntrySpec) -> None:
        self._app, self._spec = app, spec
        self.calling = Calling(spec)
        self.__name__, self.__doc__ = spec.name, spec.function.__doc__
        signature = inspect.signature(spec.function)
        self.__signature__ = signature.replace(parameters=list(signature.parameters.values())[1:])

    def __get__(self, instance: object, owner: type | None = None) -> AppEntry:
        """What has this counts as a routine: `help` then shows signature and docstring of the entry."""
        return self

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Call it with one row. With `id=` a call that is repeated is carried out once, and answered alike."""
        id = self.calling.id_in(kwargs)
        row = self.calling.row(args, kwargs)
        self._app._engine.tiers.expect(self._spec.name, 1)
        if id is not None:
            return self._app._once(self._spec, (row,), False, id)[0]
        return self._app._request(self._spec, (row,), False)[0]

    def __getattr__(self, name: str) -> Any:
        raise not_yet_on_entries(self._spec.name, name)

    def stream(self, frame: Any, *, sink: Any = None, **options: str) -> Any:
        """Feed a streaming DataFrame of Spark: each micro-batch is one request. Gives the `StreamingQuery`.

        `sink(results, batch_id)` gets the results of each as a DataFrame, the same again if it is tried again.
        `options` are those of Spark's stream writer, such as checkpointLocation.
        """
        if self._app._frames is None:
            raise TypeError(
                f"{self._spec.name}.stream needs workers on Spark: start the app with ab.run(..., on=spark)"
            )
        return self._app._frames.stream(self._spec, frame, sink, options)

    def __repr__(self) -> str:
        return f"<entry {self._spec.name} of {self._app!r}>"

    def many(self, data: Any, *, on_error: str = "raise", id: str | None = None) -> Any:
        """Run a batch as one request, whole or not at all: a dict of columns, a list of rows, pandas, polars or other
        Arrow data, on Spark also a DataFrame. Results come in kind, in order.

        With `id` a batch that is repeated is carried out once, and answered alike.
        An iterator of batches is one request each; it is read to its end and gives a list of their results.
        """
        refuse_on_error(on_error)
        data = rows_at_once(self._spec, data)
        if id is not None:
            return self._app._many_once(self._spec, data, as_id_of_one(id, data))
        if is_stream(data):
            results = self._app._each(self._spec, data)
            return None if self._spec.result == NONE else results
        return self._app._many(self._spec, data)
