"""What a program class declares, as values.

Law: `describe` never raises for a class that derives from `Program`; what is wrong with it is in `problems`, and what
is right is described all the same, so that all problems can be shown at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from anabranch.lang.distribution import Distribution
from anabranch.lang.types import Type

RESERVED = frozenset(
    "state stop scale fork branch merge checkpoint metrics explain history entries feeds advance version wait "
    "serve".split()
)


@dataclass(frozen=True)
class StateSpec:
    """A declared state. `key` and `value` are the schema of a `Table`, `value` that of a `Value`."""

    name: str
    distribution: Distribution
    cls: type
    key: Type | None = None
    value: Type | None = None

    @property
    def type_text(self) -> str:
        """The state type as users write it: `Table[int, float]`."""
        inside = ", ".join(str(t) for t in (self.key, self.value) if t is not None)
        return f"{self.cls.__name__}{inside and f'[{inside}]'}"

    @property
    def text(self) -> str:
        return f"{self.distribution}[{self.type_text}]"


@dataclass(frozen=True)
class Parameter:
    """A parameter of an entry; `type` is None where a problem says why."""

    name: str
    type: Type | None
    default: object = None
    has_default: bool = False


@dataclass(frozen=True)
class EntrySpec:
    """An entry; `function` is the one the user wrote. `result` is None where a problem says why."""

    name: str
    parameters: tuple[Parameter, ...]
    result: Type | None
    function: Callable[..., Any]


@dataclass(frozen=True)
class Problem:
    """A broken rule. `where`: class, state:NAME, entry:NAME, entry:NAME:PARAMETER or entry:NAME:return."""

    code: str
    where: str
    message: str
    hint: str

    def __str__(self) -> str:
        return (
            f"{self.code} {self.where}: {self.message}; {self.hint}"
            if self.hint
            else f"{self.code} {self.where}: {self.message}"
        )


@dataclass(frozen=True)
class ProgramSpec:
    """`config`: annotated names give their `Type` (`numpy.ndarray` for arrays), constants of the class their value."""

    cls: type
    states: Mapping[str, StateSpec]
    config: Mapping[str, Any]
    entries: Mapping[str, EntrySpec]
    helpers: Mapping[str, Callable[..., Any]]
    namespace: Mapping[str, Any]
    problems: tuple[Problem, ...]


def describe(cls: type) -> ProgramSpec:
    """The spec of a program class, computed once per class."""
    known = vars(cls).get("__anabranch_spec__")
    if isinstance(known, ProgramSpec):
        return known
    from anabranch.lang.reading import read_program  # it builds these specs, so it imports this module

    spec, complete = read_program(cls)
    if complete:
        type.__setattr__(cls, "__anabranch_spec__", spec)
    return spec


def public(name: str) -> bool:
    return not name.startswith("_")


def is_helper(name: str) -> bool:
    return name.startswith("_") and not (name.startswith("__") and name.endswith("__"))
