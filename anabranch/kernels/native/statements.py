"""Statements of the graph as statements of a kernel. What touches state or ends the row depends on where it runs."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Protocol

from anabranch.graph.code import (
    Access,
    Assign,
    Body,
    Break,
    Comprehension,
    Continue,
    Do,
    Expr,
    For,
    Gather,
    If,
    Lambda,
    Local,
    Raise,
    Return,
    Send,
    Stmt,
    Target,
    Try,
    While,
    expressions,
    operands,
    target_names,
    walk,
)
from anabranch.kernels.native.layout import NotInKernels
from anabranch.kernels.native.loops import Look, each
from anabranch.kernels.native.registers import Value, is_open, meet
from anabranch.kernels.native.scope import Scope, is_deep
from anabranch.kernels.native.walks import item_type
from anabranch.kernels.whole import multi_names
from anabranch.lang.types import List, Record, Tuple, Type, thaw


class Place(Protocol):
    """Where a body runs; `bodies` are those of the loops around what is being written."""

    bodies: list[Body]

    def access(self, stmt: Access) -> None: ...
    def returns(self, value: Value) -> None: ...
    def send(self, stmt: Send) -> None: ...
    def enter(self, loop: For | While) -> None: ...
    def looking_ahead(self, target: Target, body: Body) -> AbstractContextManager[Look | None]:
        """Around a loop: how its steps may look ahead at the state that the next ones need."""

    def branch(self) -> object: ...
    def join(self, before: object) -> None: ...
    def forget(self, body: Body, names: Iterable[str] = ()) -> None:
        """What was found in the states that the body writes, or by keys of variables that change, holds no longer."""


class Statements:
    def __init__(self, scope: Scope, place: Place) -> None:
        self.scope, self.place, self.out = scope, place, scope.out

    def body(self, body: Body) -> bool:
        """Write it; False if its end cannot be reached. What kernels lack is noted, and the rest is looked at too."""
        for stmt in body:
            try:
                goes_on = self._stmt(stmt)
            except NotInKernels as error:
                self.scope.module.refused.append(self.scope.at(error, stmt.span))
                goes_on = not isinstance(stmt, Return | Raise | Send | Break | Continue)
            if not goes_on:
                return False
        return True

    def _stmt(self, stmt: Stmt) -> bool:
        scope = self.scope
        match stmt:
            case Assign(target, value):
                scope.assign(target, scope.value(value))
            case Do(value):
                for word in scope.value(value).words:
                    self.out.line(word)
            case Access():
                self.place.access(stmt)
            case If(test, then, orelse):
                return self._if(test, then, orelse)
            case For(target, source, body, orelse):
                self.place.enter(stmt)
                self._for(target, source, body, orelse)
            case While(test, body, orelse):
                self.place.enter(stmt)
                self._while(test, body, orelse)
            case Break():
                self.out.line("break")
                return False
            case Continue():
                self.out.line("continue")
                return False
            case Return(value):
                self.place.returns(scope.value(value))
                return False
            case Raise():
                self.out.line("raise Leave")
                return False
            case Send():
                self.place.send(stmt)
                return False
            case Gather():
                raise NotInKernels("what all instances give is gathered")
            case Try():
                raise NotInKernels("exceptions are caught")
        return True

    def _if(self, test: Expr, then: Body, orelse: Body) -> bool:
        condition = self.scope.write.condition(test)
        before, known = set(self.scope.set), self.place.branch()
        with self.out.block(f"if {condition}:"):
            goes_on = self.body(then)
        after, found = set(self.scope.set), self.place.branch()
        self.scope.set = set(before)
        self.place.join(known)
        if orelse:
            with self.out.block("else:"):
                other = self.body(orelse)
        else:
            other = True
        if goes_on and other:
            self.scope.set &= after
            self.place.join(known)
            self.place.forget((*then, *orelse))
        elif goes_on:  # there is but one way to here
            self.scope.set = after
            self.place.join(found)
        return goes_on or other

    def _for(self, target: Target, source: Expr, body: Body, orelse: Body) -> None:
        names = list(target_names(target))
        self.place.forget(body, names)
        before, known = set(self.scope.set), self.place.branch()
        with self.place.looking_ahead(target, body) as look, each(self.scope, source, look=look) as item:
            self.scope.assign(target, item)
            self._loop(body)
        self._after(before, known, body, names)
        if orelse:
            with self.out.block("else:"):
                self.body(orelse)
            self._after(before, known, (*body, *orelse), names)

    def _while(self, test: Expr, body: Body, orelse: Body) -> None:
        self.place.forget(body)
        before, known = set(self.scope.set), self.place.branch()
        ended = self.out.fresh("False", "w")
        with self.out.block("while True:"):
            condition = self.scope.write.condition(test)
            with self.out.block(f"if not {condition}:"):
                self.out.line(f"{ended} = True")
                self.out.line("break")
            self._loop(body)
        self._after(before, known, body, ())
        if orelse:
            with self.out.block(f"if {ended}:"):
                self.body(orelse)
            self._after(before, known, (*body, *orelse), ())

    def _loop(self, body: Body) -> None:
        self.place.bodies.append(body)
        self.body(body)
        self.place.bodies.pop()

    def _after(self, before: set[str], known: object, passed: Body, names: Iterable[str]) -> None:
        """Only what was known before holds, of what the bodies that may have been passed leave as it was."""
        self.scope.set = set(before)
        self.place.join(known)
        self.place.forget(passed, names)


# -- the types of variables ------------------------------------------------------------------------------------------


def variable_types(body: Body, given: dict[str, Type], spread: bool = False) -> dict[str, Type]:
    """For each variable the type that holds all it gets; with `spread` a multi-valued one is a list of its values."""
    types = {name: thaw(t) for name, t in given.items()}
    for name, t in types.items():
        if is_deep(t):  # `rowio` gives the list alone a head, not those inside of it
            raise NotInKernels(f"the parameter {name} is a list of lists")
    for stmt in walk(body):
        try:
            match stmt:
                case Assign(target, value):
                    _bind(target, List(value.type) if spread and multi_names(value) else value.type, types)
                case Access(str() as name, type=t, everywhere=everywhere):
                    _bind(name, List(t) if spread and everywhere else t, types)
                case Gather(name, type=t):
                    _bind(name, t, types)
                case For(target, source):
                    _bind(target, item_type(source), types)
        except NotInKernels as error:
            if not hasattr(error, "span"):
                error.span = stmt.span  # type: ignore[attr-defined]
            raise
    for stmt in walk(body):
        for expr in expressions(stmt):
            _fill(expr, types, frozenset())
    return types


def _fill(expr: Expr, types: dict[str, Type], own: frozenset[str]) -> None:
    """What an empty container holds shows where it is read."""
    match expr:
        case Local(name, t) if name in types and name not in own and is_open(types[name]):
            types[name] = meet(types[name], t)
        case Comprehension(_, _, clauses):
            own |= {name for clause in clauses for name in target_names(clause.target)}
        case Lambda(params):
            own |= set(params)
    for inner in operands(expr):
        _fill(inner, types, own)


def _bind(target: Target, t: Type, types: dict[str, Type]) -> None:
    t = thaw(t)
    if isinstance(target, str):
        types[target] = meet(types[target], t) if target in types else meet(t, t)
        return
    items: list[Type]
    match t:
        case Tuple(of):
            items = list(of)
        case Record(_, fields):
            items = [f for _, f in fields]
        case List(of):
            items = [of] * len(target)
        case _:
            raise NotInKernels(f"a {t} is taken apart")
    for inner, item in zip(target, items, strict=False):
        _bind(inner, item, types)
