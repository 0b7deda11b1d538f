"""Functions marked `ab.pure`: what the translator does not look into."""

from __future__ import annotations

from tests.generator.choices import Choices
from tests.generator.valuetypes import FLOAT, INT, SMALL, STR, Type, dict_of, list_of
from tests.generator.writer import Expr, Function, Param, Plan

TEXT, NUMBER, AMOUNT = Expr("", STR, size=100), Expr("", INT, -SMALL, SMALL), Expr("", FLOAT)
NUMBERS, WORDS = Expr("", list_of(INT), size=6), Expr("", list_of(STR), size=6)

# Parameters, result, body.
BODIES: tuple[tuple[tuple[Expr, ...], Type, str], ...] = (
    ((TEXT, NUMBER), STR, "return json.dumps([a, b])"),
    ((NUMBERS,), list_of(INT), "return [n for n, _ in collections.Counter(a).most_common(3)]"),
    ((WORDS,), dict_of(STR, INT), "return dict(collections.Counter(a))"),
    ((NUMBERS, NUMBER), list_of(INT), "return heapq.nsmallest(3, [*a, b])"),
    ((AMOUNT,), INT, "return len(repr(a))"),
    ((NUMBER,), list_of(list_of(INT)), "return [[n] * n for n in range(a % 4)]"),
    ((TEXT,), INT, 'return int(a or "7") % 1000'),
)


def write_pure(choices: Choices, plan: Plan, number: int) -> list[str]:
    known = BODIES if plan.raising else BODIES[:-1]
    params, result, body = choices.choose(known)
    named = tuple(Param("ab"[i], value) for i, value in enumerate(params))
    name = f"pure{number}"
    plan.functions.append(Function(name, named, result, 5, stateful=False, small=True))
    plan.features |= {"pure functions"} | ({"raises"} if body is BODIES[-1][2] else set())
    takes = ", ".join(f"{p.name}: {p.type}" for p in named)
    return ["@ab.pure", f"def {name}({takes}) -> {result}:", f"    {body}"]
