"""Read a program class: annotations, entries, helpers and constants become a `ProgramSpec`."""

from __future__ import annotations

import builtins
import collections.abc
import inspect
import sys
import typing
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, ClassVar, Final, get_args, get_origin

import numpy as np

from anabranch.lang import types
from anabranch.lang.annotations import parse
from anabranch.lang.dense import DenseVector
from anabranch.lang.distribution import Distribution
from anabranch.lang.later import NotYet
from anabranch.lang.marks import is_builtin, is_state_type
from anabranch.lang.scalars import show
from anabranch.lang.scope import names_in, resolve
from anabranch.lang.similar import did_you_mean
from anabranch.lang.spec import RESERVED, EntrySpec, Parameter, Problem, ProgramSpec, StateSpec, is_helper, public
from anabranch.lang.table import Table
from anabranch.lang.types import Type, UnsupportedType
from anabranch.lang.value import Value
from anabranch.lang.values import coerce, type_of
from anabranch.lang.vector import Vector

_NOTHING = object()


def read_program(cls: type) -> tuple[ProgramSpec, bool]:
    """The spec, and whether every name resolved: if not, a later call may know more."""
    reader = _Reader(cls)
    reader.read()
    config = {n: x for n, x in reader.config.items() if n not in reader.states}
    namespace = reader.names(cls)
    problems = tuple(dict.fromkeys(reader.problems))
    spec = ProgramSpec(cls, reader.states, config, reader.entries, reader.helpers, namespace, problems)
    return spec, not reader.unresolved


class _Reader:
    def __init__(self, cls: type) -> None:
        self.cls = cls
        self.problems: list[Problem] = []
        self.states: dict[str, StateSpec] = {}
        self.config: dict[str, Any] = {}
        self.entries: dict[str, EntrySpec] = {}
        self.helpers: dict[str, Callable[..., Any]] = {}
        self.unresolved = False
        self._names: dict[type, Mapping[str, Any]] = {}

    def names(self, owner: type) -> Mapping[str, Any]:
        if owner not in self._names:
            self._names[owner] = names_in(vars(owner).get("__anabranch_frames__", []), owner)
        return self._names[owner]

    def problem(self, code: str, where: str, message: str, hint: str = "") -> None:
        self.problems.append(Problem(code, where, message, hint))

    def read(self) -> None:
        declared: set[str] = set()
        for owner, name, annotation in self._annotations():
            declared.add(name)
            self._field(owner, name, annotation)
        for owner, name, member in _members(self.cls):
            if name in declared:
                if _function_of(member) is not None:
                    self.problem("AB111", f"entry:{name}", f"{name} is both a field and a method", "rename one of them")
                continue
            self._member(owner, name, member)

    def _annotations(self) -> Iterator[tuple[type, str, Any]]:
        seen: dict[str, tuple[type, str, Any]] = {}
        for base in reversed(_user_classes(self.cls)):
            for name, annotation in inspect.get_annotations(base).items():
                seen[name] = (base, name, annotation)
        yield from seen.values()

    def _resolve(self, owner: type, annotation: Any, where: str) -> Any:
        try:
            return resolve(annotation, self.names(owner))
        except NameError as error:
            self.unresolved = True
            known = [*self.names(owner), *vars(sys.modules.get(owner.__module__, builtins)), *dir(builtins)]
            hint = did_you_mean(error.name, known) or "define or import it"
            self.problem("AB204", where, f"the annotation {annotation!r} could not be resolved: {error}", hint)
        except Exception as error:
            self.problem(
                "AB204", where, f"the annotation {annotation!r} could not be read: {error}", "write a value type"
            )
        return _NOTHING

    def _parse(self, owner: type, annotation: Any, where: str) -> Type | None:
        """The type of a resolved annotation, or a problem."""
        if isinstance(annotation, NotYet):
            self.problem("AB901", where, annotation.message, "use a value type for now")
            return None
        if get_origin(annotation) in (collections.abc.Iterator, collections.abc.Iterable, collections.abc.Generator):
            self.problem(
                "AB901", where, f"{_show(annotation)} is reserved: not yet available", "return a list of the rows"
            )
            return None
        try:
            return parse(annotation, self.names(owner))
        except UnsupportedType as error:
            if "could not be resolved" in str(error):
                self.unresolved = True
            message, _, hint = str(error).partition(": ")
            self.problem("AB204", where, message, hint or "use a value type")
        except RecursionError:
            hint = "keep the parts under keys of their own in a Table"
            self.problem("AB204", where, f"{annotation!r} contains itself", hint)
        return None

    # -- fields -------------------------------------------------------------------------------------------------

    def _field(self, owner: type, name: str, annotation: Any) -> None:
        where = f"state:{name}"
        resolved = self._resolve(owner, annotation, where)
        if resolved is _NOTHING:
            return
        while get_origin(resolved) in (ClassVar, Final):
            resolved = get_args(resolved)[0]
        distributions: list[Distribution] = []
        if get_origin(resolved) is Annotated:
            distributions = [x for x in resolved.__metadata__ if isinstance(x, Distribution)]
        if distributions:
            self._state(owner, name, resolved.__origin__, distributions)
            return
        base = get_origin(resolved) or resolved
        if isinstance(resolved, NotYet):
            self.problem("AB901", where, resolved.message, "use a Table for now")
        elif is_state_type(base) and base not in (Vector, DenseVector):
            text = _show(resolved)
            self.problem(
                "AB201", where, f"{text} is a state type without a distribution", f"write ab.Partitioned[{text}]"
            )
        elif resolved is Final or resolved is ClassVar:
            value = inspect.getattr_static(self.cls, name, _NOTHING)
            if value is not _NOTHING:
                self._constant(name, value)
        elif base is np.ndarray:
            self.config[name] = np.ndarray
        else:
            parsed = self._parse(owner, resolved, where)
            if parsed is not None:
                self.config[name] = parsed

    def _state(self, owner: type, name: str, inner: Any, distributions: list[Distribution]) -> None:
        where = f"state:{name}"
        distribution = distributions[0]
        cls = get_origin(inner) or inner
        if name.startswith("_"):
            self.problem(
                "AB109", where, f"the state {name} starts with an underscore: those names are ours", "rename it"
            )
        if name == "entries":
            self.problem("AB107", where, "entries is reserved", "rename the state")
        if len(distributions) > 1:
            text = " and ".join(map(str, distributions))
            self.problem("AB201", where, f"{name} has two distributions, {text}", "choose one")
        elif isinstance(inner, NotYet):
            self.problem("AB901", where, inner.message, "use a Table for now")
        elif not is_state_type(cls):
            hint = "use Table[K, V], Value[T], Vector, Matrix, DenseVector, DenseMatrix or a class with marked methods"
            self.problem("AB201", where, f"{distribution}[{_show(inner)}]: {_show(inner)} is no state type", hint)
        elif cls in (Table, Value) and not get_args(inner):
            example = "Table[int, float]" if cls is Table else "Value[int]"
            self.problem(
                "AB201", where, f"{cls.__name__} does not say what it holds", f"write for example ab.{example}"
            )
        elif cls is Value and distribution is Distribution.PARTITIONED:
            self.problem(
                "AB202", where, "a Value has no key, it cannot be partitioned", "use ab.Partial or ab.Replicated"
            )
        else:
            self._add_state(owner, name, distribution, cls, get_args(inner))

    def _add_state(self, owner: type, name: str, distribution: Distribution, cls: type, args: tuple[Any, ...]) -> None:
        where = f"state:{name}"
        key = value = None
        if cls is Table:
            key, value = self._parse(owner, args[0], where), self._parse(owner, args[1], where)
            if key is None or value is None:
                return
            if not types.is_key(key):
                why = ": NaN, -0.0 and rounding break equality" if "float" in str(key) else ""
                hint = "use int, str, bytes, bool or a tuple of these"
                self.problem("AB203", where, f"{key} cannot be the key of a Table{why}", hint)
                return
        elif cls is Value:
            value = self._parse(owner, args[0], where)
            if value is None:
                return
        self.states[name] = StateSpec(name, distribution, cls, key, value)

    # -- members ------------------------------------------------------------------------------------------------

    def _member(self, owner: type, name: str, member: Any) -> None:
        function = _function_of(member)
        if isinstance(member, (property, staticmethod, classmethod)):
            kind = type(member).__name__
            where = f"entry:{name}" if public(name) else "class"
            self.problem("AB112", where, f"{name} is a {kind}", "write a plain method, or a function outside the class")
        elif function is None:
            if not isinstance(member, type) and not name.startswith("__"):
                self._constant(name, member)
        elif is_helper(name) or hasattr(function, "__anabranch_pure__"):
            self.helpers[name] = function
        elif public(name):
            self._entry(owner, name, function)

    def _constant(self, name: str, value: Any) -> None:
        if is_builtin(type(value)) and not isinstance(value, (Vector, DenseVector)):
            hint = f"annotate it, {name}: ab.Partial[...], and set its template in __init__"
            self.problem("AB201", f"state:{name}", f"{name} is a state without a declaration", hint)
            return
        if isinstance(value, np.ndarray):
            self.config[name] = value
            return
        try:
            coerce(type_of(value, self.names(self.cls)), value)
        except (TypeError, ValueError, OverflowError) as error:
            self.problem("AB204", f"config:{name}", f"the constant {name} = {show(value)} is no value", str(error))
            return
        self.config[name] = value

    def _entry(self, owner: type, name: str, function: Callable[..., Any]) -> None:
        where = f"entry:{name}"
        later = getattr(function, "__anabranch_later__", None)
        if later is not None:
            self.problem("AB901", where, later.message, "call the entry from outside, with the time as a parameter")
        if name in RESERVED:
            self.problem("AB107", where, f"{name} is reserved for running programs", "rename the entry")
        raw = dict(getattr(function, "__annotations__", {}))
        parameters = list(inspect.signature(function, follow_wrapped=False).parameters.values())
        if not parameters:
            self.problem("AB108", where, f"{name} has no self", "write self as the first parameter")
        read = [self._parameter(owner, where, p, raw) for p in parameters[1:]]
        result = None
        if "return" not in raw:
            self.problem(
                "AB106", f"{where}:return", f"{name} does not say what it returns", "write -> None or -> a value type"
            )
        else:
            resolved = self._resolve(owner, raw["return"], f"{where}:return")
            if resolved is not _NOTHING:
                result = self._parse(owner, resolved, f"{where}:return")
        self.entries[name] = EntrySpec(name, tuple(p for p in read if p is not None), result, function)

    def _parameter(self, owner: type, entry: str, p: inspect.Parameter, raw: dict[str, Any]) -> Parameter | None:
        where = f"{entry}:{p.name}"
        if p.kind is not inspect.Parameter.POSITIONAL_OR_KEYWORD:
            hint = "write plain parameters: they are the columns of `many`"
            self.problem("AB108", where, f"{p.name} is a {p.kind.description} parameter", hint)
            return None
        if p.name.startswith("_"):
            self.problem(
                "AB109", where, f"the parameter {p.name} starts with an underscore: those names are ours", "rename it"
            )
        has_default = p.default is not inspect.Parameter.empty
        default = p.default if has_default else None
        if p.name not in raw:
            self.problem("AB105", where, f"the parameter {p.name} has no type", f"write for example {p.name}: int")
            return Parameter(p.name, None, default, has_default)
        resolved = self._resolve(owner, raw[p.name], where)
        t = None if resolved is _NOTHING else self._parse(owner, resolved, where)
        if t is not None and has_default:
            try:
                coerce(t, default)
            except (TypeError, ValueError, OverflowError) as error:
                self.problem(
                    "AB113",
                    where,
                    f"the default of {p.name} does not fit its type: {error}",
                    f"give a value of type {t}{' or annotate | None' if default is None else ''}",
                )
        return Parameter(p.name, t, default, has_default)


def _user_classes(cls: type) -> list[type]:
    """The classes the user wrote, nearest first."""
    ours = (object, typing.Generic)
    return [base for base in cls.__mro__ if base not in ours and "__anabranch_root__" not in vars(base)]


_SYSTEM = frozenset({"__anabranch_frames__", "__anabranch_spec__"})


def _members(cls: type) -> Iterator[tuple[type, str, Any]]:
    """The members of all user classes, as they are found on an instance, with the class that wrote them."""
    seen: dict[str, tuple[type, str, Any]] = {}
    for base in reversed(_user_classes(cls)):
        for name, member in vars(base).items():
            if name not in _SYSTEM:
                seen[name] = (getattr(member, "__anabranch_owner__", base), name, member)
    yield from seen.values()


def _function_of(member: Any) -> Callable[..., Any] | None:
    """The function behind a method, unwrapped if it is an entry already."""
    original = getattr(type(member), "__anabranch_entry__", False) and member.__wrapped__
    if original:
        return original  # type: ignore[no-any-return]
    return member if inspect.isfunction(member) else None


def _show(annotation: Any) -> str:
    if isinstance(annotation, type) and not get_args(annotation):
        return annotation.__name__
    args = ", ".join(map(_show, get_args(annotation)))
    origin = get_origin(annotation)
    return f"{_show(origin)}[{args}]" if isinstance(origin, type) and args else str(annotation)
