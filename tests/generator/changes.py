"""Changes of containers in place, as lines."""

from __future__ import annotations

from tests.generator.compounds import short
from tests.generator.valuetypes import Type
from tests.generator.writer import Writer


def empty_of(type: Type) -> str:
    return {"list": "[]", "dict": "{}", "set": "set()"}[type.kind]


def changed(w: Writer, place: str, type: Type) -> str:
    """A change in place of the list, dict or set that is there."""
    item = short(w, type.of, 0).text
    match type.kind:
        case "list":
            ways = (f"{place}.append({item})", f"{place}.insert(0, {item})", f"{place}.extend([{item}])")
        case "set":
            ways = (f"{place}.add({item})", f"{place}.discard({item})", f"{place}.add({item})")
        case _:
            value = short(w, type.args[1], 0).text
            ways = (f"{place}[{item}] = {value}", f"{place}.pop({item}, None)", f"{place}.update({{{item}: {value}}})")
    w.uses("mutation")
    return w.choices.choose(ways)
