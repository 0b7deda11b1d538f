"""Random inputs for a generated program: calls and batches, with keys from small pools so that they collide.

Arguments are source text, evaluated in the program's module by `plain.arguments`: records are of its classes, and what
is printed for a failure can be pasted.
"""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

from tests.generator.batches import FORMS
from tests.generator.choices import Choices, DrawnChoices
from tests.generator.programs import GeneratedEntry, GeneratedProgram
from tests.generator.state_loops import PARAMS as LOOP_PARAMS
from tests.generator.texts import ODD_TEXTS, SURROGATES
from tests.generator.valuetypes import BOUNDARY_INTS, EXACT_FLOATS, FLOAT, INT, ODD_FLOATS, SMALL, STR, Type, literal
from tests.generator.writer import Expr

LENGTHS = (66, 63, 64, 65, 127, 128, 129, 1000)
STEPS_OF_BATCH, STEPS_OF_REPEATS = 6_000, 40_000
REPEATS = 40
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
    """One request of several rows, each with all arguments: the rows again and again until there are `length`.

    `form` says how they are handed over, see batches.py.
    """

    entry: str
    rows: tuple[tuple[str, ...], ...]
    length: int = -1
    form: str = "rows"

    @property
    def all_rows(self) -> list[tuple[str, ...]]:
        count = len(self.rows) if self.length < 0 else self.length
        return [self.rows[i % len(self.rows)] for i in range(count)]

    def __str__(self) -> str:
        rows = ", ".join(f"({', '.join(row)},)" for row in self.rows)
        shown = f"[{rows}]" if self.length < 0 else f"([{rows}] * {self.length})[:{self.length}]"
        return f"{self.entry}.many({shown}){'' if self.form == 'rows' else f' as {self.form}'}"


Request = Call | Batch


def generate_calls(choices: Choices, program: GeneratedProgram, most: int = 30) -> list[Call]:
    return [_call(choices, program) for _ in range(choices.integer(0, most))]


def generate_requests(choices: Choices, program: GeneratedProgram, most: int = 12) -> list[Request]:
    """Calls and batches; a program with large batches may be given one again and again."""
    requests: list[Request] = []
    for _ in range(choices.integer(0, most)):
        requests.append(_batch(choices, program) if choices.chance(40) else _call(choices, program))
    if "large batches" in program.themes and most:
        large = _large_batch(choices, program)
        again = choices.chance(50)
        if large is not None:
            cost = next(e.cost for e in program.entries if e.name == large.entry)
            often = min(REPEATS, STEPS_OF_REPEATS // max(1, cost * large.length)) if again else 1
            requests += [large] * max(1, often)
    return requests


@st.composite
def calls_of(draw: st.DrawFn, program: GeneratedProgram, most: int = 30) -> list[Call]:
    return generate_calls(DrawnChoices(draw), program, most)


@st.composite
def requests_of(draw: st.DrawFn, program: GeneratedProgram, most: int = 12) -> list[Request]:
    return generate_requests(DrawnChoices(draw), program, most)


def _call(choices: Choices, program: GeneratedProgram) -> Call:
    entry = choices.choose(program.entries)
    args = ensured(entry, (_row(choices, entry),))[0]
    texts = [i for i, p in enumerate(entry.params) if p.type == STR]
    if texts and {"raises", "theme: surrogates"} <= program.features and choices.chance(10):
        bad = choices.choose(texts)  # no valid text: refused
        return Call(entry.name, (*args[:bad], ascii(choices.choose(SURROGATES)), *args[bad + 1 :]))
    defaults = sum(1 for p in entry.params if p.default)
    return Call(entry.name, args[: len(args) - (choices.integer(0, defaults) if defaults else 0)])


def _batch(choices: Choices, program: GeneratedProgram) -> Batch:
    entry = choices.choose(program.entries)
    rows = tuple(_row(choices, entry) for _ in range(choices.integer(0, 5)))
    return Batch(entry.name, ensured(entry, rows), form=_form(choices, program))


def _large_batch(choices: Choices, program: GeneratedProgram) -> Batch | None:
    """Many rows, of few keys: as many as is quick."""
    entries = [e for e in program.entries if e.cost * LENGTHS[0] <= STEPS_OF_BATCH]
    if not entries:
        return None
    growing = [e for e in entries if e.result.kind in ("str", "bytes", "list", "dict", "set")]
    entry = choices.choose(growing if growing and choices.chance(75) else entries)
    length = choices.choose([n for n in LENGTHS if entry.cost * n <= STEPS_OF_BATCH])
    rows = tuple(_row(choices, entry) for _ in range(choices.choose((3, 1, 8))))
    return Batch(entry.name, ensured(entry, rows), length, _form(choices, program))


def _form(choices: Choices, program: GeneratedProgram) -> str:
    return choices.choose(("rows", *FORMS)) if "column batches" in program.themes else "rows"


def ensured(entry: GeneratedEntry, rows: tuple[tuple[str, ...], ...]) -> tuple[tuple[str, ...], ...]:
    """The rows with a `start` in the first for each key alone: without it loops on state do not end."""
    names = [p.name for p in entry.params]
    if names != list(LOOP_PARAMS):
        return rows
    seen: set[str] = set()
    found = []
    for key, other, start, amount in rows:
        found.append((key, other, "0" if key in seen else str(1 + int(start)), amount))
        seen.add(key)
    return tuple(found)


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
            return ascii(choices.choose(ODD_TEXTS)) if choices.chance(6) else repr(choices.choose(TEXTS))
        case "optional":
            return "None" if choices.chance(30) else value(choices, type.of)
        case "tuple":
            return f"({', '.join(value(choices, t) for t in type.args)})"
        case "list":
            return f"[{', '.join(value(choices, type.of) for _ in range(choices.integer(0, 5)))}]"
        case "set":
            members = dict.fromkeys(value(choices, type.of) for _ in range(choices.integer(0, 4)))
            return f"{{{', '.join(members)}}}" if members else "set()"
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
