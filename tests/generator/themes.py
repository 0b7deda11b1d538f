"""Themes of programs: a program has a few, so that what belongs together meets often and the rest stays simple.

Law: what a theme brings appears only in programs that have it. A program without themes is small and quick.
"""

from __future__ import annotations

from tests.generator.choices import Choices
from tests.generator.valuetypes import (
    BYTES,
    DATE,
    DATETIME,
    INT,
    STR,
    TIMEDELTA,
    Type,
    dict_of,
    list_of,
    optional,
    set_of,
    tuple_of,
)

# How often a program has the theme, in percent, and what it brings.
THEMES = {
    "bytes": (10, "bytes as values and keys"),
    "times": (12, "dates, datetimes and timedeltas"),
    "nested": (16, "containers in containers, and records with lists"),
    "optional containers": (10, "containers that may be None"),
    "keywords": (14, "arguments by name, and empty displays as arguments"),
    "aliases": (18, "containers that are changed after they were passed, stored, read or returned"),
    "texts": (12, "odd texts, and format specifications"),
    "surrogates": (6, "texts that are not valid UTF-8"),
    "own states": (5, "state types of the program itself"),
    "pure functions": (7, "functions marked ab.pure"),
    "patterns": (10, "match on records, lists, tuples and optionals"),
    "large batches": (14, "batches of more rows than fit one piece of a kernel's memory"),
    "column batches": (20, "batches as Arrow tables, data frames and columns"),
    "state loops": (6, "loops that end because of what earlier rows wrote"),
}

TYPES: dict[str, tuple[Type, ...]] = {
    "bytes": (BYTES, list_of(BYTES), dict_of(BYTES, INT), optional(BYTES)),
    "times": (
        DATE,
        DATETIME,
        TIMEDELTA,
        list_of(DATE),
        optional(DATETIME),
        dict_of(STR, TIMEDELTA),
        tuple_of(DATE, INT),
    ),
    "nested": (
        list_of(list_of(INT)),
        dict_of(STR, list_of(INT)),
        tuple_of(INT, list_of(INT)),
        list_of(tuple_of(INT, STR)),
        dict_of(INT, set_of(INT)),
        list_of(list_of(STR)),
        dict_of(STR, dict_of(STR, INT)),
        set_of(tuple_of(INT, STR)),
        tuple_of(list_of(INT), dict_of(STR, INT)),
        list_of(dict_of(STR, INT)),
    ),
    "optional containers": (
        optional(list_of(INT)),
        optional(dict_of(STR, INT)),
        optional(set_of(INT)),
        optional(list_of(STR)),
        optional(tuple_of(INT, STR)),
    ),
    "aliases": (list_of(INT), list_of(STR), list_of(INT), list_of(INT), dict_of(STR, INT), set_of(INT)),
}


def choose_themes(choices: Choices) -> frozenset[str]:
    return frozenset(theme for theme, (percent, _) in THEMES.items() if choices.chance(percent))


def choose_types(choices: Choices, themes: frozenset[str]) -> list[Type]:
    """A few types of each theme, so that values of one type meet."""
    found: list[Type] = []
    for theme in THEMES:
        pool = TYPES.get(theme, ()) if theme in themes else ()
        found += [choices.choose(pool) for _ in range(min(len(pool), 2))]
    return list(dict.fromkeys(found))
