"""What is not generated for the tests, as it shows a defect that is known: each with a program that shows it.

A strict test runs each program: it fails once the defect is mended, and then the line is to be removed here. Without
the line the generator makes it again. `generate(choices, withheld=())` makes everything.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Defect:
    """`body` is of a class with the tables `t` and `u`; its entry `e` is run `times` times with 65 rows or one."""

    why: str
    body: str
    tier: str = "compiled"
    batch: int = 0
    times: int = 1


HEAD = """
import anabranch as ab

class P(ab.Program):
    t: ab.Partitioned[ab.Table[int, int]] = ab.Table(default=0)
    u: ab.Partitioned[ab.Table[int, list[int]]]
    def same(self, xs: list[int]) -> list[int]:
        return xs
    def _size(self, xs: list[int]) -> int:
        return len(xs)
"""

WITHHELD: dict[str, Defect] = {
    "repeated batches": Defect(
        "what is allocated for results doubles with each batch of more than 64 rows",
        "def e(self, k: int) -> str:\n    return str(k)",
        batch=65,
        times=120,
    ),
    "optional containers": Defect(
        "a list made for an optional list cannot be compiled",
        "def e(self, k: int) -> int:\n    xs: list[int] | None = [k]\n    return 0 if xs is None else len(xs)",
    ),
    "empty containers by name": Defect(
        "a call that gives an empty list loses the names of its arguments",
        "def e(self, k: int) -> int:\n    self.t[k] += 1\n    return self._size(sorted([], reverse=True))",
        tier="python",
    ),
    "changed defaults": Defect(
        "the default of get and pop is not copied",
        "def e(self, k: int) -> list[int]:\n    xs = [k]\n    ys = self.u.get(k, xs)\n    xs.append(3)\n    return ys",
    ),
    "changed arguments of entries": Defect(
        "arguments and results of a called entry are not copied",
        "def e(self, k: int) -> list[int]:\n    xs = [k]\n    ys = self.same(xs)\n    ys.append(3)\n    return xs",
    ),
    "lone surrogates": Defect(
        "a text that is not valid UTF-8 cannot be compiled",
        'def e(self, k: int) -> str:\n    return str(k).replace("\\udcff", "?")',
    ),
    "state loops": Defect("a row that runs on a state that lacks what rows before it wrote may never end", ""),
}
