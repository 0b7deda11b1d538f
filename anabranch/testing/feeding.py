"""A source and a sink in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, overload


class Source(Sequence[Any]):
    """Batches, to be given to an entry one by one. It can be read again, and `app.NAME.many(iter(source))` is a stream.

    >>> source = Source.of_rows([(1, 10), (1, 11), (2, 10)], size=2)
    >>> source.append([(2, 12)])
    >>> list(source)
    [[(1, 10), (1, 11)], [(2, 10)], [(2, 12)]]
    """

    def __init__(self, batches: Iterable[Any] = ()) -> None:
        self._batches = list(batches)

    @classmethod
    def of_rows(cls, rows: Iterable[Any], size: int = 1) -> Source:
        """Batches of so many rows each; the last may have fewer."""
        if size < 1:
            raise ValueError(f"size is the number of rows of a batch, at least 1, got {size!r}")
        every = list(rows)
        return cls([every[i : i + size] for i in range(0, len(every), size)])

    def append(self, batch: Any) -> None:
        """One more batch, at the end."""
        self._batches.append(batch)

    def __len__(self) -> int:
        return len(self._batches)

    @overload
    def __getitem__(self, at: int) -> Any: ...
    @overload
    def __getitem__(self, at: slice) -> Source: ...
    def __getitem__(self, at: int | slice) -> Any:
        return Source(self._batches[at]) if isinstance(at, slice) else self._batches[at]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._batches)

    def __repr__(self) -> str:
        return f"Source({self._batches!r})"


class Sink(Sequence[Any]):
    """Keeps results, those of one batch after the other. It can be the `sink` of `app.NAME.stream` too.

    >>> sink = Sink()
    >>> sink({"result": [1, 2]}); sink([3])
    >>> sink[1], sink.rows()
    ([3], [1, 2, 3])
    """

    def __init__(self) -> None:
        self._results: list[Any] = []
        self._places: dict[Any, int] = {}  # of batches that have a name

    def __call__(self, results: Any, batch: Any = None) -> None:
        """Results that come again under the name of their batch take the place of the first."""
        if hasattr(results, "toArrow"):
            results = results.toArrow()
        if batch is not None and batch in self._places:
            self._results[self._places[batch]] = results
            return
        if batch is not None:
            self._places[batch] = len(self._results)
        self._results.append(results)

    def rows(self) -> list[Any]:
        """The results of all rows, whatever kind the batches were of; those of a record come as dicts."""
        return [row for results in self._results for row in _rows(results)]

    def __len__(self) -> int:
        return len(self._results)

    @overload
    def __getitem__(self, at: int) -> Any: ...
    @overload
    def __getitem__(self, at: slice) -> list[Any]: ...
    def __getitem__(self, at: int | slice) -> Any:
        return self._results[at]

    def __repr__(self) -> str:
        return f"Sink({self._results!r})"


def _rows(results: Any) -> list[Any]:
    if results is None:
        return []
    if isinstance(results, list):
        return results
    if not isinstance(results, Mapping):
        import pyarrow as pa

        results = pa.table(results).to_pydict()
    if list(results) == ["result"]:
        return list(results["result"])
    return [dict(zip(results, row, strict=True)) for row in zip(*results.values(), strict=True)]
