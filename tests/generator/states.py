"""The states of a generated program: what is declared, how it is distributed and what may be stored."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tests.generator.choices import Choices
from tests.generator.valuetypes import (
    BOOL,
    BYTES,
    FLOAT,
    INT,
    STR,
    Type,
    dict_of,
    list_of,
    literal,
    optional,
    set_of,
    tuple_of,
)

DENSE_SIZE = 4
LARGEST_START, SMALLEST_START = -1, 1000  # templates of values merged by ab.largest and ab.smallest


@dataclass(frozen=True, slots=True)
class State:
    """A declared field.

    `key` is the type of a full key; `axis` says which part of it names the place: "first" for a table with `row`,
    "row" or "column" for a matrix, "" for the whole. `exact` floats have sums that do not depend on their order;
    a `wide` table of integers takes all that fit 64 bits. `merge` is that of a partial state.
    """

    name: str
    distribution: str
    form: str
    key: Type | None = None
    value: Type = FLOAT
    template: str = ""
    in_init: bool = False
    axis: str = ""
    default: bool = False
    exact: bool = False
    wide: bool = False
    merge: str = ""

    @property
    def partitioned(self) -> bool:
        return self.distribution == "Partitioned"

    @property
    def partial(self) -> bool:
        return self.distribution == "Partial"

    @property
    def replicated(self) -> bool:
        return self.distribution == "Replicated"

    @property
    def place(self) -> Type | None:
        """The type of what names a place in it."""
        if self.form in ("Vector", "Matrix", "DenseMatrix"):
            return INT
        return self.key.of if self.key is not None and self.axis == "first" else self.key

    @property
    def wide_keys(self) -> bool:
        """Are all 64-bit integers keys of it? Keys that end up in containers are small."""
        return self.partitioned and self.form == "Table" and self.key == INT

    @property
    def annotation(self) -> str:
        if self.form == "Own":
            return f"ab.{self.distribution}[{self.value}]"
        inner = {"Table": f"[{self.key}, {self.value}]", "Value": f"[{self.value}]"}.get(self.form, "")
        return f"ab.{self.distribution}[ab.{self.form}{inner}]"


KEYS = ((8, INT), (6, STR), (2, tuple_of(INT, STR)), (1, tuple_of(INT, INT)), (1, tuple_of(STR, INT)), (1, BOOL))
VALUES = ((9, INT), (3, FLOAT), (2, STR), (3, list_of(INT)), (2, optional(INT)), (1, list_of(STR)), (1, BOOL))
RARE_VALUES = ((1, tuple_of(INT, STR)), (1, dict_of(STR, INT)), (1, set_of(INT)), (1, optional(STR)))


def make_state(choices: Choices, number: int, types: list[Type], raising: bool, grouping: bool) -> State:
    kind = choices.weighted(((7, _partitioned), (3, _partial), (2, _replicated)))
    state = kind(choices, number, types, grouping)
    return state if raising else replace(state, wide=False)  # adding to a wide integer may overflow


def _table_values(choices: Choices, types: list[Type]) -> Type:
    return choices.weighted((*VALUES, *RARE_VALUES, *((3, type) for type in types)))


def _partitioned(choices: Choices, number: int, types: list[Type], grouping: bool) -> State:
    exact = choices.chance(40)
    form = choices.weighted(((10, "Table"), (3, "Row"), (2, "Vector"), (4, "Matrix"), (1, "DenseMatrix")))
    name = f"{form.lower()}{number}"
    if form == "Table":
        keys = (*KEYS, (4, BYTES)) if BYTES in types else KEYS
        return table(choices, name, "Partitioned", choices.weighted(keys), _table_values(choices, types), exact)
    if form == "Row":
        key = choices.choose((tuple_of(INT, INT), tuple_of(STR, INT), tuple_of(INT, STR), tuple_of(INT, STR, INT)))
        value = choices.choose((INT, FLOAT, STR, *types))
        return table(choices, name, "Partitioned", key, value, exact, axis="first")
    if form == "DenseMatrix":
        template = f"ab.DenseMatrix.zeros(7, {DENSE_SIZE})"
        in_init = choices.chance(50)
        return State(name, "Partitioned", form, tuple_of(INT, INT), FLOAT, template, in_init, "row", exact=exact)
    if form == "Matrix":
        axis = choices.choose(("row", "column"))
        return State(name, "Partitioned", form, tuple_of(INT, INT), axis=axis, exact=exact)
    return State(name, "Partitioned", form, INT, exact=exact)


def table(choices: Choices, name: str, distribution: str, key: Type, value: Type, exact: bool, axis: str = "") -> State:
    default = value in (INT, FLOAT, STR, list_of(INT)) and choices.chance(40)
    wide = value == INT and not axis and distribution == "Partitioned" and choices.chance(45)
    template = f"ab.Table(default={literal(choices, value)})" if default else ""
    if not default and choices.chance(15):
        template = f"ab.Table({{{literal(choices, key)}: {literal(choices, value)}}})"
    exact = exact and value == FLOAT and not template
    return State(name, distribution, "Table", key, value, template, choices.chance(50), axis, default, exact, wide)


def _partial(choices: Choices, number: int, types: list[Type], grouping: bool) -> State:
    form = choices.weighted(((4, "Table"), (4, "Matrix"), (3, "Vector"), (3, "Value"), (2, "DenseVector")))
    name, in_init = f"partial{number}", choices.chance(30)
    if form == "Matrix":
        return State(name, "Partial", form, tuple_of(INT, INT), FLOAT, "", False, exact=True, merge="add")
    if form == "Vector":
        template = choices.choose(("", "ab.Vector()", "ab.partial(ab.Vector(), merge=ab.add)"))
        return State(name, "Partial", form, INT, FLOAT, template, in_init, exact=True, merge="add")
    if form == "DenseVector":
        merge = "mean" if grouping and choices.chance(40) else "add"
        zeros = f"ab.DenseVector.zeros({DENSE_SIZE})"
        template = zeros if merge == "add" else f"ab.partial({zeros}, merge=ab.mean)"
        return State(name, "Partial", form, INT, FLOAT, template, in_init, exact=True, merge=merge)
    merge = choices.choose(("add", "largest", "smallest"))
    if form == "Value":
        start = {"add": 0, "largest": LARGEST_START, "smallest": SMALLEST_START}[merge]
        template = f"ab.partial(ab.Value({start}), merge=ab.{merge})"
        return State(name, "Partial", form, None, INT, template, in_init, merge=merge)
    key = choices.weighted(KEYS[:3])
    if grouping and choices.chance(40):
        value = _table_values(choices, types)
        return State(name, "Partial", form, key, value)  # no merge: each instance is on its own
    inner = "ab.Table(default=0)" if merge == "add" else "ab.Table()"
    template = f"ab.partial({inner}, merge=ab.{merge})"
    return State(name, "Partial", form, key, INT, template, in_init, default=merge == "add", merge=merge)


def _replicated(choices: Choices, number: int, types: list[Type], grouping: bool) -> State:
    form = choices.weighted(((4, "Table"), (3, "Value"), (2, "DenseVector"), (2, "Vector"), (1, "Matrix")))
    name, in_init = f"replicated{number}", choices.chance(40)
    if form == "Table":
        return table(choices, name, "Replicated", choices.weighted(KEYS[:3]), _table_values(choices, types), False)
    if form == "Value":
        value = choices.choose((INT, STR, FLOAT, list_of(INT), *types))
        return State(name, "Replicated", form, None, value, f"ab.Value({literal(choices, value)})", in_init)
    if form == "DenseVector":
        return State(name, "Replicated", form, INT, FLOAT, f"ab.DenseVector.zeros({DENSE_SIZE})", in_init)
    key = tuple_of(INT, INT) if form == "Matrix" else INT
    return State(name, "Replicated", form, key, FLOAT)
