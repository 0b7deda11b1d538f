"""What may happen to an app in a test, as values: `kit.at(5, crash(1), scale(3))`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from anabranch.testing.kit import Kit


@dataclass(frozen=True, slots=True, repr=False)
class Disturbance:
    """Something that happens to an app in a test: `crash(1)`, `scale(3)`, ... `do` is done to the kit. `ends` is what
    does not outlive it; `beside` a request, and not before it.
    """

    text: str
    do: Callable[[Kit], object]
    ends: Literal["nothing", "worker", "app"] = "nothing"
    beside: bool = False

    def __repr__(self) -> str:
        return f"meanwhile({self.text})" if self.beside else self.text


def crash(worker: int | None = None) -> Disturbance:
    """A worker is killed; without a number, or where workers are threads, all of the app. See `Kit.crash`."""
    text = f"crash({'' if worker is None else worker})"
    return Disturbance(text, lambda kit: kit.crash(worker), "app" if worker is None else "worker")


def restart(workers: int | None = None) -> Disturbance:
    """The app is stopped and started again, with so many workers."""
    text = f"restart({'' if workers is None else f'workers={workers}'})"
    return Disturbance(text, lambda kit: kit.restart(workers=workers), "app")


def scale(workers: int) -> Disturbance:
    """The app goes on with so many workers."""
    return Disturbance(f"scale({workers})", lambda kit: kit.scale(workers))


def advance(seconds: float) -> Disturbance:
    """So many seconds go by."""
    return Disturbance(f"advance({seconds:g})", lambda kit: kit.clock.advance(seconds))


def checkpoint() -> Disturbance:
    """A snapshot is made: `app.checkpoint()`."""
    return Disturbance("checkpoint()", lambda kit: kit.app.checkpoint())


def meanwhile(what: Disturbance | Callable[[Kit], object]) -> Disturbance:
    """The same while the request runs, and not before it."""
    return replace(disturbance_of(what), beside=True)


def disturbance_of(what: Any) -> Disturbance:
    """A function of the kit is one too."""
    if isinstance(what, Disturbance):
        return what
    if callable(what):
        return Disturbance(getattr(what, "__name__", repr(what)), what)
    raise TypeError(f"expected what is to happen, got {what!r}: write crash(1), scale(3), restart(), or a function")


def disturbances_of(what: Any) -> list[Disturbance]:
    """One, or several in their order."""
    several = isinstance(what, Iterable) and not callable(what)
    return [disturbance_of(one) for one in (what if several else [what])]
