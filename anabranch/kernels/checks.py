"""The check that an entry makes of an argument, or of its result, when another entry calls it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from anabranch.lang.binding import Refused, check_argument
from anabranch.lang.entry import checked_result
from anabranch.lang.spec import EntrySpec, Parameter


def check(entry: EntrySpec, parameter: Parameter | None) -> Callable[[Any], Any]:
    """What coerces a value to the type of the parameter, or to that of the result where there is none."""
    if parameter is None:
        return lambda value: checked_result(entry, value)

    def checked(value: Any) -> Any:
        try:
            return check_argument(parameter, value)
        except Refused as error:
            raise error.plain(entry.name) from None

    return checked
