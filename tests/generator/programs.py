"""Random programs that are valid by construction: `generate(choices)`, and the hypothesis strategy `programs()`."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

# Imported for the forms and statements that they register.
from tests.generator import access, blocks, compounds, patterns, scalars, statements, vectors, writes  # noqa: F401
from tests.generator.choices import Choices, DrawnChoices, SeededChoices
from tests.generator.methods import write_entry, write_function, write_helper
from tests.generator.states import State, make_state
from tests.generator.valuetypes import BOOL, FLOAT, INT, STR, Type, dict_of, literal, optional, tuple_of
from tests.generator.writer import Expr, Param, Plan


@dataclass(frozen=True)
class GeneratedEntry:
    name: str
    params: tuple[Param, ...]
    result: Type


@dataclass(frozen=True)
class GeneratedProgram:
    """A module with a class `P`. `features` names what occurs in it, as described in features.py."""

    source: str
    entries: tuple[GeneratedEntry, ...]
    features: frozenset[str]

    def __repr__(self) -> str:
        return f"GeneratedProgram({', '.join(sorted(self.features))})\n{self.source}"


def generate(choices: Choices) -> GeneratedProgram:
    """A program made of the answers: equal answers, equal program."""
    plan = Plan(raising=choices.chance(55), grouping=choices.chance(35), odd_floats=choices.chance(15))
    plan.records = [_make_record(choices, i) for i in range(_few(choices, 60, 2))]
    # Before there are states and configuration: functions of the module see neither.
    functions = [write_function(choices, plan, i + 1) for i in range(_few(choices, 30, 2))]
    for i in range(_few(choices, 65, 4, 1)):
        plan.states.append(make_state(choices, i + 1, plan.records, plan.raising, plan.grouping))
    constants, settings = _make_config(choices, plan)
    helpers = [write_helper(choices, plan, i + 1) for i in range(_few(choices, 35, 2))]
    entries, methods = [], []
    for i in range(_few(choices, 60, 4, 1)):
        name, params, result, lines = write_entry(choices, plan, i + 1)
        entries.append(GeneratedEntry(name, params, result))
        methods.append(lines)
    source = _write_module(choices, plan, constants, settings, functions, [*methods, *helpers])
    return GeneratedProgram(source, tuple(entries), frozenset(plan.features))


def generate_seed(seed: int | str) -> GeneratedProgram:
    return generate(SeededChoices(seed))


@st.composite
def programs(draw: st.DrawFn) -> GeneratedProgram:
    return generate(DrawnChoices(draw))


def _few(choices: Choices, percent: int, most: int, least: int = 0) -> int:
    """A small number: each further one as likely as `percent` says."""
    number = least
    while number < most and choices.chance(percent):
        number += 1
    return number


def _make_record(choices: Choices, number: int) -> Type:
    pool = (INT, STR, FLOAT, BOOL, optional(INT), tuple_of(INT, INT))
    fields = [(f"{'abc'[i]}", choices.choose(pool)) for i in range(choices.integer(1, 3))]
    name = ("Point", "Item")[number]
    return Type("record", (), name, tuple(fields), choices.chance(50))


def _write_record(record: Type) -> list[str]:
    fields = [f"    {name}: {type}" for name, type in record.fields]
    if record.frozen_dataclass:
        return ["@dataclass(frozen=True)", f"class {record.name}:", *fields]
    return [f"class {record.name}(NamedTuple):", *fields]


def _make_config(choices: Choices, plan: Plan) -> tuple[list[str], list[str]]:
    """Constants of the class body and settings of `__init__`."""
    constants, settings = [], []
    for i in range(_few(choices, 45, 3)):
        type = choices.choose((INT, STR, dict_of(STR, INT), FLOAT, dict_of(INT, STR), tuple_of(INT, STR)))
        text = literal(choices, type)
        if type.kind == "dict" and text == "{}":
            text = f"{{{literal(choices, type.of)}: {literal(choices, type.args[1])}}}"
        name = f"setting{i + 1}"
        reach = (int(text), int(text)) if type == INT else (0, 0)
        plan.config.append(Expr(f"self.{name}", type, *reach))
        if type.kind in ("int", "str", "float") and choices.chance(30):
            constants.append(f"    {name} = {text}")
        else:
            settings.append(f"        self.{name} = {text}")
    return constants, settings


def _write_module(
    choices: Choices,
    plan: Plan,
    constants: list[str],
    settings: list[str],
    functions: list[list[str]],
    methods: list[list[str]],
) -> str:
    lines = ["from __future__ import annotations", ""] if choices.chance(20) else []
    bodies = [line for body in (*functions, *methods) for line in body]
    if any("math." in line for line in bodies):
        lines.append("import math")
    if any(r.frozen_dataclass for r in plan.records):
        lines.append("from dataclasses import dataclass")
    if any(not r.frozen_dataclass for r in plan.records):
        lines.append("from typing import NamedTuple")
    lines += ["", "import anabranch as ab", ""]
    for record in plan.records:
        lines += ["", *_write_record(record), ""]
    for function in functions:
        lines += ["", *function, ""]
    lines += ["", "class P(ab.Program):", *(_declare(s) for s in plan.states), *constants]
    templates = [f"        self.{s.name} = {s.template}" for s in plan.states if s.template and s.in_init]
    if templates or settings:
        plan.features |= {"templates"} if templates else set()
        lines += ["", "    def __init__(self) -> None:", *settings, *templates]
    for method in methods:
        lines += ["", *method]
    return "\n".join(lines).lstrip("\n") + "\n"


def _declare(state: State) -> str:
    template = f" = {state.template}" if state.template and not state.in_init else ""
    return f"    {state.name}: {state.annotation}{template}"
