"""What a kernel looks up once, before its first row: where columns, stores and entries are.

Nothing of it moves while the kernel runs, but a compiler cannot know: every store to memory could change it. So it is
read into variables, and each function of the kernel gets them all.
"""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.kernels.native.memory import CHUNKS, ENTRIES, INDEX, INPUTS, LOW, MASK, NUMBERS, OUTPUTS, SECRET, STORES
from anabranch.kernels.native.shapes import Shape

INSTANCE = "n0"  # the address of the instance at hand, where a kernel works at one
ARGS = ", *once"  # stands in a text for the variables until all are known
LINES = "    # once"  # the same for the lines that read them
FIELDS = {
    "index": INDEX,
    "mask": MASK,
    "chunks": CHUNKS,
    "low": LOW,
    "numbers": NUMBERS,
    "secret": SECRET,
    "entries": ENTRIES,
}
ALONE, AT_HOME = "load(load(c + 40))", "load(load(c + 40) + 8 * load(c + 120))"


@dataclass(frozen=True, slots=True)
class Where:
    """The names of the variables, or what gives them, that say where a store is."""

    instance: str
    hdr: str
    index: str
    mask: str
    chunks: str
    low: str
    numbers: str
    secret: str
    entries: str

    @property
    def search(self) -> str:
        """The index, as a search takes it."""
        return f"{self.index}, {self.mask}, {self.chunks}, {self.low}, {self.numbers}, {self.secret}"

    def entry(self, shape: Shape, number: str) -> str:
        """The address of an entry."""
        return f"({self.entries} + {shape.size} * {number})"


class Once:
    """The variables of one kernel."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def let(self, name: str, text: str) -> str:
        self._texts[name] = text
        return name

    def input(self, word: int, row: str) -> str:
        """The address of a word of a row that is read from columns."""
        return self._column("in", "by", INPUTS, word, row)

    def output(self, word: int, row: str) -> str:
        return self._column("out", "step", OUTPUTS, word, row)

    def _column(self, address: str, stride: str, table: int, word: int, row: str) -> str:
        address = self.let(f"{address}{word}", f"load(load(c + {table}) + {16 * word})")
        stride = self.let(f"{stride}{word}", f"load(load(c + {table}) + {16 * word + 8})")
        return f"{address} + {row} * {stride}"

    def store(self, shape: Shape) -> Where:
        """Of the instance at hand."""
        hdr = self.let(f"hdr{shape.number}", f"load({INSTANCE} + {STORES + 8 * shape.number})")
        return Where(
            INSTANCE, hdr, *(self.let(f"{name}{shape.number}", f"load({hdr} + {at})") for name, at in FIELDS.items())
        )

    def written(self, text: str) -> str:
        """The text of the kernel with the variables in their places."""
        lines = "\n".join(f"    {name} = {text}" for name, text in self._texts.items())
        return text.replace(ARGS, "".join(f", {name}" for name in self._texts)).replace(LINES, lines)


def store_of(instance: str, hdr: str) -> Where:
    """Where a store is of which only the address is known."""
    return Where(instance, hdr, *(f"load({hdr} + {at})" for at in FIELDS.values()))
