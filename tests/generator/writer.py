"""The writer of one method: its lines, the variables in scope, and what may be written where.

Everything that generates code gets a `Writer`, asks it for choices and variables and hands it lines. What keeps
programs valid and quick is kept here: which variables are alive on all paths, what may be changed in place, how far an
integer, a length or a loop can go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from tests.generator.choices import Choices
from tests.generator.states import State
from tests.generator.valuetypes import SMALL, WIDEST, Type

STEPS = 1500  # what one call of an entry may cost, about one per statement and iteration
LONG = 1000  # what can grow is taken to be this long
NAMES = {"int": "n", "float": "x", "bool": "ok", "str": "s", "optional": "maybe", "tuple": "pair", "list": "xs"}
NAMES |= {"dict": "d", "set": "seen", "record": "r", "Vector": "v", "DenseVector": "w"}
NAMES |= {"bytes": "octets", "date": "day", "datetime": "moment", "timedelta": "span"}


@dataclass(frozen=True, slots=True)
class Expr:
    """A piece of code with what is known of its value.

    `low` and `high` bound an integer, `size` bounds the length of a string or container. `exact` floats are small
    multiples of 1/8, whose sums are the same in any order. `fresh` values belong to nobody else: a variable that
    holds one may be changed in place. `atom` means that no parentheses are needed around it.
    """

    text: str
    type: Type
    low: int = -WIDEST - 1
    high: int = WIDEST
    size: int = 8
    exact: bool = False
    fresh: bool = False
    atom: bool = True

    @property
    def inner(self) -> str:
        """The text as an operand."""
        return self.text if self.atom else f"({self.text})"

    def within(self, low: int, high: int) -> bool:
        return low <= self.low and self.high <= high

    @property
    def small(self) -> bool:
        return self.type.kind != "int" or self.within(-SMALL, SMALL)


@dataclass(frozen=True, slots=True)
class Variable:
    """A name in scope; what is known of its value holds for all that is assigned to it."""

    name: str
    value: Expr
    assignable: bool = False
    mutable: bool = False

    @property
    def type(self) -> Type:
        return self.value.type


@dataclass(frozen=True, slots=True)
class Param:
    """A parameter: what may be passed, and the text of its default if it has one."""

    name: str
    value: Expr
    default: str = ""

    @property
    def type(self) -> Type:
        return self.value.type


@dataclass(frozen=True, slots=True)
class Function:
    """A function, helper or entry that has been written and can be called: `text` is how."""

    text: str
    params: tuple[Param, ...]
    result: Type
    cost: int
    stateful: bool
    small: bool = False  # its integer results are small
    entry: bool = False


@dataclass(slots=True)
class Plan:
    """What is decided for the whole program before its methods are written."""

    records: list[Type] = field(default_factory=list)
    states: list[State] = field(default_factory=list)
    config: list[Expr] = field(default_factory=list)
    functions: list[Function] = field(default_factory=list)
    features: set[str] = field(default_factory=set)
    raising: bool = False  # entries may raise
    grouping: bool = False  # results may depend on how work is assigned to instances
    odd_floats: bool = False  # nan, infinities and -0.0 appear
    themes: frozenset[str] = frozenset()
    types: list[Type] = field(default_factory=list)  # that the themes bring
    loops: list[State] = field(default_factory=list)  # states of entries with a loop that earlier rows end

    def has(self, theme: str) -> bool:
        return theme in self.themes


@dataclass(frozen=True, slots=True)
class Focus:
    """The only key, and the states it is a key of, that may be accessed for now: makes straight entries."""

    key: Expr | None
    states: tuple[State, ...]


class Writer:
    def __init__(self, choices: Choices, plan: Plan, result: Type, small_result: bool = False) -> None:
        self.choices = choices
        self.plan = plan
        self.result = result
        self.small_result = small_result
        self.lines: list[str] = []
        self.depth = 2
        self.variables: list[Variable] = []
        self.params: set[str] = set()
        # An optional is either narrowed once or tested in conditions: never narrowed where it is known to be None.
        self.narrowed: set[str] = set()
        self.tested: set[str] = set()
        self.pure = False
        self.stateful = False
        self.cost = 0
        self.rounds = 1  # how often the current line runs at most
        self.focus: Focus | None = None
        self.loops: list[str] = []
        self.nesting = 0  # how many reads of state the current expression stands inside of
        self._counters: dict[str, int] = {}

    # Lines and names

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)
        self.cost += self.rounds

    def name(self, prefix: str) -> str:
        self._counters[prefix] = self._counters.get(prefix, 0) + 1
        return f"{prefix}{self._counters[prefix]}"

    def uses(self, *features: str) -> None:
        self.plan.features.update(features)

    # Scope

    def declare(self, value: Expr, *, assignable: bool = True, mutable: bool = False, name: str = "") -> Variable:
        """A new variable that holds what `value` describes; the caller writes the line that sets it."""
        name = name or self.name(NAMES[value.type.kind])
        known = replace(value, text=name, fresh=False, atom=True, size=LONG if mutable else value.size)
        variable = Variable(name, known, assignable and not value.type.mutable, mutable)
        self.variables.append(variable)
        return variable

    def bind(self, value: Expr, *, annotate: bool = False) -> Variable:
        """Write `name = value` and declare the name."""
        flat = not any(inside.sharing for inside in value.type.args)
        variable = self.declare(value, mutable=value.fresh and value.type.mutable and flat)
        note = f": {value.type}" if annotate else ""
        self.line(f"{variable.name}{note} = {value.text}")
        return variable

    def visible(self) -> list[Variable]:
        return list({v.name: v for v in self.variables}.values())

    def pick(self, fits: Callable[[Variable], bool]) -> Variable | None:
        found = [v for v in self.visible() if fits(v)]
        return self.choices.choose(found[::-1]) if found else None

    def pick_type(self, type: Type) -> Variable | None:
        return self.pick(lambda v: v.type == type)

    @contextmanager
    def block(self, rounds: int = 1) -> Iterator[None]:
        """An indented block: its variables end with it; in a loop it runs `rounds` times."""
        mark, before = len(self.variables), self.rounds
        self.depth += 1
        self.rounds *= max(rounds, 1)
        start = len(self.lines)
        yield
        if len(self.lines) == start:
            self.line("pass")
        self.depth -= 1
        self.rounds = before
        del self.variables[mark:]

    @contextmanager
    def loop(self, kind: str, rounds: int) -> Iterator[None]:
        self.loops.append(kind)
        with self.block(rounds):
            yield
        self.loops.pop()

    @contextmanager
    def untouched(self, *names: str) -> Iterator[None]:
        """These variables keep what they hold for now: a list is not changed while a loop walks over it."""
        mark = len(self.variables)
        self.variables += [replace(v, assignable=False, mutable=False) for v in self.visible() if v.name in names]
        yield
        del self.variables[mark:]

    @contextmanager
    def captured(self, *variables: Variable) -> Iterator[None]:
        """These variables are there for now."""
        mark = len(self.variables)
        self.variables += variables
        yield
        del self.variables[mark:]

    @contextmanager
    def without_state(self, *bound: Variable) -> Iterator[None]:
        """Inside lambda, comprehension and try: no state, and these variables."""
        before, self.pure = self.pure, True
        with self.captured(*bound):
            yield
        self.pure = before

    @contextmanager
    def focused(self, focus: Focus | None) -> Iterator[None]:
        before, self.focus = self.focus, focus
        yield
        self.focus = before

    def affords(self, rounds: int) -> bool:
        """Is there time to run something with `rounds` steps here?"""
        return self.cost + self.rounds * rounds * 2 <= STEPS

    # State

    def states(self, fits: Callable[[State], bool]) -> list[State]:
        """The states that may be accessed here."""
        if self.pure:
            return []
        allowed = self.plan.states if self.focus is None else self.focus.states
        return [s for s in allowed if fits(s)]

    def touch(self, state: State) -> str:
        """The text of an access to the state."""
        assert not self.pure, f"{state.name} is accessed where no state may be"
        self.stateful = True
        self.uses(state.distribution.lower(), state.form)
        return f"self.{state.name}"
