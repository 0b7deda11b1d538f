"""Entries with a loop that ends because of what rows before it wrote, to states that nothing else changes.

In a plain run each such loop ends: the first row of a request for a key brings what ends it. An engine that lets a row
run on a state that lacks what earlier rows wrote runs for ever, so whoever runs these programs sets a time limit.
"""

from __future__ import annotations

from tests.generator.choices import Choices
from tests.generator.states import State
from tests.generator.valuetypes import INT, STR
from tests.generator.writer import Expr, Param

COST = 300
PARAMS = ("key", "other", "start", "amount")

BODIES = (
    (
        "if start > 0:",
        "    self.pace[key] = start",
        "self.done[other] += amount",
        "rounds = 0",
        "while amount > 0:",
        "    amount -= self.pace[key]",
        "    rounds += 1",
        "return rounds",
    ),
    (
        "if start > 0:",
        "    self.pace[key] = start",
        "rounds = 0",
        "self.done[other] += 1",
        "while self.pace[key] == 0:",
        "    rounds += 1",
        "return rounds + self.done[other]",
    ),
    (
        "rounds = 0",
        "self.pace[key] += start",
        "level = self.done[other] % 7",
        "while level < amount:",
        "    level += self.pace[key]",
        "    self.done[other] += 1",
        "    rounds += 1",
        "return rounds",
    ),
)


def loop_states(key: bool) -> tuple[State, ...]:
    type = STR if key else INT
    template = "ab.Table(default=0)"
    return tuple(State(name, "Partitioned", "Table", type, INT, template, default=True) for name in ("pace", "done"))


def write_loop_entry(
    choices: Choices, number: int, states: tuple[State, ...]
) -> tuple[str, tuple[Param, ...], list[str]]:
    """An entry whose parameter `start` is above zero in the first row for a key; see `inputs.ensured`."""
    key = states[0].key
    assert key is not None
    named = Expr("", key, 0, 2)
    number_of = Expr("", INT, 0, 6)
    params = tuple(Param(n, v) for n, v in zip(PARAMS, (named, named, number_of, number_of), strict=True))
    takes = ", ".join(f"{p.name}: {p.type}" for p in params)
    name = f"entry{number}"
    lines = [f"    def {name}(self, {takes}) -> int:", *(f"        {line}" for line in choices.choose(BODIES))]
    return name, params, lines
