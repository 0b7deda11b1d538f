"""Forms of tuples, records, lists, dicts and optionals, and forms that every type has: fields, items, calls, `if`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tests.generator.forms import (
    ANY,
    condition,
    constant,
    expression,
    form,
    index,
    leaf,
    local,
    owned,
    shorter,
    small,
)
from tests.generator.valuetypes import BOOL, FLOAT, GROWN, INT, SCALARS, STR, Type, dict_of, list_of, tuple_of
from tests.generator.writer import Expr, Variable, Writer

MOST = 60  # no list is longer


def element(w: Writer, type: Type, prefix: str = "e") -> Variable:
    """A variable that holds an item of a container."""
    name = w.name(prefix)
    return Variable(name, _inside(name, type))


# Every type


@form(ANY, weight=2)
def ternary(w: Writer, type: Type, depth: int) -> Expr | None:
    if type.kind == "optional":
        return None  # forms of optionals are narrower than their type
    test, a, b = condition(w, depth), expression(w, type, depth), expression(w, type, depth)
    a, b = owned(w, a), owned(w, b)
    return Expr(
        f"{a.inner} if {test.inner} else {b.inner}",
        type,
        min(a.low, b.low),
        max(a.high, b.high),
        max(a.size, b.size),
        a.exact and b.exact,
        fresh=a.fresh and b.fresh,
        atom=False,
    )


@form(ANY, weight=4)
def part(w: Writer, type: Type, depth: int) -> Expr | None:
    """A field of a record or an item of a tuple."""
    parts = [p for v in w.visible() for p in parts_of(v.value) if p.type == type]
    return w.choices.choose(parts[::-1]) if parts else None


def parts_of(value: Expr) -> Iterator[Expr]:
    if value.type.kind == "record":
        for name, type in value.type.fields:
            yield _inside(f"{value.text}.{name}", type)
    elif value.type.kind == "tuple":
        for i, type in enumerate(value.type.args):
            yield _inside(f"{value.text}[{i}]", type)


def _inside(text: str, type: Type) -> Expr:
    return Expr(text, type, -GROWN, GROWN, size=40) if type == INT else Expr(text, type, size=40)


@form(ANY, weight=2)
def configured(w: Writer, type: Type, depth: int) -> Expr | None:
    found = [c for c in w.plan.config if c.type == type and not type.mutable]
    lookups = [c for c in w.plan.config if c.type.kind == "dict" and c.type.args[1] == type]
    if lookups and (not found or w.choices.chance(50)):
        table = w.choices.choose(lookups)
        key = leaf(w, table.type.of)
        w.uses("configuration")
        return _inside(f"{table.text}.get({key.text}, {constant(w, type).text})", type)
    if not found:
        return None
    w.uses("configuration")
    return w.choices.choose(found)


# Tuples, records and optionals


@form("tuple", weight=6)
def make_tuple(w: Writer, type: Type, depth: int) -> Expr | None:
    w.uses("tuples")
    return Expr(f"({', '.join(short(w, t, depth).text for t in type.args)})", type)


@form("record", weight=6)
def make_record(w: Writer, type: Type, depth: int) -> Expr | None:
    w.uses("records", "dataclass" if type.frozen_dataclass else "namedtuple")
    named = w.choices.chance(40)
    args = [f"{n}={short(w, t, depth).text}" if named else short(w, t, depth).text for n, t in type.fields]
    return Expr(f"{type.name}({', '.join(args)})", type)


def short(w: Writer, type: Type, depth: int) -> Expr:
    """A value that may become part of another: small and not long."""
    return owned(w, shorter(w, small(w, type, depth), 40))


@form("optional", weight=4)
def make_optional(w: Writer, type: Type, depth: int) -> Expr | None:
    w.uses("optionals")
    if w.choices.chance(50):
        a = short(w, type.of, depth)
        if a.text in ("[]", "{}", "set()"):
            return Expr("None", type)  # nothing says what is in it
        return Expr(f"{a.inner} if {condition(w, depth).inner} else None", type, atom=False)
    return replace(short(w, type.of, depth), type=type)


# Lists and dicts


@form("list", weight=4)
def list_display(w: Writer, type: Type, depth: int) -> Expr | None:
    items = [short(w, type.of, min(depth, 1)).text for _ in range(w.choices.integer(1, 3))]
    return Expr(f"[{', '.join(items)}]", type, size=3, fresh=True)


@form("list", weight=4)
def comprehension(w: Writer, type: Type, depth: int) -> Expr | None:
    source = w.pick(lambda v: v.type.kind == "list" and v.type.of in SCALARS and v.value.size <= MOST)
    if source is None:
        number = index(w, 5)
        each = element(w, INT)
        of, size = f"range({number.text})", 5
    else:
        each = element(w, source.type.of)
        of, size = source.name, source.value.size
    with w.without_state(each):
        item = short(w, type.of, 1)
        test = f" if {condition(w, 1).inner}" if w.choices.chance(30) else ""
    w.uses("comprehensions")
    return Expr(f"[{item.text} for {each.name} in {of}{test}]", type, size=size, fresh=not type.of.sharing)


@form("list", weight=3)
def rearranged(w: Writer, type: Type, depth: int) -> Expr | None:
    xs = w.pick_type(type)
    if xs is None or type.of not in SCALARS:
        return None
    pick = w.choices.integer(0, 4)
    if pick == 0:
        return Expr(f"{xs.name}[:{w.choices.choose((3, 2, 1))}]", type, size=3)
    if pick == 1:
        return Expr(f"{xs.name}[::-1]", type, size=xs.value.size)
    if pick == 2 and xs.value.size <= MOST // 2:
        return Expr(f"{xs.name} + [{short(w, type.of, 1).text}]", type, size=xs.value.size + 1, atom=False)
    if pick == 3 and type.of in (INT, STR):
        return Expr(f"sorted(set({xs.name}))", type, size=xs.value.size, fresh=True)
    each = element(w, type.of)
    with w.without_state(each):
        key = expression(w, w.choices.choose((INT, STR) if type.of != FLOAT else (INT,)), 1)
    w.uses("lambda")
    reverse = ", reverse=True" if w.choices.chance(30) else ""
    return Expr(f"sorted({xs.name}, key=lambda {each.name}: {key.text}{reverse})", type, size=xs.value.size, fresh=True)


@form("list", weight=3)
def split(w: Writer, type: Type, depth: int) -> Expr | None:
    if type.of != STR:
        return None
    w.uses("strings")
    text = expression(w, STR, depth)
    calls = ("{}.split()", '{}.split("-")', "{}.lower().split()")
    return Expr(f"{w.choices.choose(calls).format(text.inner)}[:6]", type, size=6)


@form("list", weight=2)
def of_dict(w: Writer, type: Type, depth: int) -> Expr | None:
    d = w.pick(lambda v: v.type.kind == "dict" and type.of in (*v.type.args, tuple_of(*v.type.args)))
    if d is None:
        s = w.pick(lambda v: v.type.kind == "set" and v.type.of == type.of)
        return None if s is None else Expr(f"sorted({s.name})", type, size=s.value.size, fresh=True)
    view = {d.type.of: "keys", d.type.args[1]: "values"}.get(type.of, "items")
    return Expr(f"list({d.name}.{view}())", type, size=d.value.size, fresh=True)


@form("dict", weight=4)
def dict_comprehension(w: Writer, type: Type, depth: int) -> Expr | None:
    source = w.pick_type(list_of(type.of))
    if source is None:
        return None
    each = element(w, type.of)
    with w.without_state(each):
        item = short(w, type.args[1], 1)
    w.uses("comprehensions")
    text = f"{{{each.name}: {item.text} for {each.name} in {source.name}}}"
    return Expr(text, type, size=source.value.size, fresh=not type.args[1].sharing)


@form(ANY, weight=1)
def lookup(w: Writer, type: Type, depth: int) -> Expr | None:
    """An item of a local list or dict; `KeyError` and `IndexError` where entries may raise."""
    if type not in SCALARS:
        return None
    d = w.pick(lambda v: v.type.kind == "dict" and v.type.args[1] == type)
    if d is not None:
        return _inside(f"{d.name}.get({leaf(w, d.type.of).text}, {constant(w, type).text})", type)
    xs = w.pick_type(list_of(type))
    if xs is None:
        return None
    if w.plan.raising and w.choices.chance(40):
        w.uses("raises")
        return _inside(f"{xs.name}[{index(w, 5).text}]", type)
    guard = f"{xs.name}[{w.choices.choose((0, -1))}] if {xs.name} else {constant(w, type).inner}"
    return replace(_inside(guard, type), atom=False)


@form(ANY, weight=1)
def best(w: Writer, type: Type, depth: int) -> Expr | None:
    """The largest or smallest item by a key."""
    xs = w.pick_type(list_of(type))
    if xs is None or type not in SCALARS:
        return None
    each = element(w, type)
    with w.without_state(each):
        key = expression(w, w.choices.choose((INT, BOOL)), 1)
    w.uses("lambda")
    call = w.choices.choose(("max", "min"))
    return _inside(f"{call}({xs.name}, key=lambda {each.name}: {key.text}, default={constant(w, type).text})", type)


COMMON_TYPES = (INT, STR, FLOAT, list_of(INT), BOOL, list_of(STR), dict_of(STR, INT), tuple_of(INT, STR))


def any_local(w: Writer) -> Expr:
    """A value of some type for a new variable."""
    types = [*COMMON_TYPES, list_of(FLOAT), dict_of(INT, INT), Type("set", (INT,)), *w.plan.records]
    type = w.choices.choose(w.plan.types if w.plan.types and w.choices.chance(40) else types)
    return local(w, type)
