"""Statements that change one entry of a state, or read one into a variable."""

from __future__ import annotations

from tests.generator.access import full_key, known, line_of, place_key, read, readable, reads_of, step, storable
from tests.generator.compounds import element
from tests.generator.forms import condition, constant, exact, expression, fit, index, local
from tests.generator.statements import bind, statement, write_block
from tests.generator.states import DENSE_SIZE, SMALLEST_START, State
from tests.generator.valuetypes import BOOL, FLOAT, INT, SCALARS, STR, VECTOR, Type, dict_of, list_of, optional
from tests.generator.writer import Writer


def mine(w: Writer, state: State) -> bool:
    """May the entries of the state be changed here, one by one and freely?"""
    return state.partitioned or (state.partial and w.plan.grouping)


def writable(w: Writer, *forms: str) -> State | None:
    states = w.states(lambda s: mine(w, s) and s.form in forms)
    return w.choices.choose(states) if states else None


@statement(weight=18)
def store(w: Writer) -> bool:
    state = writable(w, "Table", "Vector", "Matrix", "DenseMatrix", "DenseVector")
    if state is None:
        return False
    value = storable(w, state)
    w.line(f"{w.touch(state)}[{full_key(w, state).item}] = {value.text}")
    _changed(w, state)
    return True


def _changed(w: Writer, state: State) -> None:
    if state.partial:
        w.uses("grouping-sensitive")


@statement(weight=18)
def increment(w: Writer) -> bool:
    """`+=`, or `get` with a default and store."""
    states = w.states(lambda s: mine(w, s) and s.form not in ("Value",) and s.value in (INT, FLOAT, STR, list_of(INT)))
    if not states:
        return False
    state = w.choices.choose(states)
    name, key, by = w.touch(state), full_key(w, state), step(w, state)
    listed = state.value.kind == "list"  # `t[k] += [x]` would change what state handed out
    if (state.form != "Table" or state.default) and not listed:
        w.line(f"{name}[{key.item}] += {by.text}")
    elif listed or w.choices.chance(70):
        empty = {"int": "0", "float": "0.0", "str": '""', "list": "[]"}[state.value.kind]
        w.line(f"{name}[{key.item}] = {name}.get({key.inner}, {empty}) + {by.inner}")
    elif w.plan.raising and w.choices.chance(50):
        w.line(f"{name}[{key.item}] += {by.text}")
        w.uses("raises", "missing keys")
    else:
        w.line(f"if {key.inner} in {name}:")
        with w.block():
            w.line(f"{name}[{key.item}] += {by.text}")
    w.uses("increments")
    _changed(w, state)
    return True


@statement(weight=12)
def multiply(w: Writer) -> bool:
    """A product that soon leaves 64 bits."""
    states = w.states(lambda s: s.wide)
    if not states:
        return False
    state = w.choices.choose(states)
    name, key, by = w.touch(state), full_key(w, state), w.choices.choose((1000003, 2**32, -(2**40)))
    if state.default and w.choices.chance(50):
        w.line(f"{name}[{key.item}] *= {by}")
    else:
        w.line(f"{name}[{key.item}] = {name}.get({key.inner}, {w.choices.choose((3, 1, -1))}) * {by}")
    w.uses("raises", "overflow")
    return True


@statement(weight=14)
def increment_partial(w: Writer) -> bool:
    """A change of partial state whose merged value does not depend on which instance it happens on."""
    states = w.states(lambda s: s.partial and s.merge in ("add", "largest", "smallest"))
    if not states:
        return False
    state = w.choices.choose(states)
    name = w.touch(state)
    w.uses("partial")
    if state.merge != "add":
        pick, start = ("max", -1) if state.merge == "largest" else ("min", SMALLEST_START)
        number = index(w, 100)
        if state.form == "Value":
            w.line(f"{name}.value = {pick}({name}.value, {number.text})")
        else:
            key = full_key(w, state)
            w.line(f"{name}[{key.item}] = {pick}({name}.get({key.inner}, {start}), {number.text})")
    elif state.form == "Value":
        w.line(f"{name}.value += {fit(w, expression(w, INT, 1)).text}")
    else:
        by = exact(w) if state.value == FLOAT else fit(w, expression(w, INT, 1))
        w.line(f"{name}[{_partial_key(w, state)}] += {by.text}")
    return True


def _partial_key(w: Writer, state: State) -> str:
    return index(w, DENSE_SIZE).text if state.form == "DenseVector" else full_key(w, state).item


@statement(weight=8)
def remove(w: Writer) -> bool:
    state = writable(w, "Table")
    if state is None:
        return False
    name, key = w.touch(state), full_key(w, state)
    w.uses("removal")
    _changed(w, state)
    pick = w.choices.integer(0, 3)
    if pick == 0:
        w.line(f"{name}.pop({key.inner}, None)")
    elif pick == 1 and w.plan.raising:
        w.line(f"del {name}[{key.item}]")
        w.uses("raises", "missing keys")
    elif pick == 2 and state.value.kind != "optional":
        made = f"{name}.pop({key.inner})" if w.plan.raising and w.choices.chance(50) else ""
        popped = known(state, made or f"{name}.pop({key.inner}, {constant(w, state.value).text})")
        w.uses("pop", *(("raises", "missing keys") if made else ()))
        bind(w, popped)
    else:
        w.line(f"if {key.inner} in {name}:")
        with w.block():
            w.line(f"del {name}[{key.item}]")
    return True


@statement(weight=4)
def set_default(w: Writer) -> bool:
    state = writable(w, "Table")
    if state is None:
        return False
    name, key, value = w.touch(state), full_key(w, state), storable(w, state, 1)
    text = f"{name}.setdefault({key.inner}, {value.text})"
    w.uses("setdefault")
    _changed(w, state)
    if w.choices.chance(50):
        w.line(text)
    else:
        bind(w, known(state, text))
    return True


@statement(weight=6)
def store_once(w: Writer) -> bool:
    """Store where nothing is, with an access in the condition."""
    state = writable(w, "Table")
    if state is None or w.depth > 5:
        return False
    name, key = w.touch(state), full_key(w, state)
    extra = f" and {condition(w, 1).inner}" if w.choices.chance(40) else ""
    w.line(f"if {key.inner} not in {name}{extra}:")
    with w.block():
        w.line(f"{name}[{key.item}] = {storable(w, state).text}")
        if w.choices.chance(30):
            write_block(w, 1)
    _changed(w, state)
    return True


@statement(weight=4)
def change_value(w: Writer) -> bool:
    """A local change of a partial value without regard to its merge."""
    state = writable(w, "Value")
    if state is None:
        return False
    name = w.touch(state)
    w.line(w.choices.choose((f"{name}.value = {storable(w, state).text}", f"{name}.assign({storable(w, state).text})")))
    _changed(w, state)
    return True


@statement(weight=4)
def set_row(w: Writer) -> bool:
    states = w.states(lambda s: s.partitioned and s.form == "Matrix" and s.axis == "row")
    if not states:
        return False
    state = w.choices.choose(states)
    row = w.pick(lambda v: v.type == VECTOR and (v.value.exact or not state.exact))
    vector = row.name if row is not None else f"ab.Vector({{{index(w).text}: {exact(w).text}}})"
    w.line(f"{w.touch(state)}.set_row({place_key(w, state).text}, {vector})")
    w.uses("set_row")
    return True


# Reads into variables


@statement(weight=20)
def read_into(w: Writer) -> bool:
    states = w.states(lambda s: readable(w, s))
    if not states:
        return False
    state = w.choices.choose(states)
    types = [t for t in _types_of(state) if next(reads_of(w, state, t), None) is not None]
    value = read(w, state, w.choices.choose(types))
    if value is None:
        return False
    bind(w, value)
    return True


def _types_of(state: State) -> list[Type]:
    types: list[Type] = [state.value, BOOL, FLOAT, INT, VECTOR, Type("DenseVector")]
    if state.form == "Table" and state.value.kind != "optional":
        types.append(optional(state.value))
    if state.axis == "first" and state.key is not None and len(state.key.args) == 2:
        types.append(dict_of(state.key.args[1], state.value))
    return types


@statement(weight=10)
def walk_row(w: Writer) -> bool:
    """A loop over the entries of a row or column, or over a list in a table."""
    states = w.states(lambda s: readable(w, s) and s.form in ("Table", "Matrix"))
    states = [s for s in states if s.axis == "first" or s.form == "Matrix" or s.value.kind == "list"]
    if not states or len(w.loops) >= 2 or not w.affords(30) or w.depth > 5:
        return False
    state = w.choices.choose(states)
    name = w.touch(state)
    if state.partial:
        w.uses("grouping-sensitive")
    if state.form == "Matrix":
        i, x = element(w, INT, "i").value, element(w, FLOAT, "x").value
        target, of, items = f"{i.text}, {x.text}", f"{line_of(w, state)}.items()", [i, x]
    elif state.axis == "first" and state.key is not None and len(state.key.args) == 2:
        key, value = element(w, state.key.args[1]).value, known(state, w.name("e"))
        target, of, items = f"{key.text}, {value.text}", f"{name}.row({place_key(w, state).text}).items()", [key, value]
    elif state.value.kind == "list":
        each = element(w, state.value.of).value
        target, of, items = each.text, f"{name}.get({full_key(w, state).inner}, [])[:6]", [each]
    else:
        return False
    w.line(f"for {target} in {of}:")
    with w.loop("row", 6):
        for item in items:
            w.declare(item, assignable=False, name=item.text)
        write_block(w, 2)
    w.uses("rows", "loops")
    return True


@statement(weight=10)
def state_condition(w: Writer) -> bool:
    """An access in the condition around others, with `and`, `or` or `not`."""
    states = w.states(lambda s: readable(w, s) and s.value in SCALARS and s.form != "Value")
    if not states or w.depth > 5:
        return False
    state = w.choices.choose(states)
    value = read(w, state, state.value)
    if value is None:
        return False
    other = expression(w, state.value, 1) if state.value != BOOL else condition(w, 1)
    test = f"{value.inner} {w.choices.choose(('>', '==', '<=', '!='))} {other.inner}"
    more = w.choices.choose(("", " and ", " or ", " and not "))
    w.line(f"if {test}{more + condition(w, 1).inner if more else ''}:")
    with w.block():
        write_block(w, 2)
    w.uses("state conditions")
    return True


@statement(weight=2)
def keep(w: Writer) -> bool:
    """A local of a type that suits the keys of the program."""
    keys = [s.key for s in w.plan.states if s.key is not None]
    if not keys:
        return False
    bind(w, local(w, w.choices.choose(keys)))
    return True
