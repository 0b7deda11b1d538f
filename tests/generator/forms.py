"""Expressions by wanted type: a table of forms per type, each registered with a weight.

A form is a function `(w, type, depth) -> Expr | None`; None says that it does not apply here (no such variable in
scope, say) and another one is tried. Registering a new form is all it takes to have it generated.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from tests.generator.valuetypes import (
    EXACT_FLOATS,
    FLOAT,
    INT,
    ODD_FLOATS,
    SMALL,
    WIDEST,
    Type,
    literal,
)
from tests.generator.writer import Expr, Writer

Form = Callable[[Writer, Type, int], Expr | None]
FORMS: dict[str, list[tuple[int, Form, str]]] = {}
ANY = "any"  # forms of every type
PATH = re.compile(r"\w+(\.\w+|\[\d+\])*")  # a name, or a part of what it holds


def form(*kinds: str, weight: int, theme: str = "") -> Callable[[Form], Form]:
    """Register a form of these types, for programs that have the theme if one is named."""

    def register(function: Form) -> Form:
        for kind in kinds:
            FORMS.setdefault(kind, []).append((weight, function, theme))
        return function

    return register


def expression(w: Writer, type: Type, depth: int = 2) -> Expr:
    """An expression of the type from what is in scope."""
    if depth > 0:
        known = FORMS[ANY] + FORMS.get(type.kind, [])  # the simplest first: hypothesis shrinks towards it
        options = [(weight, form) for weight, form, theme in known if not theme or theme in w.plan.themes]
        for _ in range(3):
            made = w.choices.weighted(options)(w, type, depth - 1)
            if made is not None:
                return made
    return leaf(w, type)


def leaf(w: Writer, type: Type) -> Expr:
    """A variable or a literal."""
    variable = w.pick_type(type) if w.choices.chance(85) else None
    if variable is not None:
        return variable.value
    number = w.pick_type(INT) if type.kind == "bool" else None
    if number is not None:
        return Expr(f"{number.name} > {w.choices.choose((2, 0, 4))}", type, atom=False)
    return constant(w, type)


@form(ANY, weight=8)
def _leaf(w: Writer, type: Type, depth: int) -> Expr | None:
    return leaf(w, type)


def constant(w: Writer, type: Type) -> Expr:
    """A literal of the type, with what is known of it."""
    text = literal(w.choices, type)
    match type.kind:
        case "int":
            return Expr(text, type, int(text), int(text), atom=not text.startswith("-"))
        case "float":
            if w.plan.odd_floats and w.choices.chance(10):
                value = w.choices.choose(ODD_FLOATS)
                named = value != value or value in (float("inf"), float("-inf"))
                text = f'float("{value}")' if named else repr(value)
            return Expr(text, type, atom=not text.startswith("-"))
    return Expr(text, type, size=8, fresh=type.mutable)


def fit(w: Writer, value: Expr, low: int = -SMALL, high: int = SMALL) -> Expr:
    """The same integer if it stays in the range, else one made of it that does (the range holds 0 to 6)."""
    if value.type != INT or value.within(low, high):
        return value
    if w.choices.chance(75):
        modulus = w.choices.choose([m for m in (7, 10, 5, 97, 1000) if m - 1 <= high])
        return Expr(f"{value.inner} % {modulus}", INT, 0, modulus - 1, atom=False)
    return Expr(f"min(max({value.text}, {max(low, -50)}), {min(high, 50)})", INT, max(low, -50), min(high, 50))


def small(w: Writer, type: Type, depth: int = 2) -> Expr:
    """An expression whose integers are small, so that it may go into containers, records and states."""
    return fit(w, expression(w, type, depth))


def local(w: Writer, type: Type, depth: int = 2) -> Expr:
    """An expression that a variable may hold: integers fit 64 bits, and no mutable value gets a second name."""
    return owned(w, fit(w, expression(w, type, depth), -WIDEST - 1, WIDEST))


def owned(w: Writer, value: Expr) -> Expr:
    """The value itself, or a copy where it is, or is a part of, a mutable variable."""
    if not value.type.sharing or value.fresh or not PATH.fullmatch(value.text):
        return value
    variable = value.text.partition(".")[0].partition("[")[0]
    if not any(v.name == variable for v in w.variables):
        return value
    # A copy of what is inside does not pass for one with the translator: it is not changed in place.
    fresh = not any(inside.sharing for inside in value.type.args)
    return replace(value, text=copied(w, value.text, value.type), fresh=fresh, atom=value.type.kind != "optional")


def copied(w: Writer, text: str, type: Type) -> str:
    """A copy of what a name or a part of it holds that shares nothing with it."""
    if not type.sharing:
        return text
    match type.kind:
        case "list" | "set" if type.of.sharing:
            each = w.name("e")
            return f"[{copied(w, each, type.of)} for {each} in {text}]"
        case "dict" if type.args[1].sharing:
            key, each = w.name("k"), w.name("e")
            return f"{{{key}: {copied(w, each, type.args[1])} for {key}, {each} in {text}.items()}}"
        case "list" | "dict" | "set":
            return f"{type.kind}({text})"
        case "tuple":
            return f"({', '.join(copied(w, f'{text}[{i}]', t) for i, t in enumerate(type.args))})"
        case "record":
            return f"{type.name}({', '.join(copied(w, f'{text}.{name}', t) for name, t in type.fields)})"
        case "optional" if text.isidentifier() and text not in w.narrowed:
            w.tested.add(text)
            return f"None if {text} is None else {copied(w, text, type.of)}"
        case "optional":
            return "None"
    return f"{text}.copy()"


def shorter(w: Writer, value: Expr, size: int) -> Expr:
    """The value, cut where it could be longer than `size`."""
    if value.size <= size or value.type.kind not in ("str", "list", "bytes"):
        return value
    if value.type.kind == "list" and value.type.of.sharing:
        return constant(w, value.type)
    cut = w.choices.choose((f"[:{min(size, 5)}]", f"[-{min(size, 4)}:]"))
    return replace(value, text=f"{value.inner}{cut}", size=min(size, 5), atom=True, fresh=value.type.mutable)


def index(w: Writer, below: int = 7, depth: int = 1) -> Expr:
    """A non-negative integer below a small number."""
    near = w.pick(lambda v: v.type == INT and v.value.within(0, below - 1)) if w.choices.chance(70) else None
    if near is not None:
        return near.value
    value = expression(w, INT, depth)
    return value if value.within(0, below - 1) else Expr(f"{value.inner} % {below}", INT, 0, below - 1, atom=False)


def exact(w: Writer) -> Expr:
    """A small float whose sums do not depend on their order."""
    variable = w.pick(lambda v: v.type == FLOAT and v.value.exact)
    pick = w.choices.integer(0, 3)
    if pick >= 2 and variable is not None:
        return variable.value
    if pick == 1:
        number = index(w, w.choices.choose((5, 10)))
        half = w.choices.choose((f"float({number.text})", f"0.5 * {number.inner}"))
        return Expr(half, FLOAT, exact=True, atom=half.startswith("float"))
    text = repr(w.choices.choose(EXACT_FLOATS))
    return Expr(text, FLOAT, exact=True, atom=not text.startswith("-"))


def condition(w: Writer, depth: int = 2) -> Expr:
    return expression(w, Type("bool"), depth)
