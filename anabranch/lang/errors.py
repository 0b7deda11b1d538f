"""The errors that are ours. Whatever user code raises arrives as itself.

One grammar for every message: what is wrong, what we got, why that is wrong, what to do.
"""

from __future__ import annotations


class BadInput(ValueError):
    """An input that does not fit the entry's types; no effect of the request stays. `entry`, `row`, `column`, `value`
    and `problem` say what and where.

    >>> error = BadInput("expected int, got 'x' (str)", entry="rate", row=3, column="user", value="x")
    >>> str(error)
    "rate: row 3, column 'user': expected int, got 'x' (str)"
    """

    def __init__(
        self,
        problem: str,
        *,
        entry: str | None = None,
        row: int | None = None,
        column: str | None = None,
        value: object = None,
    ) -> None:
        self.problem, self.entry, self.row, self.column, self.value = problem, entry, row, column, value
        place = [] if row is None else [f"row {row}"]
        place += [] if column is None else [f"column {column!r}"]
        parts = [p for p in (entry, ", ".join(place)) if p]
        super().__init__(": ".join([*parts, problem]))


class InputOverflow(BadInput, OverflowError):
    """A `BadInput` whose number does not fit 64 bits."""


class FrozenError(TypeError):
    """An attempt to change what state handed out, or configuration: build a new value, and store it."""


class FrozenAttribute(FrozenError, AttributeError):
    """An attempt to set or delete an attribute of a program outside its `__init__`."""


class MemoryFull(MemoryError):
    """What was asked for does not fit into the `memory=` of the app; nothing of it has taken effect."""


class ProgramError(TypeError):
    """A program that breaks the rules of the language; the message lists how."""


OF_STATE = "belongs to state: build a new value and store it"
OF_CONFIG = "belongs to the configuration: it is set in __init__ and read-only afterwards; keep what changes in a state"
