"""Random programs that are valid by construction: `generate(choices)`, and the hypothesis strategy `programs()`."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

# Imported for the forms and statements that they register.
from tests.generator import (  # noqa: F401
    access,
    aliases,
    binary,
    blocks,
    compounds,
    keywords,
    matching,
    nested,
    patterns,
    scalars,
    statements,
    texts,
    times,
    vectors,
    writes,
)
from tests.generator.choices import Choices, DrawnChoices
from tests.generator.methods import write_entry, write_function, write_helper
from tests.generator.own_types import own_state, source_of
from tests.generator.pure_functions import write_pure
from tests.generator.state_loops import COST, loop_states, write_loop_entry
from tests.generator.states import State, make_state
from tests.generator.themes import choose_themes, choose_types
from tests.generator.valuetypes import BOOL, FLOAT, INT, STR, Type, dict_of, list_of, literal, optional, tuple_of
from tests.generator.writer import Expr, Param, Plan


@dataclass(frozen=True)
class GeneratedEntry:
    name: str
    params: tuple[Param, ...]
    result: Type
    cost: int  # about how many statements a call runs at most


@dataclass(frozen=True)
class GeneratedProgram:
    """A module with a class `P`. `features` names what occurs in it, as described in features.py."""

    source: str
    entries: tuple[GeneratedEntry, ...]
    features: frozenset[str]
    themes: frozenset[str]

    def __repr__(self) -> str:
        return f"GeneratedProgram({', '.join(sorted(self.features))})\n{self.source}"


def generate(choices: Choices) -> GeneratedProgram:
    """A program made of the answers: equal answers, equal program."""
    plan = Plan()
    plan.raising, plan.grouping, plan.odd_floats = choices.chance(55), choices.chance(35), choices.chance(15)
    plan.themes = choose_themes(choices)
    plan.types = choose_types(choices, plan.themes)
    plan.features |= {f"theme: {theme}" for theme in plan.themes}
    plan.records = [_make_record(choices, i, plan) for i in range(_few(choices, 60, 2))]
    # Before there are states and configuration: functions of the module see neither.
    pure = range(_few(choices, 50, 2, 1)) if plan.has("pure functions") else ()
    functions = [write_pure(choices, plan, i + 1) for i in pure]
    functions += [write_function(choices, plan, i + 1) for i in range(_few(choices, 30, 2))]
    for i in range(_few(choices, 65, 4, 1)):
        plan.states.append(make_state(choices, i + 1, [*plan.records, *plan.types], plan.raising, plan.grouping))
    constants, settings = _make_config(choices, plan)
    helpers = [write_helper(choices, plan, i + 1) for i in range(_few(choices, 35, 2))]
    if plan.has("own states"):
        plan.states.append(own_state("recent", choices.choose((INT, STR))))
    entries, methods = [], []
    if plan.has("state loops"):
        loops = loop_states(choices.chance(50))
        name, params, lines = write_loop_entry(choices, 0, loops)
        entries.append(GeneratedEntry(name, params, INT, COST))
        methods.append(lines)
        plan.loops += loops
        plan.features |= {"state loops", "winding", "while"}
    for i in range(_few(choices, 60, 4, 1)):
        name, params, result, lines = write_entry(choices, plan, i + 1)
        entries.append(GeneratedEntry(name, params, result, plan.functions[-1].cost))
        methods.append(lines)
    source = _write_module(choices, plan, constants, settings, functions, [*methods, *helpers])
    return GeneratedProgram(source, tuple(entries), frozenset(plan.features), plan.themes)


@st.composite
def programs(draw: st.DrawFn) -> GeneratedProgram:
    return generate(DrawnChoices(draw))


def _few(choices: Choices, percent: int, most: int, least: int = 0) -> int:
    """A small number: each further one as likely as `percent` says."""
    number = least
    while number < most and choices.chance(percent):
        number += 1
    return number


def _make_record(choices: Choices, number: int, plan: Plan) -> Type:
    pool = [INT, STR, FLOAT, BOOL, optional(INT), tuple_of(INT, INT), *plan.types]
    pool += [list_of(INT), list_of(STR)] if plan.has("nested") or plan.has("aliases") else []
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
    modules = ("collections", "heapq", "json", "math")
    lines += [f"import {module}" for module in modules if any(f"{module}." in line for line in bodies)]
    if any(r.frozen_dataclass for r in plan.records):
        lines.append("from dataclasses import dataclass")
    if any(not r.frozen_dataclass for r in plan.records):
        lines.append("from typing import NamedTuple")
    if plan.has("times"):
        lines.append("from datetime import date, datetime, timedelta")
    lines += ["", "import anabranch as ab", ""]
    for record in plan.records:
        lines += ["", *_write_record(record), ""]
    for function in functions:
        lines += ["", *function, ""]
    for state in plan.states:
        lines += ["", *source_of(state), ""] if state.form == "Own" else []
    lines += ["", "class P(ab.Program):", *(_declare(s) for s in [*plan.states, *plan.loops]), *constants]
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
