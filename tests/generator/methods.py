"""The methods and functions of a program: parameters, bodies, and the shape of an entry."""

from __future__ import annotations

from tests.generator.access import place_key
from tests.generator.choices import Choices
from tests.generator.forms import local, small
from tests.generator.statements import bind, statement, write_block, write_return, write_statement
from tests.generator.valuetypes import (
    BOOL,
    FLOAT,
    INT,
    NONE,
    SMALL,
    STR,
    VECTOR,
    Type,
    dict_of,
    list_of,
    literal,
    optional,
    tuple_of,
)
from tests.generator.writer import Expr, Focus, Function, Param, Plan, Writer

KEY = Expr("", INT, 0, 6)
SMALL_INT = Expr("", INT, -SMALL, SMALL)
EXACT = Expr("", FLOAT, exact=True)
PARAM_NAMES = {"int": "number", "str": "text", "float": "amount", "bool": "flag", "list": "items", "tuple": "couple"}
PARAM_NAMES |= {"bytes": "octets", "date": "day", "datetime": "moment", "timedelta": "span", "set": "members"}
PARAM_NAMES |= {"optional": "given", "dict": "mapping", "record": "record", "Vector": "vector"}


def make_params(choices: Choices, plan: Plan, least: int, most: int, *, entry: bool) -> tuple[Param, ...]:
    """Parameters; those of entries can be anything, and they favour the keys of the program's states."""
    keys = [s.place for s in plan.states if s.place is not None]
    kinds: list[tuple[int, Expr]] = [(6, KEY), (3, Expr("", STR, size=40)), (3, SMALL_INT), (2, EXACT)]
    kinds += [(3, Expr("", key, 0, 6)) for key in keys]
    kinds += [(2, Expr("", FLOAT)), (1, Expr("", BOOL)), (1, Expr("", tuple_of(INT, STR)))]
    kinds += [(2, Expr("", list_of(INT), size=6)), (2, Expr("", list_of(STR), size=6))]
    kinds += [(2, Expr("", record)) for record in plan.records]
    kinds += [(6, Expr("", type, size=6)) for type in plan.types]
    if entry:
        kinds += [(1, Expr("", INT)), (1, Expr("", optional(INT))), (1, Expr("", dict_of(STR, INT), size=6))]
        kinds += [(1, Expr("", VECTOR)), (1, Expr("", list_of(FLOAT), size=6))]
    params: list[Param] = []
    for number in range(choices.integer(least, most)):
        value = choices.weighted(kinds)
        name = f"{PARAM_NAMES[value.type.kind] if value != KEY else 'key'}{number}"
        default = ""
        # Parameters with defaults are the last.
        if number and (params[-1].default or choices.chance(15)):
            if value.type.kind not in ("int", "str", "bool", "optional"):
                break
            default = "1" if value.type == INT else "None" if value.type.sharing else literal(choices, value.type)
        params.append(Param(name, value, default))
    return tuple(params)


def write_signature(name: str, params: tuple[Param, ...], result: Type, *, method: bool) -> str:
    texts = ["self"] if method else []
    texts += [f"{p.name}: {p.type}" + (f" = {p.default}" if p.default else "") for p in params]
    return f"def {name}({', '.join(texts)}) -> {result}:"


def declare_params(w: Writer, params: tuple[Param, ...]) -> None:
    for param in params:
        flat = not any(inside.sharing for inside in param.type.args)
        mutable = param.type.mutable and flat and w.plan.has("aliases")
        w.declare(param.value, assignable=False, mutable=mutable, name=param.name)
        w.params.add(param.name)


def write_function(choices: Choices, plan: Plan, number: int) -> list[str]:
    """A module-level function without state."""
    result = choices.choose((INT, STR, BOOL, FLOAT, list_of(INT), *plan.records, *plan.types))
    params = make_params(choices, plan, 1, 2, entry=False)
    w = Writer(choices, plan, result, small_result=True)
    w.pure, w.depth = True, 1
    declare_params(w, params)
    write_block(w, 2, 0)
    write_return(w)
    name = f"function{number}"
    plan.functions.append(Function(name, params, result, w.cost, stateful=False, small=True))
    return [write_signature(name, params, result, method=False), *w.lines]


def write_helper(choices: Choices, plan: Plan, number: int) -> list[str]:
    """A helper, with or without state."""
    result = choices.choose((INT, STR, NONE, BOOL, FLOAT, *plan.records, *plan.types))
    params = make_params(choices, plan, 0, 2, entry=False)
    w = Writer(choices, plan, result, small_result=True)
    w.pure = choices.chance(30)
    declare_params(w, params)
    write_block(w, 3)
    finish(w)
    name = f"_helper{number}"
    plan.functions.append(Function(f"self.{name}", params, result, w.cost, stateful=w.stateful, small=True))
    return [f"    {write_signature(name, params, result, method=True)}", *w.lines]


def finish(w: Writer) -> None:
    if w.result != NONE:
        write_return(w)
    elif not w.lines:
        w.line("pass")


RESULTS = (INT, NONE, STR, BOOL, FLOAT, list_of(INT), optional(INT), tuple_of(INT, STR), list_of(STR))


def write_entry(choices: Choices, plan: Plan, number: int) -> tuple[str, tuple[Param, ...], Type, list[str]]:
    values = [*plan.types, *(s.value for s in plan.states if s.form != "Own")] + [
        VECTOR for s in plan.states if s.form == "Matrix"
    ]
    result = choices.choose(
        (*RESULTS[:5], *values) if choices.chance(70) else (*RESULTS, dict_of(STR, INT), *plan.records)
    )
    result = list_of(INT) if plan.has("aliases") and choices.chance(60) else result
    params = make_params(choices, plan, 0 if choices.chance(5) else 1, 4, entry=True)
    w = Writer(choices, plan, result)
    declare_params(w, params)
    if choices.chance(40):
        write_phases(w)
    else:
        write_block(w, 6)
    finish(w)
    name = f"entry{number}"
    plan.functions.append(Function(f"self.{name}", params, result, w.cost, stateful=True, entry=True))
    return name, params, result, [f"    {write_signature(name, params, result, method=True)}", *w.lines]


def write_phases(w: Writer) -> None:
    """Work at one place after the other: straight entries come from here."""
    for _ in range(w.choices.integer(1, 3)):
        with w.focused(focus_on(w)):
            write_block(w, 3)
        if w.choices.chance(30):
            with w.focused(Focus(None, ())):
                write_statement(w)


def focus_on(w: Writer) -> Focus:
    """One key and the partitioned states that have it, or the states that are here."""
    here = tuple(s for s in w.plan.states if not s.partitioned)
    partitioned = [s for s in w.plan.states if s.partitioned]
    if not partitioned or (here and w.choices.chance(25)):
        return Focus(None, here)
    first = w.choices.choose(partitioned)
    together = tuple(s for s in partitioned if s.place == first.place)
    with w.focused(Focus(None, ())):
        # Bounded where one of them has a fixed shape; in a variable, so that all use one value.
        tightest = next((s for s in together if s.form == "DenseMatrix"), first)
        narrowest = next((s for s in together if not s.wide_keys), tightest)
        key = place_key(w, tightest if tightest.form == "DenseMatrix" else narrowest)
        if not key.atom or not key.text.isidentifier():
            key = bind(w, key).value
    chosen = tuple(s for s in together if s is first or w.choices.chance(60))
    return Focus(key, chosen)


@statement(weight=3)
def keep_small(w: Writer) -> bool:
    """A small number or a key for later."""
    bind(w, small(w, INT) if w.choices.chance(50) else local(w, STR))
    return True
