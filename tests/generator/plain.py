"""Running a generated program as plain Python, and what came of it."""

from __future__ import annotations

import copy
import dataclasses
import itertools
import linecache
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import pandas as pd

import anabranch as ab
from anabranch.lang.spec import describe
from anabranch.testing.outcomes import Answer, Outcome, Result, answer_of, state_contents
from tests.generator.batches import handed
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
    made = [_values(program, row) for row in batch.all_rows]
    return [r[0] if len(r) == 1 and _is_record(r[0]) else r for r in made]


def _values(program: type[ab.Program], texts: tuple[str, ...]) -> tuple[Any, ...]:
    namespace = vars(sys.modules[program.__module__])
    return tuple(eval(text, namespace) for text in texts)


def run_plain(program: type[ab.Program], requests: Iterable[Request]) -> Outcome:
    instance = program()
    answers = [answer(program, instance, request) for request in requests]
    return Outcome(tuple(answers), {name: state_contents(s) for name, s in sorted(states_of(instance).items())})


def data(program: type[ab.Program], batch: Batch) -> Any:
    """The data that a batch hands to `many`."""
    given = [_values(program, row) for row in batch.all_rows]
    found = handed(batch.form, describe(program).entries[batch.entry], given)
    return rows(program, batch) if found is None else found


def answer(program: type[ab.Program], target: Any, request: Request) -> Answer:
    """What a program, or an app that has its entries as attributes, answers to a request.

    Afterwards what was given and what was answered are changed: they are copies, so this must change nothing else.
    """
    entry = getattr(target, request.entry)
    given = arguments(program, request) if isinstance(request, Call) else data(program, request)
    found = answer_of(lambda: entry(*given) if isinstance(request, Call) else columns_of_frame(entry.many(given)))
    if isinstance(found, Result) and isinstance(found.raw, list | dict | set):
        raw, found = found.raw, Result(found.value, copy.deepcopy(found.raw))
        spoil(raw)
    spoil(given)
    return found


def columns_of_frame(value: Any) -> Any:
    """What can be compared of a pandas data frame; Arrow has no type for some of its columns."""
    if not isinstance(value, pd.DataFrame):
        return value
    columns = {str(name): [str(value[name].dtype), value[name].tolist()] for name in value.columns}
    return {"index": value.index.tolist(), "columns": columns}


def spoil(value: Any) -> None:
    """Change all that can be changed in a value."""
    match value:
        case list() | tuple():
            inside = [*value]
        case dict():
            inside = [*value.values()]
        case _:
            inside = []
    for item in inside:
        spoil(item)
    if isinstance(value, list):
        value.append(None)
    elif isinstance(value, dict | set):
        value.clear()


def states_of(instance: ab.Program) -> dict[str, Any]:
    return dict(instance.__anabranch_states__)


def _is_record(value: Any) -> bool:
    return dataclasses.is_dataclass(value) or hasattr(value, "_fields")
