"""Names that are reserved for what comes next: they may stand in annotations, and say "not yet" when used."""

from __future__ import annotations

from typing import Any, NoReturn


class NotYet:
    """A placeholder for a name of the language that is not available yet.

    >>> Timeline[int, float] is Timeline
    True
    >>> Timeline()
    Traceback (most recent call last):
        ...
    NotImplementedError: ab.Timeline is reserved: not yet available
    """

    def __init__(self, name: str) -> None:
        self.name = self.__name__ = name

    @property
    def message(self) -> str:
        return f"ab.{self.name} is reserved: not yet available"

    def __getitem__(self, parameters: object) -> NotYet:
        return self

    def __call__(self, *args: object, **kwargs: object) -> NoReturn:
        raise NotImplementedError(self.message)

    def __mro_entries__(self, bases: tuple[Any, ...]) -> NoReturn:
        raise NotImplementedError(self.message)

    def __or__(self, other: object) -> NotYet:
        return self

    __ror__ = __or__

    def __repr__(self) -> str:
        return f"ab.{self.name}"


class NotYetMark(NotYet):
    """A decorator that is not available yet: it marks the method, so that the class can be made and the mark told."""

    def __call__(self, *args: Any, **kwargs: object) -> Any:
        if len(args) == 1 and callable(args[0]):
            args[0].__anabranch_later__ = self
            return args[0]
        return lambda method: self(method)


# Any, so that type checkers let programs name them; using them raises, and `check` reports them.
Timeline: Any = NotYet("Timeline")
Time: Any = NotYet("Time")
Vertex: Any = NotYet("Vertex")
Feed: Any = NotYet("Feed")
every: Any = NotYetMark("every")
random: Any = NotYet("random")
stale: Any = NotYet("stale")
