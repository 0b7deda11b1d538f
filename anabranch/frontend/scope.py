"""What is known of each variable at a point of the program."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from anabranch.lang.types import UNKNOWN, Type, join


@dataclass(frozen=True, slots=True)
class Var:
    """A variable at one point.

    `multi`: it has one value per instance. `local`: it depends on a local read of partial state, and so on the number
    of workers. `handle`: it stands for this state on every instance. `unbound`: some path does not assign it.
    `mixed`: it is multi-valued on one path only. `conflict`: paths give it types that do not go together.
    """

    type: Type
    multi: bool = False
    local: bool = False
    handle: str | None = None
    unbound: bool = False
    mixed: bool = False
    conflict: bool = False


Env = dict[str, Var]


def join_vars(name: str, a: Var | None, b: Var | None) -> Var:
    if a is None or b is None:
        one = a or b
        assert one is not None
        return replace(one, unbound=True)
    if a == b:
        return a
    both = join(a.type, b.type)
    return Var(
        both,
        a.multi or b.multi,
        a.local or b.local,
        a.handle if a.handle == b.handle else None,
        a.unbound or b.unbound,
        a.mixed or b.mixed or a.multi != b.multi,
        a.conflict or b.conflict or (both == UNKNOWN and UNKNOWN not in (a.type, b.type)),
    )


def join_envs(a: Env | None, b: Env | None) -> Env | None:
    """None is the environment of a point that cannot be reached."""
    if a is None or b is None:
        return b if a is None else a
    return {name: join_vars(name, a.get(name), b.get(name)) for name in {**a, **b}}


def widen(entry: Mapping[str, Var], again: Mapping[str, Var]) -> Env:
    """The environment at the head of a loop: what holds on entry and after any iteration.

    A variable first assigned inside the loop may have no value in the next iteration's head.
    """
    return {name: join_vars(name, entry.get(name), again.get(name)) for name in {**entry, **again}}
