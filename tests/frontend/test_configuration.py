"""What `__init__` sets is configuration, however it is written."""

from __future__ import annotations

import anabranch as ab


class Together(ab.Program):
    sums: ab.Partitioned[ab.Table[int, float]] = ab.Table(default=0.0)

    def __init__(self, a: int, b: float) -> None:
        self.a, (self.b, self.name) = a, (b, "name")
        self.d = self.e = 3

    def add(self, k: int) -> float:
        self.sums[k] += self.a * self.b + self.d + self.e + len(self.name)
        return self.sums[k]


def pair() -> tuple[int, float]:
    return 1, 2.0


class Taken(ab.Program):
    sums: ab.Partitioned[ab.Table[int, float]] = ab.Table(default=0.0)

    def __init__(self) -> None:
        self.a, self.b = pair()

    def add(self, k: int) -> None:
        self.sums[k] += self.b


class Annotated(ab.Program):
    b: float
    sums: ab.Partitioned[ab.Table[int, float]] = ab.Table(default=0.0)

    def __init__(self) -> None:
        self.a, self.b = pair()

    def add(self, k: int) -> None:
        self.sums[k] += self.b


def test_names_that_are_set_together_have_types_of_their_own() -> None:
    assert ab.check(Together) == []
    plain = Together(2, 0.5)
    with ab.run(Together(2, 0.5)) as app:
        assert [app.add(1), app.add(1)] == [plain.add(1), plain.add(1)] == [11.0, 22.0]


def test_of_what_only_a_run_can_take_apart_a_type_is_asked_for() -> None:
    (found,) = ab.check(Taken)
    assert (found.code, found.hint) == ("AB205", "annotate it in the class body: b: float")
    assert ab.check(Annotated) == []
