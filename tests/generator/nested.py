"""Forms and statements of containers in containers."""

from __future__ import annotations

from tests.generator.changes import changed, empty_of
from tests.generator.compounds import element, short
from tests.generator.forms import form, index, leaf, local
from tests.generator.statements import bind, statement
from tests.generator.valuetypes import GROWN, INT, SCALARS, Type, list_of, literal
from tests.generator.writer import Expr, Variable, Writer

NUMBERS = list_of(INT)


@form("list", weight=2, theme="nested")
def flattened(w: Writer, type: Type, depth: int) -> Expr | None:
    """The items of the lists in a list or dict, one after the other."""
    outer = w.pick(lambda v: v.type.kind in ("list", "dict") and inner_of(v.type) == type and v.value.size <= 60)
    if outer is None or type.of not in SCALARS:
        return None
    each, item = element(w, type), element(w, type.of)
    of = f"{outer.name}.values()" if outer.type.kind == "dict" else outer.name
    with w.without_state(each, item):
        kept = short(w, type.of, 1)
    w.uses("nested containers", "comprehensions")
    return Expr(f"[{kept.text} for {each.name} in {of} for {item.name} in {each.name}]", type, size=500, fresh=True)


def inner_of(type: Type) -> Type:
    return type.args[1] if type.kind == "dict" else type.of


@form("list", weight=3, theme="nested")
def lists_by_item(w: Writer, type: Type, depth: int) -> Expr | None:
    """A list of lists, one for each item."""
    if type.of.kind != "list":
        return None
    count, each = index(w, 4), element(w, INT)
    with w.without_state(each):
        items = [short(w, type.of.of, 1).text for _ in range(w.choices.integer(0, 2))]
    w.uses("nested containers", "comprehensions")
    return Expr(f"[[{', '.join(items)}] for {each.name} in range({count.text})]", type, size=5, fresh=bool(items))


@form("dict", weight=3, theme="nested")
def dict_display(w: Writer, type: Type, depth: int) -> Expr | None:
    key, item = type.args
    items = [f"{short(w, key, 1).text}: {short(w, item, 1).text}" for _ in range(w.choices.integer(1, 2))]
    return Expr(f"{{{', '.join(items)}}}", type, size=3, fresh=True)


@form("int", weight=2, theme="nested")
def measure_inside(w: Writer, type: Type, depth: int) -> Expr | None:
    outer = w.pick(lambda v: v.type.kind in ("list", "dict") and inner_of(v.type).kind in ("list", "dict", "set"))
    if outer is None:
        return None
    w.uses("nested containers")
    each = w.name("e")
    of = f"{outer.name}.values()" if outer.type.kind == "dict" else outer.name
    inside = inner_of(outer.type)
    calls = [f"sum(len({each}) for {each} in {of})"]
    if inside in (NUMBERS, Type("set", (INT,))):
        calls += [f"sum(sum({each}) for {each} in {of})", f"sum(max({each}, default=1) for {each} in {of})"]
    return Expr(w.choices.choose(calls), INT, -GROWN * 1000, GROWN * 1000)


@statement(weight=6, theme="nested")
def change_inside(w: Writer) -> bool:
    """Changes of what is inside a new container, which ends with them.

    The translator takes copies of what is inside for the same values where they travel, so none does.
    """
    types = [t for t in w.plan.types if t.kind in ("list", "dict") and inner_of(t).mutable]
    type = w.choices.choose([list_of(NUMBERS), *types])
    inside = inner_of(type)
    with w.without_state():
        outer = w.bind(Expr(literal(w.choices, type), type, fresh=True), annotate=True)
        for _ in range(w.choices.integer(1, 3)):
            _change_one(w, outer, inside)
        each = w.name("e")
        of = f"{outer.name}.values()" if type.kind == "dict" else outer.name
        w.variables.remove(outer)
        if inside == NUMBERS:
            item = w.name("e")
            w.bind(Expr(f"[{item} for {each} in {of} for {item} in {each}]", NUMBERS, size=60, fresh=True))
        else:
            w.bind(Expr(f"sum(len({each}) for {each} in {of})", INT, 0, GROWN))
    w.uses("nested containers", "mutation")
    return True


def _change_one(w: Writer, outer: Variable, inside: Type) -> None:
    if outer.type.kind == "list":
        w.line(f"if {outer.name}:")
        with w.block():
            w.line(changed(w, f"{outer.name}[{w.choices.choose((0, -1))}]", inside))
    elif inside.kind == "set":
        w.line(f"{outer.name}[{leaf(w, outer.type.of).text}] = {{{short(w, inside.of, 1).text}}}")
    else:
        place = f"{outer.name}.setdefault({leaf(w, outer.type.of).text}, {empty_of(inside)})"
        w.line(changed(w, place, inside))


@statement(weight=2, theme="nested")
def take_inside(w: Writer) -> bool:
    """A copy of what is inside a container, as a variable of its own."""
    outer = w.pick(lambda v: v.type.kind == "list" and v.type.of.mutable and not v.type.of.of.sharing)
    if outer is None:
        return False
    inside = outer.type.of
    taken = f"{inside.kind}({outer.name}[0]) if {outer.name} else {empty_of(inside)}"
    w.bind(Expr(taken, inside, fresh=True), annotate=True)
    w.uses("nested containers")
    return True


@statement(weight=3, theme="nested")
def bind_nested(w: Writer) -> bool:
    types = [type for type in w.plan.types if type.sharing]
    if not types:
        return False
    bind(w, local(w, w.choices.choose(types)))
    return True
