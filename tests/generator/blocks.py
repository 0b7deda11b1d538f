"""Statements with blocks inside: branches, loops, `match`."""

from __future__ import annotations

from dataclasses import replace

from tests.generator.compounds import element
from tests.generator.forms import condition, index, local
from tests.generator.statements import statement, write_block, write_return
from tests.generator.valuetypes import FLOAT, INT, SCALARS, STR, VECTOR
from tests.generator.writer import Expr, Variable, Writer

ROUND = 6  # loops over lists go so far


@statement(weight=14)
def branch(w: Writer) -> bool:
    if w.depth > 5:
        return False
    w.line(f"if {condition(w).text}:")
    with w.block():
        write_block(w, 2)
    while w.choices.chance(20):
        w.line(f"elif {condition(w).text}:")
        with w.block():
            write_block(w, 2)
    if w.choices.chance(40):
        w.line("else:")
        with w.block():
            write_block(w, 2)
    return True


@statement(weight=3)
def branch_assign(w: Writer) -> bool:
    """Both branches give a new variable its value."""
    type = w.choices.choose((*SCALARS, *w.plan.records))
    name = w.name("chosen")
    kept = []
    for head in (f"if {condition(w).text}:", "else:"):
        w.line(head)
        with w.block():
            if w.choices.chance(40):
                write_block(w, 1)
            value = local(w, type)
            w.line(f"{name} = {value.text}")
            kept.append(value)
    low, high = min(k.low for k in kept), max(k.high for k in kept)
    w.declare(Expr("", type, low, high, max(k.size for k in kept), all(k.exact for k in kept)), name=name)
    return True


@statement(weight=4)
def return_early(w: Writer) -> bool:
    w.line(f"if {condition(w).text}:")
    with w.block():
        if w.choices.chance(40):
            write_block(w, 2)
        write_return(w)
    w.uses("early return")
    return True


@statement(weight=3)
def leave_loop(w: Writer) -> bool:
    if not w.loops:
        return False
    w.line(f"if {condition(w).text}:")
    with w.block():
        w.line(w.choices.choose(("continue", "break")))
    w.uses("break")
    return True


@statement(weight=8)
def narrow(w: Writer) -> bool:
    """Check an optional and use what it holds."""
    maybe = w.pick(lambda v: v.type.kind == "optional" and v.name not in w.narrowed | w.tested)
    if maybe is None:
        return False
    w.narrowed.add(maybe.name)
    w.uses("optionals")
    inside = element(w, maybe.type.of).value
    some = Variable(maybe.name, replace(inside, text=maybe.name), assignable=False)
    if w.choices.chance(30):
        w.line(f"if {maybe.name} is None:")
        with w.block():
            write_return(w)
        w.variables.append(some)
        return True
    w.line(f"if {maybe.name} is not None:")
    with w.block():
        w.variables.append(some)
        write_block(w, 2)
    if w.choices.chance(30):
        w.line("else:")
        with w.block():
            write_block(w, 1)
    return True


@statement(weight=9)
def loop_over(w: Writer) -> bool:
    """A loop over a list, range, dict, string or vector."""
    if w.depth > 5 or len(w.loops) >= 2 or not w.affords(ROUND * 3):
        return False
    walked: list[str] = []
    source = w.pick(lambda v: v.type.kind in ("list", "dict", "str") or v.type == VECTOR)
    if source is None or w.choices.chance(30):
        number = index(w, 5)
        target, of, items = w.name("i"), f"range({number.text})", [Expr("", INT, 0, 4)]
        items = [replace(items[0], text=target)]
    else:
        walked = [source.name]
        target, of, items = _walk(w, source)
    w.line(f"for {target} in {of}:")
    with w.untouched(*walked), w.loop("for", ROUND):
        for item in items:
            w.declare(item, assignable=False, name=item.text)
        write_block(w, 3)
    if w.choices.chance(8):
        w.line("else:")
        with w.block():
            write_block(w, 1)
    w.uses("loops")
    return True


def _walk(w: Writer, source: Variable) -> tuple[str, str, list[Expr]]:
    """Target, source and items of a loop over a variable."""
    name = source.name
    short = name if source.value.size <= 8 else f"{name}[:{ROUND}]"
    if source.type == VECTOR:
        i, x = element(w, INT, "i").value, element(w, FLOAT, "x").value
        return f"{i.text}, {x.text}", f"{name}.{w.choices.choose((f'top({ROUND})', 'items()'))}", [i, x]
    if source.type == STR:
        each = element(w, STR, "c").value
        return each.text, f"{name}[:{ROUND}]", [each]
    if source.type.kind == "dict":
        key, value = (element(w, t, "e").value for t in source.type.args)
        limit = f"[:{ROUND}]" if source.value.size > 8 else ""
        of = f"list({name}.items()){limit}" if limit else f"{name}.items()"
        return f"{key.text}, {value.text}", w.choices.choose((of, f"sorted({name}.items()){limit}")), [key, value]
    each = element(w, source.type.of).value
    if w.choices.chance(20) and not source.mutable:
        i = Expr(w.name("i"), INT, 0, ROUND)
        w.uses("enumerate")
        return f"{i.text}, {each.text}", f"enumerate({short})", [i, each]
    if source.type.of.kind == "tuple" and w.choices.chance(60):
        parts = [element(w, t, "part").value for t in source.type.of.args]
        return ", ".join(p.text for p in parts), short, parts
    return each.text, short, [each]


@statement(weight=4)
def loop_while(w: Writer) -> bool:
    """A loop that a counter ends at the latest."""
    if w.depth > 5 or len(w.loops) >= 2 or not w.affords(ROUND * 3):
        return False
    most = w.choices.integer(1, 4)
    counter = w.declare(Expr("0", INT, 0, most), assignable=False, name=w.name("i"))
    w.line(f"{counter.name} = 0")
    test = f" and {condition(w).inner}" if w.choices.chance(50) else ""
    w.line(f"while {counter.name} < {most}{test}:")
    with w.loop("while", most):
        w.line(f"{counter.name} += 1")
        write_block(w, 3)
    w.uses("while")
    return True


@statement(weight=1)
def zip_loop(w: Writer) -> bool:
    xs = w.pick(lambda v: v.type.kind == "list" and v.type.of in SCALARS)
    ys = w.pick(lambda v: v.type.kind == "list" and v.type.of in SCALARS)
    if xs is None or ys is None or len(w.loops) >= 2 or not w.affords(ROUND * 3):
        return False
    a, b = element(w, xs.type.of).value, element(w, ys.type.of).value
    w.line(f"for {a.text}, {b.text} in zip({xs.name}[:{ROUND}], {ys.name}, strict=False):")
    with w.untouched(xs.name, ys.name), w.loop("for", ROUND):
        w.declare(a, assignable=False, name=a.text)
        w.declare(b, assignable=False, name=b.text)
        write_block(w, 2)
    w.uses("loops", "zip")
    return True
