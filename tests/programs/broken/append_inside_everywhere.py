"""A local list changed once per worker."""

import anabranch as ab


class Counter(ab.Program):
    count: ab.Partial[ab.Value[int]] = ab.partial(ab.Value(0), merge=ab.add)

    def add(self) -> None:
        self.count.value += 1

    def parts(self) -> list[int]:
        parts: list[int] = []
        ab.everywhere(parts.append(self.count.value))  #! AB412
        return parts
