"""Forms of integers, floats, booleans and strings without state."""

from __future__ import annotations

from tests.generator.forms import condition, exact, expression, fit, form, index, leaf, local, shorter, small
from tests.generator.valuetypes import BOOL, BOUNDARY_INTS, FLOAT, GROWN, INT, SCALARS, STR, Type, list_of, set_of
from tests.generator.writer import Expr, Variable, Writer

COMPARISONS = ("==", "<", "!=", ">=", ">", "<=")
LONGEST = 800  # no string is longer


def infix(left: Expr, operator: str, right: Expr, type: Type, low: int = 0, high: int = 0) -> Expr:
    return Expr(f"{left.inner} {operator} {right.inner}", type, low, high, atom=False)


# Integers


@form("int", weight=5)
def add(w: Writer, type: Type, depth: int) -> Expr | None:
    a, b = expression(w, INT, depth), expression(w, INT, depth)
    if w.choices.chance(30):
        return infix(a, "-", b, INT, a.low - b.high, a.high - b.low)
    return infix(a, "+", b, INT, a.low + b.low, a.high + b.high)


@form("int", weight=2)
def multiply(w: Writer, type: Type, depth: int) -> Expr | None:
    a, b = expression(w, INT, depth), leaf(w, INT)
    ends = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
    return infix(a, "*", b, INT, min(ends), max(ends))


@form("int", weight=2)
def remainder(w: Writer, type: Type, depth: int) -> Expr | None:
    by = w.choices.choose((5, 3, 2, 10))
    if w.choices.chance(30):
        a = expression(w, INT, depth)
        return Expr(f"{a.inner} // {by}", INT, a.low // by, a.high // by, atom=False)
    return Expr(f"{expression(w, INT, depth).inner} % {by}", INT, 0, by - 1, atom=False)


@form("int", weight=2)
def divide(w: Writer, type: Type, depth: int) -> Expr | None:
    if not w.plan.raising:
        return None
    a, b = expression(w, INT, depth), leaf(w, INT)
    w.uses("raises")
    bound = max(abs(a.low), abs(a.high))
    return infix(a, w.choices.choose(("//", "%")), b, INT, -max(bound, abs(b.low)), max(bound, abs(b.high)))


@form("int", weight=1)
def bits(w: Writer, type: Type, depth: int) -> Expr | None:
    a, b = index(w, 100, depth), index(w, 7, depth)
    operator, high = w.choices.choose((("&", 127), ("|", 127), ("^", 127), ("<<", 100 << 7), (">>", 100)))
    return infix(a, operator, b, INT, 0, high)


@form("int", weight=1)
def power(w: Writer, type: Type, depth: int) -> Expr | None:
    a = fit(w, leaf(w, INT))
    top = max(abs(a.low), abs(a.high)) ** 3
    return Expr(f"{a.inner} ** {w.choices.choose((2, 3))}", INT, -top, top, atom=False)


@form("int", weight=2)
def extreme(w: Writer, type: Type, depth: int) -> Expr | None:
    a, b = expression(w, INT, depth), expression(w, INT, depth)
    match w.choices.choose(("min", "max", "abs")):
        case "min":
            return Expr(f"min({a.text}, {b.text})", INT, min(a.low, b.low), min(a.high, b.high))
        case "max":
            return Expr(f"max({a.text}, {b.text})", INT, max(a.low, b.low), max(a.high, b.high))
    return Expr(f"abs({a.text})", INT, 0, max(abs(a.low), abs(a.high)))


@form("int", weight=3)
def measure(w: Writer, type: Type, depth: int) -> Expr | None:
    sized = w.pick(lambda v: v.type.kind in ("str", "list", "dict", "set"))
    if sized is None:
        return None
    if sized.type == STR:
        w.uses("strings")
        call = w.choices.choose(("len({})", '{}.count("a")', '{}.find("b")'))
        return Expr(call.format(sized.name), INT, -1, LONGEST)
    if sized.type == list_of(INT) and w.choices.chance(60):
        call = w.choices.choose(("sum({})", "max({}, default=0)", "sum(n % 3 for n in {})", "min({}, default=-1)"))
        return Expr(call.format(sized.name), INT, -GROWN * 1000, GROWN * 1000)
    return Expr(f"len({sized.name})", INT, 0, 1000)


@form("int", weight=1)
def boundary(w: Writer, type: Type, depth: int) -> Expr | None:
    value = w.choices.choose(BOUNDARY_INTS)
    return Expr(str(value), INT, value, value, atom=value >= 0) if w.choices.chance(20) else None


@form("int", weight=1)
def to_int(w: Writer, type: Type, depth: int) -> Expr | None:
    if w.choices.chance(50):
        return Expr(f"int({condition(w, depth).text})", INT, 0, 1)
    return Expr(f"{w.choices.choose(('int', 'round'))}({exact(w).text})", INT, -200, 200)


# Floats


@form("float", weight=5)
def compute(w: Writer, type: Type, depth: int) -> Expr | None:
    a, b = expression(w, FLOAT, depth), expression(w, FLOAT, depth)
    return infix(a, w.choices.choose(("+", "*", "-")), b, FLOAT)


@form("float", weight=2)
def exact_float(w: Writer, type: Type, depth: int) -> Expr | None:
    return exact(w)


@form("float", weight=2)
def to_float(w: Writer, type: Type, depth: int) -> Expr | None:
    number = fit(w, expression(w, INT, depth))
    if w.choices.chance(50):
        return Expr(f"float({number.text})", FLOAT)
    return Expr(f"{number.inner} / {w.choices.choose((2, 4, 3, 10))}", FLOAT, atom=False)


@form("float", weight=2)
def of_floats(w: Writer, type: Type, depth: int) -> Expr | None:
    a, b = expression(w, FLOAT, depth), leaf(w, FLOAT)
    calls = ("abs({0})", "max({0}, {1})", "min({0}, {1})", "round({0}, 1)", "math.sqrt(abs({0}))", "math.tanh({0})")
    return Expr(w.choices.choose(calls).format(a.text, b.text), FLOAT)


@form("float", weight=1)
def sum_floats(w: Writer, type: Type, depth: int) -> Expr | None:
    floats = w.pick_type(list_of(FLOAT))
    return None if floats is None else Expr(f"sum({floats.name}, 0.0)", FLOAT)


@form("float", weight=1)
def quotient(w: Writer, type: Type, depth: int) -> Expr | None:
    if not w.plan.raising:
        return None
    w.uses("raises")
    return infix(expression(w, FLOAT, depth), "/", leaf(w, FLOAT), FLOAT)


# Booleans


@form("bool", weight=8)
def compare(w: Writer, type: Type, depth: int) -> Expr | None:
    side = w.choices.choose(SCALARS[:3])
    a, b = expression(w, side, depth), expression(w, side, min(depth, 1))
    if side == INT and w.choices.chance(15):
        return Expr(f"{a.inner} < {b.inner} <= {leaf(w, INT).inner}", BOOL, atom=False)
    return infix(a, w.choices.choose(COMPARISONS), b, BOOL)


@form("bool", weight=3)
def connect(w: Writer, type: Type, depth: int) -> Expr | None:
    a = condition(w, depth)
    if w.choices.chance(25):
        return Expr(f"not {a.inner}", BOOL, atom=False)
    return infix(a, w.choices.choose(("and", "or")), condition(w, depth), BOOL)


@form("bool", weight=2)
def contains(w: Writer, type: Type, depth: int) -> Expr | None:
    inside = w.pick(lambda v: v.type.kind in ("list", "set", "dict", "str") and (v.type == STR or v.type.of in SCALARS))
    if inside is None:
        return None
    item = leaf(w, STR if inside.type == STR else inside.type.of)
    return Expr(f"{item.inner} {w.choices.choose(('in', 'not in'))} {inside.name}", BOOL, atom=False)


@form("bool", weight=2)
def is_none(w: Writer, type: Type, depth: int) -> Expr | None:
    maybe = w.pick(lambda v: v.type.kind == "optional" and v.name not in w.narrowed)
    if maybe is None:
        return None
    w.tested.add(maybe.name)
    w.uses("optionals")
    return Expr(f"{maybe.name} {w.choices.choose(('is None', 'is not None'))}", BOOL, atom=False)


@form("bool", weight=1)
def test_string(w: Writer, type: Type, depth: int) -> Expr | None:
    w.uses("strings")
    return Expr(w.choices.choose(('{}.startswith("a")', "{}.isdigit()", "bool({})")).format(leaf(w, STR).inner), BOOL)


@form("bool", weight=1)
def quantify(w: Writer, type: Type, depth: int) -> Expr | None:
    items = w.pick(lambda v: v.type.kind == "list" and v.type.of in SCALARS)
    if items is None:
        return None
    name = w.name("e")
    each = Variable(name, Expr(name, items.type.of, -GROWN, GROWN))
    with w.without_state(each):
        test = condition(w, 1)
    w.uses("generators")
    return Expr(f"{w.choices.choose(('any', 'all'))}({test.text} for {each.name} in {items.name})", BOOL)


# Strings


@form("str", weight=4)
def change_case(w: Writer, type: Type, depth: int) -> Expr | None:
    a = expression(w, STR, depth)
    w.uses("strings")
    calls = ("{}.lower()", "{}.upper()", "{}.strip()", "{}[:2]", "{}[1:]", '{}.replace("a", "b")', "{}[::-1]")
    return Expr(w.choices.choose(calls).format(a.inner), STR, size=a.size)


@form("str", weight=2)
def concatenate(w: Writer, type: Type, depth: int) -> Expr | None:
    a, b = (shorter(w, expression(w, STR, depth), LONGEST // 2) for _ in range(2))
    w.uses("strings")
    return Expr(f"{a.inner} + {b.inner}", STR, size=a.size + b.size, atom=False)


@form("str", weight=2)
def format_string(w: Writer, type: Type, depth: int) -> Expr | None:
    shown = [w.pick(lambda v: v.type.kind in ("int", "str", "float", "bool")) for _ in range(2)]
    parts = [f"{{{v.name}{':.2f' if v.type == FLOAT else ''}}}" for v in shown if v is not None]
    w.uses("strings")
    return Expr(f'f"{"-".join(parts)}"', STR, size=LONGEST) if parts else None


@form("str", weight=2)
def to_string(w: Writer, type: Type, depth: int) -> Expr | None:
    words = w.pick_type(list_of(STR))
    if words is not None and w.choices.chance(50):
        w.uses("strings")
        return Expr(f'"{w.choices.choose((" ", "", ","))}".join({words.name})', STR, size=LONGEST)
    return Expr(f"str({local(w, INT, depth).text})", STR, size=20)


@form("str", weight=1)
def nth_word(w: Writer, type: Type, depth: int) -> Expr | None:
    words = w.pick_type(list_of(STR))
    if words is None or not w.plan.raising:
        return None
    w.uses("raises", "strings")
    return Expr(f"{words.name}[{w.choices.choose((0, -1, 1))}]", STR, size=LONGEST)


# Sets of scalars are made by these, too


@form("set", weight=3)
def set_of_items(w: Writer, type: Type, depth: int) -> Expr | None:
    items = w.pick_type(list_of(type.of))
    if items is None:
        return Expr(f"{{{small(w, type.of, depth).text}}}", type, size=1, fresh=True)
    return Expr(f"set({items.name})", set_of(type.of), size=items.value.size, fresh=True)
