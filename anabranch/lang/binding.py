"""Bind and check the arguments of one call."""

from __future__ import annotations

from typing import Any

from anabranch.lang.errors import BadInput, InputOverflow
from anabranch.lang.similar import with_question
from anabranch.lang.spec import EntrySpec, Parameter
from anabranch.lang.values import coercer


class Refused(Exception):
    """An argument that does not fit, before it is known whether it came from outside or from another entry."""

    def __init__(
        self, column: str | None, problem: str, value: object = None, kind: type[Exception] = TypeError
    ) -> None:
        super().__init__(problem)
        self.column, self.problem, self.value, self.kind = column, problem, value, kind

    def as_input(self, entry: str, row: int | None) -> BadInput:
        cls = InputOverflow if issubclass(self.kind, OverflowError) else BadInput
        return cls(self.problem, entry=entry, row=row, column=self.column, value=self.value)

    def plain(self, entry: str) -> Exception:
        """The error for a call from within an entry, which is user code and no input."""
        place = "" if self.column is None else f"argument {self.column!r}: "
        return self.kind(f"{entry}: {place}{self.problem}")


def bind_call(spec: EntrySpec, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """The checked arguments in order of the parameters; raises `Refused`."""
    parameters = spec.parameters
    if len(args) > len(parameters):
        raise Refused(None, f"expected {_expected(spec)}, got {len(args)} arguments; leave out the last", args)
    for name in kwargs:
        if name not in [p.name for p in parameters[len(args) :]]:
            names = [p.name for p in parameters]
            unknown = with_question(f"not a parameter; expected {_expected(spec)}", name, names)
            problem = "given twice, by place and by name" if name in names else unknown
            raise Refused(name, problem, kwargs[name])
    return tuple(
        [
            check_argument(p, args[i] if i < len(args) else kwargs[p.name] if p.name in kwargs else default_of(p))
            for i, p in enumerate(parameters)
        ]
    )


def default_of(parameter: Parameter) -> Any:
    if not parameter.has_default:
        raise Refused(parameter.name, f"missing; expected {parameter.type}")
    return parameter.default


def check_argument(parameter: Parameter, value: Any) -> Any:
    assert parameter.type is not None
    try:
        return coercer(parameter.type)(value)
    except (TypeError, ValueError, OverflowError) as error:
        problem = str(error)
        if value is None:
            problem += f"; declare {parameter.name}: {parameter.type} | None to allow it"
        raise Refused(parameter.name, problem, value, type(error)) from None


def _expected(spec: EntrySpec) -> str:
    names = ", ".join(p.name for p in spec.parameters)
    return f"{len(spec.parameters)} ({names})" if names else "no arguments"
