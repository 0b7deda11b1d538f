"""Containers that are changed after they were passed, stored, read, returned or given a second name.

What crosses state or an entry is a copy, so both sides may go on and may be changed. What has two names inside an
entry is one value: it may not travel, so the second name ends with the statement, and what it shows is taken at once.
"""

from __future__ import annotations

from tests.generator.access import full_key, known
from tests.generator.calls import argument, callable_here
from tests.generator.changes import changed, empty_of
from tests.generator.compounds import short
from tests.generator.forms import condition, copied
from tests.generator.statements import TOTAL, statement
from tests.generator.states import State
from tests.generator.valuetypes import INT, NONE, STR, Type, dict_of, list_of
from tests.generator.writer import Expr, Function, Variable, Writer
from tests.generator.writes import mine

LISTS = (list_of(INT), list_of(STR))


def new_container(w: Writer, type: Type) -> Variable:
    """A variable that holds a container of its own with a few items."""
    items = [short(w, type.of, 0).text for _ in range(w.choices.integer(1, 2))]
    if type.kind == "dict":
        items = [f"{item}: {short(w, type.args[1], 0).text}" for item in items]
    text = f"[{', '.join(items)}]" if type.kind == "list" else f"{{{', '.join(items)}}}"
    return w.bind(Expr(text, type, fresh=True))


def container_type(w: Writer) -> Type:
    """A type of containers: of lists, or of what the program has; kernels know few dicts and sets."""
    return w.choices.choose((*LISTS, *LISTS, *(t for t in w.plan.types if is_container(t))))


def change(w: Writer, variable: Variable) -> None:
    for _ in range(w.choices.integer(1, 2)):
        w.line(changed(w, variable.name, variable.type))


def show(w: Writer, text: str, type: Type) -> None:
    """What it holds now, as a variable that shares nothing with it."""
    if w.choices.chance(60):
        w.bind(Expr(copied(w, text, type), type, fresh=True))
    elif type == list_of(INT):
        w.bind(Expr(f"sum({text}) * 10 + len({text})", INT, -TOTAL, TOTAL, atom=False))
    else:
        w.bind(Expr(f"len({text})", INT, 0, 1000))


def is_container(type: Type) -> bool:
    return type.kind in ("list", "dict", "set") and not any(t.sharing for t in type.args)


@statement(weight=10, theme="aliases")
def change_default(w: Writer) -> bool:
    """The default of `get`, `pop` or `setdefault` of a state is changed afterwards."""
    states = w.states(lambda s: mine(w, s) and s.form == "Table" and default_of(s) is not None)
    if not states:
        return False
    state = w.choices.choose(states)
    call = w.choices.choose(("get", "setdefault", "pop"))
    held = default_of(state)
    assert held is not None
    xs = new_container(w, held)
    given = xs.name
    if state.value.kind == "record":
        parts = [given if t == held else short(w, t, 0).text for _, t in state.value.fields]
        given = f"{state.value.name}({', '.join(parts)})"
    found = w.bind(known(state, f"{w.touch(state)}.{call}({full_key(w, state).inner}, {given})"))
    change(w, xs)
    if w.choices.chance(70):  # where the states are compared
        w.line(f"{w.touch(state)}[{full_key(w, state).item}] = {found.name}")
    w.uses("changed defaults", *(() if not state.partial else ("grouping-sensitive",)))
    return True


def default_of(state: State) -> Type | None:
    """The type of the container that a default of the state holds."""
    if is_container(state.value):
        return state.value
    fields = [t for _, t in state.value.fields if is_container(t)]
    return fields[0] if fields else None


@statement(weight=6, theme="aliases")
def change_stored(w: Writer) -> bool:
    """A container is stored, and changed afterwards."""
    states = w.states(lambda s: mine(w, s) and s.form == "Table" and is_container(s.value))
    if not states:
        return False
    state = w.choices.choose(states)
    xs = new_container(w, state.value)
    w.line(f"{w.touch(state)}[{full_key(w, state).item}] = {xs.name}")
    change(w, xs)
    w.uses("changed after storing", *(("grouping-sensitive",) if state.partial else ()))
    return True


def taking(w: Writer, entry: bool) -> list[Function]:
    """Functions or entries that may be called here with a container."""
    functions = [f for f in w.plan.functions if f.entry == entry and callable_here(w, f)]
    return [f for f in functions if any(is_container(p.type) for p in f.params)]


def call_with(w: Writer, function: Function, xs: Variable) -> str:
    args, given = [], False
    for param in function.params:
        mine = param.type == xs.type and not given
        given = given or mine
        args.append(xs.name if mine else argument(w, param.value).text)
    w.cost += w.rounds * function.cost
    w.stateful = w.stateful or function.stateful
    return f"{function.text}({', '.join(args)})"


@statement(weight=16, theme="aliases")
def call_entry_and_change(w: Writer) -> bool:
    """An entry is called with a container; caller and callee change it, and what it gives."""
    functions = taking(w, entry=True)
    if not functions:
        return False
    function = w.choices.choose(functions)
    xs = new_container(w, next(p.type for p in function.params if is_container(p.type)))
    text = call_with(w, function, xs)
    if function.result == NONE:
        w.line(text)
    else:
        found = w.bind(Expr(text, function.result, fresh=function.result.mutable), annotate=w.choices.chance(10))
        if is_container(found.type):
            change(w, found)
    if w.choices.chance(60):
        change(w, xs)
    w.uses("entries calling entries", "changed arguments of entries")
    return True


@statement(weight=6, theme="aliases")
def call_helper_that_changes(w: Writer) -> bool:
    """A helper may change its argument, and the caller sees it."""
    functions = [f for f in taking(w, entry=False) if not f.result.sharing]
    if not functions:
        return False
    function = w.choices.choose(functions)
    xs = new_container(w, next(p.type for p in function.params if is_container(p.type)))
    text = call_with(w, function, xs)
    if function.result == NONE or function.result.kind == "optional":
        w.line(text)
    else:
        w.bind(Expr(text, function.result, size=60))
    show(w, xs.name, xs.type)
    w.uses("helpers", "changed arguments of helpers")
    return True


@statement(weight=4, theme="aliases")
def second_name(w: Writer) -> bool:
    xs = new_container(w, container_type(w))
    other = w.name("other")
    w.line(f"{other} = {xs.name}")
    if w.choices.chance(40):
        with w.without_state():
            test = condition(w, 1).text
        w.line(f"if {test}:")
        w.line(f"    {other} = {copied(w, xs.name, xs.type)}")
    w.line(changed(w, other, xs.type))
    change(w, xs)
    show(w, other, xs.type)
    w.uses("second names")
    return True


@statement(weight=5, theme="aliases")
def container_inside(w: Writer) -> bool:
    """A container becomes part of another value, and is changed by either name."""
    xs = new_container(w, container_type(w))
    outer = w.name("outer")
    with w.without_state():
        made = [
            (f"({xs.name}, {short(w, INT, 0).text})", "[0]"),
            (f"[{xs.name}]", "[0]"),
            (f'{{"a": {xs.name}}}', '["a"]'),
        ]
        for record in w.plan.records:
            first = next((name for name, t in record.fields if t == xs.type), None)
            if first is not None:
                parts = [f"{n}={xs.name if n == first else short(w, t, 0).text}" for n, t in record.fields]
                made.append((f"{record.name}({', '.join(parts)})", f".{first}"))
        text, path = w.choices.choose(made[::-1])
        w.line(f"{outer} = {text}")
        change(w, xs)
        if path.startswith("[") and w.choices.chance(50):
            w.line(changed(w, f"{outer}{path}", xs.type))
        show(w, f"{outer}{path}", xs.type)
    w.uses("second names")
    return True


@statement(weight=4, theme="aliases")
def change_local_default(w: Writer) -> bool:
    """The default of `get`, `pop` or `setdefault` of a local dict is changed afterwards: it is the same value."""
    inside = w.choices.choose(LISTS)  # of sets no defaults may be given
    xs, d, found = new_container(w, inside), w.name("index"), w.name("found")
    with w.without_state():
        w.line(f"{d}: {dict_of(STR, inside)} = {{}}")
        if w.choices.chance(40):
            w.line(f"{d}[{short(w, STR, 0).text}] = {empty_of(inside)}")
        w.line(f"{found} = {d}.{w.choices.choose(('get', 'setdefault', 'pop'))}({short(w, STR, 0).text}, {xs.name})")
        change(w, xs)
        show(w, found, inside)
        if w.choices.chance(50):
            w.bind(Expr(f"sum(len(e) for e in {d}.values())", INT, 0, 1000))
    w.uses("second names", "changed defaults")
    return True
