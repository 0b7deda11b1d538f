"""Random inputs for a generated program: calls and batches, with keys from small pools so that they collide.

Arguments are source text, evaluated in the program's module by `plain.arguments`: records are of its classes, and what
is printed for a failure can be pasted.
"""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

from tests.generator.choices import Choices, DrawnChoices
from tests.generator.programs import GeneratedEntry, GeneratedProgram
from tests.generator.valuetypes import BOUNDARY_INTS, EXACT_FLOATS, FLOAT, INT, ODD_FLOATS, SMALL, Type, literal
from tests.generator.writer import Expr

TEXTS = ("a", "b", "ab", "Abc", "a b", "b a b", "", "zeta", "12", "a-b", "ä", "7 a")


@dataclass(frozen=True, slots=True)
class Call:
    """One call; the last arguments may be missing where the entry has defaults."""

    entry: str
    args: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.entry}({', '.join(self.args)})"


@dataclass(frozen=True, slots=True)
class Batch:
    """One request of several rows, each with all arguments."""

    entry: str
    rows: tuple[tuple[str, ...], ...]

    def __str__(self) -> str:
        rows = [f"({', '.join(row)},)" for row in self.rows]
        return f"{self.entry}.many([{', '.join(rows)}])"


Request = Call | Batch


def generate_calls(choices: Choices, program: GeneratedProgram, most: int = 30) -> list[Call]:
    return [_call(choices, program) for _ in range(choices.integer(0, most))]


def generate_requests(choices: Choices, program: GeneratedProgram, most: int = 12) -> list[Request]:
    """Calls and batches."""
    requests: list[Request] = []
    for _ in range(choices.integer(0, most)):
        requests.append(_batch(choices, program) if choices.chance(40) else _call(choices, program))
    return requests


@st.composite
def calls_of(draw: st.DrawFn, program: GeneratedProgram, most: int = 30) -> list[Call]:
    return generate_calls(DrawnChoices(draw), program, most)


@st.composite
def requests_of(draw: st.DrawFn, program: GeneratedProgram, most: int = 12) -> list[Request]:
    return generate_requests(DrawnChoices(draw), program, most)


def _call(choices: Choices, program: GeneratedProgram) -> Call:
    entry = choices.choose(program.entries)
    args = _row(choices, entry)
    defaults = sum(1 for p in entry.params if p.default)
    return Call(entry.name, args[: len(args) - (choices.integer(0, defaults) if defaults else 0)])


def _batch(choices: Choices, program: GeneratedProgram) -> Batch:
    entry = choices.choose(program.entries)
    return Batch(entry.name, tuple(_row(choices, entry) for _ in range(choices.integer(0, 5))))


def _row(choices: Choices, entry: GeneratedEntry) -> tuple[str, ...]:
    return tuple(argument(choices, p.value) for p in entry.params)


def argument(choices: Choices, wanted: Expr) -> str:
    """A value within what the entry was told of its parameter."""
    type = wanted.type
    if type == INT:
        return _integer(choices, wanted)
    if type == FLOAT:
        return repr(choices.choose(EXACT_FLOATS)) if wanted.exact else _float(choices)
    return value(choices, type)


def value(choices: Choices, type: Type) -> str:
    match type.kind:
        case "int":
            return str(choices.integer(0, 6) if choices.chance(70) else choices.integer(-100, SMALL))
        case "float":
            return _float(choices)
        case "str":
            return repr(choices.choose(TEXTS))
        case "optional":
            return "None" if choices.chance(30) else value(choices, type.of)
        case "tuple":
            return f"({', '.join(value(choices, t) for t in type.args)})"
        case "list":
            return f"[{', '.join(value(choices, type.of) for _ in range(choices.integer(0, 5)))}]"
        case "dict":
            items = (f"{value(choices, type.of)}: {value(choices, type.args[1])}" for _ in range(choices.integer(0, 4)))
            return f"{{{', '.join(items)}}}"
        case "record":
            return f"{type.name}({', '.join(value(choices, t) for _, t in type.fields)})"
        case "Vector":
            items = (f"{choices.integer(0, 6)}: {_float(choices)}" for _ in range(choices.integer(0, 3)))
            return f"ab.Vector({{{', '.join(items)}}})"
    return literal(choices, type)


def _integer(choices: Choices, wanted: Expr) -> str:
    if wanted.low == 0 or choices.chance(70):
        return str(choices.integer(0, min(6, wanted.high)))
    if wanted.high > SMALL and choices.chance(40):
        return str(choices.choose(BOUNDARY_INTS))
    return str(choices.integer(-100, 100))


def _float(choices: Choices) -> str:
    if choices.chance(6):
        odd = choices.choose(ODD_FLOATS)
        return f'float("{odd}")'
    return repr(choices.integer(-400, 400) / 10)
