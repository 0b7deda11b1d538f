"""Statements over several places: fan-out, winding, `everywhere` and `gather`."""

from __future__ import annotations

from tests.generator.access import any_key, full_key, known, step, storable
from tests.generator.compounds import element
from tests.generator.forms import condition, constant, exact, fit, index, leaf, shorter
from tests.generator.statements import TOTAL, bind, statement, write_block
from tests.generator.states import DENSE_SIZE, State
from tests.generator.valuetypes import FLOAT, INT, STR, VECTOR, dict_of, list_of
from tests.generator.writer import LONG, Expr, Focus, Variable, Writer


def keyed(w: Writer, *values: str) -> State | None:
    """A partitioned table by whole key, whose values are of these kinds (all if none are named)."""
    if w.focus is not None:
        return None
    tables = w.states(lambda s: s.partitioned and s.form == "Table" and not s.axis)
    tables = [s for s in tables if not values or s.value.kind in values]
    return w.choices.choose(tables) if tables else None


def keys_for(w: Writer, state: State) -> tuple[str, Variable] | None:
    """The source of a loop over keys of the state, and the variable of the loop."""
    assert state.key is not None
    each = element(w, state.key, "k")
    keys = w.pick_type(list_of(state.key))
    if keys is not None:
        return (keys.name if keys.value.size <= 8 else f"{keys.name}[:6]"), each
    if state.key == INT:
        return f"range({index(w, 5).text})", each
    if state.key == STR:
        return f"{shorter(w, leaf(w, STR), 30).inner}.{w.choices.choose(('split()', 'lower().split()'))}[:5]", each
    if state.key.kind == "tuple":
        with w.without_state():
            keys_text = ", ".join(any_key(w, state.key).text for _ in range(w.choices.integer(1, 3)))
        return f"[{keys_text}]", each
    return None


# Fan-out


@statement(weight=16)
def fan_out(w: Writer) -> bool:
    """One access of one state per iteration, each with a key of its own."""
    state = keyed(w)
    if state is None or not w.affords(20) or len(w.loops) >= 2:
        return False
    source = keys_for(w, state)
    if source is None:
        return False
    of, each = source
    name = w.touch(state)
    w.line(f"for {each.name} in {of}:")
    with w.loop("fan-out", 6), w.focused(Focus(each.value, (state,))):
        w.declare(each.value, assignable=False, name=each.name)
        if state.value in (INT, FLOAT) and w.choices.chance(60):
            empty = "0" if state.value == INT else "0.0"
            w.line(f"{name}[{each.name}] = {name}.get({each.name}, {empty}) + {step(w, state).inner}")
        else:
            write_block(w, 2)
    w.uses("fanout", "loops")
    return True


@statement(weight=12)
def fan_out_reads(w: Writer) -> bool:
    """A comprehension that reads one entry per item, as a statement of its own."""
    state = keyed(w, "int", "float", "str", "bool")
    if state is None or not w.affords(10):
        return False
    source = keys_for(w, state)
    if source is None:
        return False
    of, each = source
    key = each.name if state.key != INT or w.choices.chance(70) else f"({each.name} * 3) % 7"
    got = known(state, f"{w.touch(state)}.get({key}, {constant(w, state.value).text})")
    if state.wide:
        got = Expr(f"{got.text} % 1000", INT)
    w.uses("fanout", "comprehensions")
    if state.key in (INT, STR) and w.choices.chance(20):
        made = Expr(f"{{{each.name}: {got.text} for {each.name} in {of}}}", dict_of(state.key, state.value), fresh=True)
    else:
        made = Expr(f"[{got.text} for {each.name} in {of}]", list_of(state.value), fresh=True)
    bind(w, made)
    return True


@statement(weight=10)
def fan_out_total(w: Writer) -> bool:
    """An accumulation over what fan-out reads give."""
    state = keyed(w, "int", "float", "str")
    if state is None or not w.affords(20) or len(w.loops) >= 2:
        return False
    source = keys_for(w, state)
    if source is None:
        return False
    of, each = source
    name, got = w.touch(state), f".get({each.name}, {constant(w, state.value).text})"
    if state.value == INT:
        total = w.declare(Expr("", INT, -TOTAL, TOTAL), name=w.name("total"))
        add = f"{total.name} += {name}{got}{' % 1000' if state.wide else ''}"
    elif state.value == FLOAT:
        total = w.declare(Expr("", FLOAT), name=w.name("total"))
        add = f"{total.name} = {total.name} + {name}{got}"
    else:
        total = w.declare(Expr("", list_of(STR), fresh=True), mutable=True)
        add = f"{total.name}.append({name}{got})"
    start = {"int": "0", "float": "0.0"}.get(state.value.kind, "")
    w.line(f"{total.name} = {start}" if start else f"{total.name}: list[str] = []")
    w.line(f"for {each.name} in {of}:")
    with w.loop("fan-out", 6):
        w.line(add)
    w.uses("fanout", "loops")
    return True


@statement(weight=6)
def same_key_loop(w: Writer) -> bool:
    """A loop that stays at one key."""
    state = keyed(w, "int", "float")
    if state is None or not w.affords(20) or len(w.loops) >= 2:
        return False
    key, name = full_key(w, state), w.touch(state)
    i = w.name("i")
    w.line(f"for {i} in range({index(w, 5).text}):")
    with w.loop("for", 5):
        w.declare(Expr("", INT, 0, 4), assignable=False, name=i)
        empty = "0" if state.value == INT else "0.0"
        w.line(f"{name}[{key.item}] = {name}.get({key.inner}, {empty}) + {step(w, state).inner}")
    w.uses("invariant key", "loops")
    return True


# Winding


@statement(weight=16)
def transfer(w: Writer) -> bool:
    """Read one entry, change another, come back."""
    first, second = keyed(w, "int"), keyed(w, "int")
    if first is None or second is None:
        return False
    source, target = full_key(w, first), full_key(w, second)
    a, b = w.touch(first), w.touch(second)
    amount = index(w, 10)
    have = w.declare(Expr("", INT, *_reach(first)), name=w.name("have"), assignable=False)
    w.line(f"{have.name} = {a}.get({source.inner}, {w.choices.choose((5, 0, 20))})")
    w.line(f"if {have.name} >= {amount.inner}:")
    with w.block():
        if w.choices.chance(50):
            w.line(f"{a}[{source.item}] = {have.name} - {amount.inner}")
            w.line(f"{b}[{target.item}] = {b}.get({target.inner}, 0) + {amount.inner}")
        else:
            w.line(f"{b}[{target.item}] = {b}.get({target.inner}, 0) + {amount.inner}")
            w.line(f"{a}[{source.item}] = {have.name} - {amount.inner}")
        if w.plan.raising and w.choices.chance(40):
            w.line(f"if {b}.get({target.inner}, 0) > {w.choices.choose((15, 3, 40))}:")
            w.line(f'    raise ValueError("full", {amount.text})')
            w.uses("raises", "raise after writes")
    w.uses("winding", "transfer")
    return True


def _reach(state: State) -> tuple[int, int]:
    read = known(state, "")
    return read.low, read.high


@statement(weight=14)
def follow(w: Writer) -> bool:
    """A loop whose next key was read from state."""
    state = keyed(w, "int")
    if state is None or state.key != INT or len(w.loops) >= 2 or not w.affords(20):
        return False
    name, start = w.touch(state), index(w)
    at = w.declare(Expr("", INT, 0, 6), name=w.name("at"), assignable=False)
    w.line(f"{at.name} = {start.text}")
    if w.choices.chance(50):
        w.line(f"for {w.name('i')} in range({w.choices.integer(1, 4)}):")
    else:
        i = w.name("i")
        w.line(f"{i} = 0")
        w.line(f"while {i} < {w.choices.integer(1, 4)} and {at.name} in {name}:")
        w.line(f"    {i} += 1")
    with w.loop("follow", 4):
        w.line(f"{at.name} = ({name}.get({at.name}, 0) + {index(w, 5).inner}) % 7")
        if w.choices.chance(40):
            w.line(f"{name}[{at.name}] = {fit(w, leaf(w, INT)).text}")
    w.uses("winding", "loops", "derived keys")
    return True


@statement(weight=10)
def read_write_back(w: Writer) -> bool:
    """Read a, write b with what was read, write a."""
    first, second = keyed(w), keyed(w)
    if first is None or second is None or first.name == second.name:
        return False
    one, other = full_key(w, first), full_key(w, second)
    value = constant(w, first.value)
    bind(w, known(first, f"{w.touch(first)}.get({one.inner}, {value.text})"))
    w.line(f"{w.touch(second)}[{other.item}] = {storable(w, second, 1).text}")
    w.line(f"if {condition(w, 1).text}:")
    with w.block():
        w.line(f"{w.touch(first)}[{one.item}] = {storable(w, first, 1).text}")
    w.uses("winding")
    return True


# Everywhere


@statement(weight=10)
def write_everywhere(w: Writer) -> bool:
    states = w.states(lambda s: s.replicated or (s.partial and s.merge == "add" and s.form != "DenseVector"))
    if not states or w.focus is not None or "fan-out" in w.loops:
        return False
    state = w.choices.choose(states)
    name = f"ab.everywhere({w.touch(state)})"
    w.uses("everywhere", "everywhere write")
    with w.without_state():
        if state.partial:
            w.line(f"{name}.assign(0)" if state.form == "Value" else f"{name}.clear()")
        elif state.form == "Value":
            w.line(f"{name}.assign({storable(w, state).text})")
        elif state.form == "DenseVector" and w.choices.chance(50):
            w.line(f"{name}.assign([{', '.join(exact(w).text for _ in range(DENSE_SIZE))}])")
        elif state.form == "Table" and w.choices.chance(25):
            key = full_key(w, state).inner
            options = (f"{name}.pop({key}, None)", f"{name}.setdefault({key}, {storable(w, state, 1).text})")
            w.line(w.choices.choose(options))
        else:
            w.line(f"{name}[{full_key(w, state).item}] = {storable(w, state).text}")
    return True


@statement(weight=14)
def gather_entries(w: Writer) -> bool:
    """One merged value of a partial state, whatever the number of instances."""
    states = w.states(lambda s: s.partial and s.merge in ("add", "largest", "smallest"))
    if not states or w.focus is not None or "fan-out" in w.loops:
        return False
    state = w.choices.choose(states)
    each = f"ab.everywhere({w.touch(state)})"
    w.uses("everywhere", "gather")
    with w.without_state():
        one = _entry_of(w, state, each)
    merge = {"add": "sum({})", "largest": "max({})", "smallest": "min({})"}[state.merge]
    merge = "sum({}, 0.0)" if state.value == FLOAT else merge
    if w.choices.chance(40):
        multi, parts = w.name("each"), w.name("parts")
        w.line(f"{multi} = {one}")
        w.line(f"{parts} = ab.gather({multi})")
        made = merge.format(parts)
    else:
        made = merge.format(f"ab.gather({one})")
    bind(w, Expr(made, state.value, -TOTAL, TOTAL))
    return True


def _entry_of(w: Writer, state: State, each: str) -> str:
    if state.form == "Value":
        return f"{each}.value"
    if state.form == "DenseVector":
        return w.choices.choose((f"{each}[{index(w, DENSE_SIZE).text}]", f"{each}.sum()"))
    if state.merge in ("largest", "smallest"):
        start = -1 if state.merge == "largest" else 1000
        return f"{each}.get({full_key(w, state).inner}, {start})"
    key = full_key(w, state)
    plain = f"{each}[{key.item}]"
    twice = f"{plain} * {2 if state.value == INT else 2.0}"
    return w.choices.choose((plain, f"ab.everywhere(self.{state.name}[{key.item}])", twice))


@statement(weight=6)
def gather_dot(w: Writer) -> bool:
    """Products of every instance with a vector, summed."""
    states = w.states(lambda s: s.partial and s.form == "Matrix")
    if not states or w.focus is not None or "fan-out" in w.loops:
        return False
    state = w.choices.choose(states)
    vector = w.pick(lambda v: v.type == VECTOR and v.value.exact)
    if vector is None:
        vector = bind(w, Expr(f"ab.Vector({{{index(w).text}: {exact(w).text}}})", VECTOR, exact=True))
    parts = f"ab.gather(ab.everywhere({w.touch(state)}).dot({vector.name}))"
    bind(w, Expr(f"sum({parts}, ab.Vector())", VECTOR, exact=False))
    w.uses("everywhere", "gather", "dot")
    return True


@statement(weight=8)
def gather_parts(w: Writer) -> bool:
    """What all parts of a partitioned state hold together."""
    states = w.states(lambda s: s.partitioned and s.form not in ("DenseMatrix", "Own"))
    if not states or w.focus is not None or "fan-out" in w.loops:
        return False
    state = w.choices.choose(states)
    each = f"ab.everywhere({w.touch(state)})"
    w.uses("everywhere", "gather", "everywhere partitioned")
    pick = w.choices.integer(0, 2)
    if pick == 0:
        return _count_parts(w, each)
    key = state.key if state.key is not None else INT
    parts, keys = w.name("parts"), w.name("keys")
    if pick == 1 and state.value == INT and not state.wide:
        w.line(f"{parts} = ab.gather({each}.top(3))")
        w.uses("top")
        made = f"sorted([(-n, k) for part in {parts} for k, n in part])[:3]"
        bind(w, Expr(f"[{'k % 1000' if state.wide_keys else 'k'} for _, k in {made}]", list_of(key), size=3))
        return True
    w.line(f"{parts} = ab.gather({w.choices.choose((f'list({each}.items())', f'{each}.items()'))})")
    shown = "k % 1000" if state.wide_keys else "k"
    w.line(f"{keys} = sorted([{shown} for part in {parts} for k, _ in part])")
    w.declare(Expr("", list_of(key), size=LONG), assignable=False, name=keys)
    return True


def _count_parts(w: Writer, each: str) -> bool:
    bind(w, Expr(f"sum(ab.gather(len({each})))", INT, 0, TOTAL))
    return True


@statement(weight=5)
def gather_as_list(w: Writer) -> bool:
    """The list of what instances hold, which shows how many there are."""
    states = w.states(lambda s: s.partial and s.form in ("Table", "Vector", "Matrix"))
    if not states or not w.plan.grouping or w.focus is not None or "fan-out" in w.loops:
        return False
    state = w.choices.choose(states)
    count = f"ab.gather(len(ab.everywhere({w.touch(state)})))"
    bind(w, Expr(count, list_of(INT), size=LONG))
    w.uses("everywhere", "gather", "grouping-sensitive")
    return True
