"""Access to single entries of state: keys, reads as forms of expressions, and what may be stored."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from tests.generator.forms import ANY, constant, exact, expression, fit, form, index, leaf, shorter, small
from tests.generator.states import DENSE_SIZE, State
from tests.generator.valuetypes import (
    BOOL,
    DENSE,
    FLOAT,
    GROWN,
    INT,
    SMALL,
    STR,
    VECTOR,
    WIDEST,
    Type,
    dict_of,
    list_of,
    optional,
    tuple_of,
)
from tests.generator.writer import LONG, Expr, Writer

# Keys


@dataclass(frozen=True, slots=True)
class Key:
    """A key as it stands between brackets, and as an operand or argument."""

    item: str
    inner: str


def place_key(w: Writer, state: State) -> Expr:
    """What names a place in the state: its key, its first component, or a row or column."""
    assert state.place is not None
    if w.focus is not None and w.focus.key is not None and state.partitioned:
        return w.focus.key
    return any_key(w, state.place, wide=state.wide_keys, bounded=state.form == "DenseMatrix")


def any_key(w: Writer, type: Type, *, wide: bool = False, bounded: bool = False) -> Expr:
    """A key; integers are small unless the key is `wide`, and non-negative where it must be `bounded`."""
    if type == INT:
        if bounded or w.choices.chance(70):
            return index(w)
        return fit(w, expression(w, INT, 1), -WIDEST - 1, WIDEST) if wide else small(w, INT, 1)
    if type.kind == "tuple":
        whole = w.pick_type(type) if w.choices.chance(30) else None
        if whole is not None:
            return whole.value
        return Expr(f"({', '.join(any_key(w, t).text for t in type.args)})", type)
    return shorter(w, expression(w, type, 1), LONG) if type == STR else leaf(w, type)


def full_key(w: Writer, state: State) -> Key:
    if state.form == "DenseVector":
        outside = w.plan.raising and w.choices.chance(25)
        if outside:
            w.uses("raises", "index errors")
        one = index(w, DENSE_SIZE + outside)
        return Key(one.text, one.inner)
    place = place_key(w, state)
    if state.form in ("Matrix", "DenseMatrix"):
        other = index(w, DENSE_SIZE if state.form == "DenseMatrix" else 7)
        pair = f"{other.text}, {place.text}" if state.axis == "column" else f"{place.text}, {other.text}"
        return Key(pair, f"({pair})")
    if state.axis == "first":
        assert state.key is not None
        inner = ", ".join([place.text, *(any_key(w, t).text for t in state.key.args[1:])])
        return Key(inner if w.choices.chance(50) else f"({inner})", f"({inner})")
    return Key(place.text, place.inner)


# What is read


def known(state: State, text: str, type: Type | None = None) -> Expr:
    """What is known of a value read from the state."""
    type = type or state.value
    reach = (-WIDEST - 1, WIDEST) if state.wide else (-GROWN, GROWN)
    low, high = reach if type == INT else (0, 0)
    return Expr(text, type, low, high, size=LONG)


def reads_of(w: Writer, state: State, type: Type) -> Iterator[Callable[[], Expr | None]]:
    """Ways to read something of the type from the state at one place."""
    name = f"self.{state.name}"
    if state.form == "Table":
        if type == state.value:
            yield lambda: known(state, f"{name}.get({full_key(w, state).inner}, {constant(w, type).text})")
            if state.default or w.plan.raising:
                yield lambda: _may_miss(w, state, known(state, f"{name}[{full_key(w, state).item}]"))
        if type == optional(state.value) and state.value.kind != "optional" and not state.default:
            yield lambda: Expr(f"{name}.get({full_key(w, state).inner})", type, size=LONG)
        if type == BOOL:
            yield lambda: Expr(f"{full_key(w, state).inner} in {name}", BOOL, atom=False)
        if state.axis == "first" and state.key is not None:
            rest = state.key.args[1] if len(state.key.args) == 2 else tuple_of(*state.key.args[1:])
            if type == dict_of(rest, state.value):
                yield lambda: Expr(f"{name}.row({place_key(w, state).text})", type, size=LONG)
            if type == INT:
                yield lambda: Expr(f"len({name}.row({place_key(w, state).text}))", INT, 0, LONG)
        if type == INT and not state.partitioned:
            yield lambda: Expr(f"len({name})", INT, 0, LONG)
        if type == list_of(state.key or INT) and not state.partitioned:
            yield lambda: Expr(f"sorted({name}.keys())", type, size=LONG, fresh=True)
        if type == INT and state.value.kind in ("list", "str", "dict", "set"):
            yield lambda: Expr(f"len({name}.get({full_key(w, state).inner}, {_empty(state)}))", INT, 0, GROWN)
    elif state.form == "Value":
        if type == state.value:
            yield lambda: known(state, f"{name}.value")
    elif state.form == "Own":
        if type == INT:
            yield lambda: Expr(f"{name}.count({full_key(w, state).inner})", INT, 0, LONG)
        if type == list_of(INT):
            yield lambda: Expr(f"{name}.of({full_key(w, state).inner})", type, size=5)
    else:
        yield from _numeric_reads(w, state, type, name)


def _numeric_reads(w: Writer, state: State, type: Type, name: str) -> Iterator[Callable[[], Expr | None]]:
    if type == FLOAT:
        yield lambda: known(state, f"{name}[{full_key(w, state).item}]")
        if state.form == "Matrix":
            yield lambda: known(state, f"{line_of(w, state)}.sum()")
    if type == BOOL and state.form in ("Vector", "Matrix"):
        yield lambda: Expr(f"{full_key(w, state).inner} in {name}", BOOL, atom=False)
    if type == VECTOR and state.form == "Matrix":
        yield lambda: Expr(line_of(w, state), VECTOR, exact=state.exact and not state.merge)
    if type == DENSE and state.form == "DenseMatrix":
        yield lambda: Expr(f"{name}.row({place_key(w, state).text})", DENSE)
    if state.partitioned:
        return
    # Not partitioned: the whole of it is here.
    if type == DENSE and state.form == "DenseVector":
        yield lambda: Expr(f"{name}.copy(){w.choices.choose(('', ' * 2.0'))}", DENSE, atom=False)
    if type == VECTOR and state.form == "Vector":
        yield lambda: Expr(f"{name}.copy()", VECTOR)
    if type == FLOAT and state.form in ("DenseVector", "Vector"):
        yield lambda: known(state, f"{name}.{w.choices.choose(('sum', 'norm'))}()")
    if type == list_of(FLOAT) and state.form == "DenseVector":
        yield lambda: Expr(f"{name}.tolist()", type, size=DENSE_SIZE)
    if type == INT:
        yield lambda: Expr(f"len({name})", INT, 0, LONG)


def line_of(w: Writer, state: State) -> str:
    """A row or column as a vector."""
    line = "column" if state.axis == "column" else "row"
    return f"self.{state.name}.{line}({place_key(w, state).text})"


def _empty(state: State) -> str:
    return {"list": "[]", "str": '""', "dict": "{}", "set": "set()"}[state.value.kind]


def _may_miss(w: Writer, state: State, value: Expr) -> Expr:
    if not state.default:
        w.uses("raises", "missing keys")
    return value


def readable(w: Writer, state: State) -> bool:
    """May a value be read from the state here and used freely?"""
    return not state.partial or w.plan.grouping


def read(w: Writer, state: State, type: Type) -> Expr | None:
    """A value of the type read from the state."""
    ways = list(reads_of(w, state, type))
    if not ways:
        return None
    w.touch(state)
    w.nesting += 1
    value = w.choices.choose(ways)()
    w.nesting -= 1
    if value is None or not state.partial:
        return value
    w.uses("grouping-sensitive", "local")
    if w.choices.chance(80):
        return replace(value, text=f"ab.local({value.text})", atom=True)
    return value


@form(ANY, weight=6)
def read_state(w: Writer, type: Type, depth: int) -> Expr | None:
    if w.nesting >= 2:  # a read in the key of a read, and no deeper
        return None
    states = [s for s in w.states(lambda s: readable(w, s)) if next(reads_of(w, s, type), None) is not None]
    return read(w, w.choices.choose(states), type) if states else None


# What is stored


def storable(w: Writer, state: State, depth: int = 2) -> Expr:
    """A value that may be stored whatever was stored before."""
    type = state.value
    if type == FLOAT and state.exact:
        return exact(w)
    if type == INT and state.wide:
        value = expression(w, INT, depth)
        if not value.within(-WIDEST - 1, WIDEST):
            if not w.plan.raising:
                return fit(w, value, -WIDEST - 1, WIDEST)
            w.uses("raises", "overflow")
        return value
    if type.kind in ("dict", "set"):
        return constant(w, type) if depth == 0 else _few(w, expression(w, type, depth))
    return shorter(w, small(w, type, depth), 40)


def _few(w: Writer, value: Expr) -> Expr:
    return value if value.size <= 60 else constant(w, value.type)


def step(w: Writer, state: State) -> Expr:
    """What may be added to an entry again and again."""
    if state.value == FLOAT:
        return exact(w) if state.exact else expression(w, FLOAT, 1)
    if state.value.kind == "list":
        return Expr(f"[{shorter(w, small(w, state.value.of, 1), 40).text}]", state.value, size=1, fresh=True)
    if state.value == STR:
        return shorter(w, expression(w, STR, 1), 40)
    return fit(w, expression(w, INT, 1), -SMALL, SMALL)
