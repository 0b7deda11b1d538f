"""`match` on values, tuples, lists, records and optionals."""

from __future__ import annotations

from tests.generator.compounds import element
from tests.generator.forms import condition, local, small
from tests.generator.statements import statement, write_block
from tests.generator.valuetypes import BOOL, INT, STR, Type, list_of, literal, optional, tuple_of
from tests.generator.writer import Variable, Writer


@statement(weight=2)
def match_value(w: Writer) -> bool:
    if w.depth > 5:
        return False
    type = w.choices.choose((INT, STR))
    w.line(f"match {small(w, type, 1).text}:")
    w.depth += 1
    for pattern in dict.fromkeys(literal(w.choices, type) for _ in range(w.choices.integer(1, 2))):
        other = f" | {literal(w.choices, type)}" if w.choices.chance(30) else ""
        w.line(f"case {pattern}{other}:")
        with w.block():
            write_block(w, 2)
    each = element(w, type, "m")
    with w.captured(each):
        w.line(f"case {each.name} if {condition(w, 1).text}:")
        with w.block():
            write_block(w, 1)
    if w.choices.chance(60):
        w.line("case _:")
        with w.block():
            write_block(w, 1)
    w.depth -= 1
    w.uses("match")
    return True


@statement(weight=2)
def match_tuple(w: Writer) -> bool:
    pair = w.pick(lambda v: v.type.kind == "tuple" and len(v.type.args) == 2)
    if pair is None or w.depth > 5:
        return False
    first, second = pair.type.args
    each = element(w, second, "m")
    w.line(f"match {pair.name}:")
    w.depth += 1
    wanted = literal(w.choices, first) if first in (INT, STR) else "_"
    w.line(f"case ({wanted}, {each.name}):")
    with w.block():
        w.declare(each.value, assignable=False, name=each.name)
        write_block(w, 2)
    w.line("case _:")
    with w.block():
        write_block(w, 1)
    w.depth -= 1
    w.uses("match")
    return True


@statement(weight=5, theme="patterns")
def match_parts(w: Writer) -> bool:
    """Patterns of a record, a tuple, a list or an optional, with what is inside."""
    if w.depth > 4:
        return False
    plain = (tuple_of(INT, STR), tuple_of(INT, tuple_of(STR, INT)), list_of(INT), optional(INT), list_of(STR))
    type = w.choices.choose((*plain, *w.plan.records, *w.plan.records))
    w.line(f"match {w.bind(local(w, type), annotate=True).name}:")
    w.depth += 1
    for _ in range(w.choices.integer(1, 2)):
        bound: list[Variable] = []
        text = pattern(w, type, bound, 2)
        if not any(mark in text for mark in '0123456789[("') and text != "None":
            continue  # it would match all
        with w.captured(*bound):
            guard = f" if {condition(w, 1).inner}" if w.choices.chance(30) else ""
        w.line(f"case {text}{guard}:")
        with w.block():
            w.variables += bound
            write_block(w, 1)
    w.line("case _:")
    with w.block():
        write_block(w, 1)
    w.depth -= 1
    w.uses("match", "patterns")
    return True


def pattern(w: Writer, type: Type, bound: list[Variable], depth: int) -> str:
    """A pattern of values of the type; what it captures goes to `bound`."""
    inner = [type.of] * w.choices.integer(0, 2) if type.kind == "list" else list(type.args)
    match type.kind:
        case "record" if depth:
            picked = [(name, t) for name, t in type.fields if w.choices.chance(70)]
            named = w.choices.chance(60) or len(picked) < len(type.fields)
            parts = [(f"{name}=" if named else "") + pattern(w, t, bound, depth - 1) for name, t in picked]
            return f"{type.name}({', '.join(parts)})"
        case "tuple" if depth:
            return f"({', '.join(pattern(w, t, bound, depth - 1) for t in inner)})"
        case "list" if depth and type.of in (INT, STR, BOOL):
            return f"[{', '.join(pattern(w, t, bound, depth - 1) for t in inner)}]"
        case "optional" if w.choices.chance(50):
            return "None"
        case "int" | "str" | "bool" if w.choices.chance(40):
            found = literal(w.choices, type)
            other = literal(w.choices, type)
            return f"{found} | {other}" if found != other and w.choices.chance(30) else found
    if type.sharing or type.kind == "optional" or w.choices.chance(25):
        return "_"
    each = element(w, type, "m")
    bound.append(Variable(each.name, each.value))
    return each.name
