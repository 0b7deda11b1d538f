"""State types of the program itself: a class with marked methods, and statements that use it."""

from __future__ import annotations

from tests.generator.access import place_key
from tests.generator.forms import expression, fit
from tests.generator.statements import statement
from tests.generator.states import State
from tests.generator.valuetypes import INT, Type, list_of
from tests.generator.writer import LONG, Expr, Writer

SOURCE = """
class {name}:
    def __init__(self, most: int = {most}) -> None:
        self.most = most
        self.entries: dict[{key}, list[int]] = {{}}

    @ab.writes
    def add(self, key: {key}, number: int) -> int:
        kept = self.entries.setdefault(key, [])
        kept.append(number)
        if number > 30:
            raise ValueError("too much", number)
        if len(kept) > self.most:
            kept.pop(0)
        return len(kept)

    @ab.writes
    def drop(self, key: {key}) -> list[int]:
        return self.entries.pop(key, [])

    @ab.reads
    def of(self, key: {key}) -> list[int]:
        return self.entries.get(key, [])

    @ab.reads
    def count(self, key: {key}) -> int:
        return len(self.entries.get(key, []))

    @ab.reads
    def size(self) -> int:
        return len(self.entries)
"""


def own_state(name: str, key: Type) -> State:
    return State(name, "Partitioned", "Own", key, Type(f"Recent{name.capitalize()}"))


def source_of(state: State) -> list[str]:
    return SOURCE.format(name=state.value, key=state.key, most=3).strip("\n").splitlines()


def own_states(w: Writer) -> list[State]:
    return w.states(lambda s: s.form == "Own")


@statement(weight=24, theme="own states")
def write_own(w: Writer) -> bool:
    states = own_states(w)
    if not states:
        return False
    state = w.choices.choose(states)
    place = w.touch(state)
    key = place_key(w, state).text
    most = 60 if w.plan.raising else 30
    w.uses(*(("raises",) if w.plan.raising else ()))
    if w.choices.chance(70):
        made = Expr(f"{place}.add({key}, {fit(w, expression(w, INT, 1), -50, most).text})", INT, 0, LONG)
    else:
        made = Expr(f"{place}.drop({key})", list_of(INT), size=5)
    if w.choices.chance(40):
        w.line(made.text)
    else:
        w.bind(made)
    return True


@statement(weight=6, theme="own states")
def gather_own(w: Writer) -> bool:
    states = own_states(w)
    if not states or w.focus is not None or "fan-out" in w.loops:
        return False
    each = f"ab.everywhere({w.touch(w.choices.choose(states))})"
    w.bind(Expr(f"sum(ab.gather({each}.size()))", INT, 0, LONG))
    w.uses("everywhere", "gather", "everywhere partitioned")
    return True
