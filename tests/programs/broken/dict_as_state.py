"""A state of a type that is a value, not a state."""

import anabranch as ab


class Store(ab.Program):
    data: ab.Partitioned[dict[str, int]]  #! AB201

    def put(self, key: str, value: int) -> None:
        self.data[key] = value
