"""Running a generated program as plain Python, and comparing what any engine did with it bit by bit."""

from __future__ import annotations

import dataclasses
import itertools
import linecache
import struct
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import anabranch as ab
from tests.generator.inputs import Batch, Call, Request

_numbers = itertools.count()


def load(source: str) -> type[ab.Program]:
    """The class `P` of the source, in a module of its own whose lines `inspect` and tracebacks can show."""
    name = f"generated_program_{next(_numbers)}"
    file = f"<{name}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    module = ModuleType(name)
    module.__file__ = file
    sys.modules[name] = module
    try:
        exec(compile(source, file, "exec", dont_inherit=True), module.__dict__)
    except BaseException:
        _forget(name)
        raise
    program: type[ab.Program] = module.P
    return program


def unload(program: type[ab.Program]) -> None:
    """Forget the module of a class that `load` gave: soak tests load millions."""
    _forget(program.__module__)


def _forget(name: str) -> None:
    sys.modules.pop(name, None)
    linecache.cache.pop(f"<{name}>", None)


@contextmanager
def loaded(source: str) -> Iterator[type[ab.Program]]:
    program = load(source)
    try:
        yield program
    finally:
        unload(program)


def arguments(program: type[ab.Program], call: Call) -> tuple[Any, ...]:
    """The arguments of a call as values."""
    return _values(program, call.args)


def rows(program: type[ab.Program], batch: Batch) -> list[Any]:
    """The rows of a batch as `many` takes them: tuples, or records where a record is the only parameter."""
    made = [_values(program, row) for row in batch.rows]
    return [r[0] if len(r) == 1 and _is_record(r[0]) else r for r in made]


def _values(program: type[ab.Program], texts: tuple[str, ...]) -> tuple[Any, ...]:
    namespace = vars(sys.modules[program.__module__])
    return tuple(eval(text, namespace) for text in texts)


@dataclass(frozen=True, slots=True)
class Result:
    value: Any


@dataclass(frozen=True, slots=True)
class Failure:
    """An exception: the name of its type and its arguments."""

    error: str
    args: Any


@dataclass(frozen=True)
class Outcome:
    """What a run did: one answer per request, and the contents of every state at the end, all canonical."""

    answers: tuple[Result | Failure, ...]
    states: dict[str, Any]


def run_plain(program: type[ab.Program], requests: Iterable[Request]) -> Outcome:
    instance = program()
    answers = [answer(program, instance, request) for request in requests]
    return Outcome(tuple(answers), {name: state_contents(s) for name, s in sorted(states_of(instance).items())})


def answer(program: type[ab.Program], target: Any, request: Request) -> Result | Failure:
    """What a program, or an app that has its entries as attributes, answers to a request."""
    entry = getattr(target, request.entry)
    try:
        if isinstance(request, Call):
            return Result(canonical(entry(*arguments(program, request))))
        return Result(canonical(entry.many(rows(program, request))))
    except Exception as error:
        return failure(error)


def failure(error: BaseException) -> Failure:
    return Failure(type(error).__name__, canonical(error.args))


def states_of(instance: ab.Program) -> dict[str, Any]:
    return dict(instance.__anabranch_states__)


def canonical(value: Any) -> Any:
    """A value that equals another one's exactly if both are the same, bit by bit.

    Any NaN is the same as any other, -0.0 is not 0.0, 1 is not 1.0 nor True; frozen or not does not matter, nor does
    the order of dicts and sets.

    >>> canonical([0.0, 1]) == canonical([-0.0, 1]), canonical(float("nan")) == canonical(-float("nan"))
    (False, True)
    """
    match value:
        case None | bool() | str() | bytes():
            return (type(value).__name__, value)
        case int():
            return ("int", int(value))
        case float():
            return ("float", "nan" if value != value else struct.pack(">d", value).hex())
        case tuple() if hasattr(value, "_fields"):
            return (type(value).__name__, *((f, canonical(x)) for f, x in zip(value._fields, value, strict=True)))
        case list() | tuple():
            return ("list" if isinstance(value, list) else "tuple", *map(canonical, value))
        case dict():
            return ("dict", *sorted(((canonical(k), canonical(x)) for k, x in value.items()), key=repr))
        case set() | frozenset():
            return ("set", *sorted(map(canonical, value), key=repr))
        case ab.Vector():
            return ("Vector", *((i, canonical(x)) for i, x in value.items()))
        case ab.DenseVector():
            return ("DenseVector", *map(canonical, value.tolist()))
    if dataclasses.is_dataclass(value):
        return (type(value).__name__, *((f.name, canonical(getattr(value, f.name))) for f in dataclasses.fields(value)))
    return (type(value).__name__, repr(value))


def _is_record(value: Any) -> bool:
    return dataclasses.is_dataclass(value) or hasattr(value, "_fields")


def state_contents(state: Any) -> Any:
    """The entries of a state object in canonical form, whatever the order in which they were stored."""
    match state:
        case ab.Value():
            return ("Value", canonical(state.value))
        case ab.DenseVector():
            return canonical(state)
        case ab.DenseMatrix():
            return ("DenseMatrix", *(canonical(row) for row in state.tolist()))
        case ab.Table() | ab.Matrix() | ab.Vector():
            entries = sorted(((canonical(k), canonical(x)) for k, x in state.items()), key=repr)
            return (type(state).__name__, *entries)
    raise TypeError(f"no contents known of {type(state).__name__}: teach state_contents to read it")
