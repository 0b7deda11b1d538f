"""The content of own state types as bytes that a later version of the program can read.

Law: `decode(encode(x))` is `x`; records are found by their names, whatever else the program has gained or lost.
"""

from __future__ import annotations

from typing import Any

from anabranch.drivers.values import Malformed, Values, records_of
from anabranch.graph.nodes import Graph


class Owns:
    def __init__(self, graph: Graph) -> None:
        self._records = {cls.__qualname__: cls for cls in records_of(graph)}
        self._names = tuple(self._records)
        self._plain, self._values = Values(), Values(list(self._records.values()))

    def encode(self, attributes: Any) -> bytes:
        return self._plain.encode((self._names, self._values.encode(attributes)))

    def decode(self, data: bytes) -> Any:
        names, inner = self._plain.decode(data)
        if names == self._names:
            return self._values.decode(inner)
        missing = [name for name in names if name not in self._records]
        known = Values([self._records.get(name, _unknown(name)) for name in names])
        try:
            return known.decode(inner)
        except Malformed as error:
            if not missing:
                raise
            raise Malformed(f"{error}; the program no longer has the record {', '.join(missing)}") from None


def _unknown(name: str) -> type:
    """Stands for a record that the program no longer has: what holds one cannot be read."""

    def refuse(cls: type, *args: Any) -> Any:
        raise Malformed(f"it holds a {name}")

    return type(name, (tuple,), {"_fields": (), "__new__": refuse})
