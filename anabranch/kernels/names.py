"""Names in emitted code: variables of the graph, and objects that are fixed when the code is made.

Law: what we name starts with `_ab_`, and no variable of a user does.
"""

from __future__ import annotations

import builtins
import keyword
from typing import Any

PRIVATE = "_ab_"
EMITTED = "anabranch.emitted"  # the module name of the user's code as we write it


def identifier(name: str) -> str:
    """A variable of the graph as a Python identifier; different variables have different ones.

    >>> identifier("total"), identifier("for.1.at"), identifier("_debit.new_amount")
    ('total', '_ab_v_for_d1_dat', '_ab_v___debit_dnew__amount')
    """
    if "." in name or name.startswith(PRIVATE) or keyword.iskeyword(name):
        return f"{PRIVATE}v_" + name.replace("_", "__").replace(".", "_d")
    return name


class Pool:
    """The globals of all emitted functions: objects by private names, each object once."""

    def __init__(self) -> None:
        self.globals: dict[str, Any] = {"__builtins__": builtins, "__name__": EMITTED}
        self._names: dict[int, str] = {}

    def name(self, value: Any) -> str:
        known = self._names.get(id(value))
        if known is None:
            hint = getattr(value, "__name__", None)
            hint = hint if isinstance(hint, str) and hint.isidentifier() else type(value).__name__
            known = self._names[id(value)] = f"{PRIVATE}{len(self._names)}_{hint}"
            self.globals[known] = value  # which also keeps its id from being given to another
        return known
