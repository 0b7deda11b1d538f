"""An entry written as a coroutine."""

import anabranch as ab


class Store(ab.Program):
    data: ab.Partitioned[ab.Table[str, int]]

    async def put(self, key: str, value: int) -> None:  #! AB501
        self.data[key] = value

    def get(self, key: str) -> int | None:
        return self.data.get(key)
