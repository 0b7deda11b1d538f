"""Annotations that have no Arrow type."""

from typing import Any

import anabranch as ab


class Store(ab.Program):
    data: ab.Partitioned[ab.Table[str, str]]

    def put(self, key: str, value: int | str) -> None:  #! AB204
        self.data[key] = str(value)

    def get(self, key: str) -> Any:  #! AB204
        return self.data[key]
