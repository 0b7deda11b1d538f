"""Exceptions as values: what was raised in one process is raised in another.

Laws: of a class that the receiver knows (a builtin, one of ours, one of a module that it has imported) arrive type,
arguments, attributes, notes and cause; of any other a `RemoteError` with all that but the type. Nothing is
imported, and no constructor of the user's runs, on the word of the other side. What is no value is left out: arguments
become the text of the exception, attributes None.
"""

from __future__ import annotations

import builtins
import sys
from typing import Any

from anabranch.drivers.values import Malformed, Values

CAUSES = 16  # that one has caused the other, and so on: more than that are left out


class RemoteError(RuntimeError):
    """An exception of the program's whose class is not known here.

    `kind` is the name of the class; arguments, attributes and notes are those of the exception.
    """

    def __init__(self, kind: str, args: tuple[Any, ...] = (), text: str = "") -> None:
        super().__init__(*args)
        self.kind, self._text = kind, text

    def __str__(self) -> str:
        return f"{self.kind}: {self._text}" if self._text else self.kind


def pack_error(error: BaseException, values: Values, depth: int = CAUSES) -> tuple[Any, ...]:
    """The exception as a value that `values` can encode."""
    cls, text = type(error), _text(error)
    args = error.args if _is_value(error.args, values) else (text,)
    attributes = {str(n): x if _is_value(x, values) else None for n, x in vars(error).items() if n != "__notes__"}
    if isinstance(error, OSError) and isinstance(error.filename, str):
        attributes["filename"] = error.filename  # which is no argument, and not among its attributes
    notes = tuple([str(note) for note in getattr(error, "__notes__", ())])
    cause = None if error.__cause__ is None or not depth else pack_error(error.__cause__, values, depth - 1)
    return cls.__module__, cls.__qualname__, args, attributes, notes, cause, text


def unpack_error(packed: Any, depth: int = CAUSES) -> BaseException:
    match packed:
        case (str(module), str(name), tuple(args), dict(attributes), tuple(notes), cause, str(text)):
            error = _rebuilt(module, name, args) or RemoteError(name, args, text)
            if isinstance(error, OSError) and "filename" in attributes:
                error.filename = attributes.pop("filename")
            vars(error).update({str(n): x for n, x in attributes.items() if n not in vars(error)})
            if notes:
                vars(error)["__notes__"] = [str(note) for note in notes]
            if cause is not None and depth:
                error.__cause__ = unpack_error(cause, depth - 1)
            return error
    raise Malformed(f"this is no exception: {packed!r:.100}")


def known_class(module: str, qualname: str) -> type | None:
    """A class of a module that is imported here already, if it is where it says it is."""
    found: Any = builtins if module == "builtins" else sys.modules.get(module)
    for part in qualname.split("."):
        # Not getattr: a module may import something when it is asked for a name.
        found = getattr(found, "__dict__", {}).get(part)
    return found if isinstance(found, type) else None


def _rebuilt(module: str, name: str, args: tuple[Any, ...]) -> BaseException | None:
    cls = known_class(module, name)
    if cls is None or not issubclass(cls, BaseException):
        return None
    kin: Any = next(c for c in cls.__mro__ if c.__module__ == "builtins")
    try:
        error: BaseException = kin.__new__(cls, *args)
        kin.__init__(error, *args)  # some builtins keep their arguments in fields that only this sets
        error.args = args
    except Exception:
        return None
    return error


def _is_value(x: Any, values: Values) -> bool:
    try:
        values.encode(x)
    except TypeError:
        return False
    return True


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:
        return ""
