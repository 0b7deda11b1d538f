"""Statements of the graph as Python statements. What touches state or leaves the body depends on where it runs."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from anabranch.graph.code import (
    Access,
    Apply,
    Assign,
    Body,
    Break,
    Const,
    Continue,
    Do,
    Expr,
    For,
    Gather,
    Handler,
    If,
    Local,
    Raise,
    Return,
    Send,
    Stmt,
    Target,
    Try,
    While,
)
from anabranch.kernels.expressions import Scope, call, expression, item, load, store
from anabranch.kernels.names import PRIVATE, identifier
from anabranch.lang.types import Tuple

SENT = f"{PRIVATE}sent"


class Place(Protocol):
    """Where a body runs: in a task, in an entry as a whole, or in a function without state."""

    def multi(self, expr: Expr) -> list[str]:
        """The variables in it that hold a list of one value per instance."""

    def access(self, stmt: Access) -> list[ast.stmt]: ...

    def enter(self, loop: For | While) -> list[ast.stmt]:
        """What happens before a loop."""

    def returns(self, value: ast.expr) -> ast.stmt: ...

    def send(self, stmt: Send, fan: bool) -> list[ast.stmt]:
        """Hand over to a flow; with `fan` the task goes on with the next iteration."""


@dataclass
class Loop:
    """A loop that is being written around; `left` if a send inside it ends the iteration of a fan-out around it."""

    fan: bool
    left: bool = False


class Statements:
    """Writes the bodies of one function."""

    def __init__(self, scope: Scope, place: Place) -> None:
        self.scope, self.place = scope, place
        self._loops: list[Loop] = []

    def body(self, body: Body) -> list[ast.stmt]:
        """Never empty."""
        return [s for stmt in body for s in self._stmt(stmt)] or [ast.Pass()]

    def _stmt(self, stmt: Stmt) -> list[ast.stmt]:
        written = self._written(stmt)
        for node in written:
            if not hasattr(node, "lineno"):
                self.scope.at(stmt.span, node)
        return written

    def _written(self, stmt: Stmt) -> list[ast.stmt]:
        value, place = self._value, self.place
        match stmt:
            case Assign(target, given):
                return list(self._assign(target, value(given), bool(place.multi(given))))
            case Do(effect):
                return [self._do(effect)]
            case Access():
                return place.access(stmt)
            case Gather(target, source):
                return [assign(store(target), call(self.scope.fixed(list), [value(source)]))]
            case If(Apply("not", (test,)), (Raise(Apply("call", (Const(cls), *message))) as failing,), ()) if (
                cls is AssertionError and failing.span == stmt.span and not isinstance(test.type, Tuple)
            ):
                # One span for the test and for what it raises: the user wrote `assert`. Versions of Python blame
                # different lines of it.
                return [ast.Assert(test=value(test), msg=value(message[0]) if message else None)]
            case If(test, then, orelse):
                return [ast.If(test=value(test), body=self.body(then), orelse=self._optional(orelse))]
            case For(target, source, body, orelse, _, fan):
                source_value = value(source)
                looped, after = self._loop(body, fan)
                last = self._optional(orelse)
                loop = ast.For(target=store(target), iter=source_value, body=looped, orelse=last, type_comment=None)
                return [*place.enter(stmt), loop, *after]
            case While(test, body, orelse):
                looped, after = self._loop(body, False)
                return [
                    *place.enter(stmt),
                    ast.While(test=value(test), body=looped, orelse=self._optional(orelse)),
                    *after,
                ]
            case Break():
                return [ast.Break()]
            case Continue():
                return [ast.Continue()]
            case Return(result):
                return [place.returns(value(result))]
            case Raise(error, cause):
                raised, reason = [None if e is None else value(e) for e in (error, cause)]
                return [ast.Raise(exc=raised, cause=reason)]
            case Try(body, handlers, orelse, final):
                return [
                    ast.Try(
                        body=self.body(body),
                        handlers=[self._handler(h) for h in handlers],
                        orelse=self._optional(orelse),
                        finalbody=self._optional(final),
                    )
                ]
            case Send():
                return self._send(stmt)

    def _send(self, stmt: Send) -> list[ast.stmt]:
        fan = max((i for i, loop in enumerate(self._loops) if loop.fan), default=None)
        if fan is None:
            return self.place.send(stmt, False)
        if fan == len(self._loops) - 1:
            return [*self.place.send(stmt, True), ast.Continue()]
        for loop in self._loops[fan:]:
            loop.left = True
        sent = assign(ast.Name(id=SENT, ctx=ast.Store()), ast.Constant(True))
        return [*self.place.send(stmt, True), sent, ast.Break()]

    def _optional(self, body: Body) -> list[ast.stmt]:
        return self.body(body) if body else []

    def _loop(self, body: Body, fan: bool) -> tuple[list[ast.stmt], list[ast.stmt]]:
        """The body of a loop, and what follows the loop."""
        loop = Loop(fan)
        self._loops.append(loop)
        written = self.body(body)
        self._loops.pop()
        if not loop.left:
            return written, []
        if fan:
            return [assign(ast.Name(id=SENT, ctx=ast.Store()), ast.Constant(False)), *written], []
        leave: ast.stmt = ast.Continue() if self._loops[-1].fan else ast.Break()
        return written, [ast.If(test=load(SENT), body=[leave], orelse=[])]

    def _value(self, expr: Expr) -> ast.expr:
        return each(self.scope, expression(self.scope, expr), [] if isinstance(expr, Local) else self.place.multi(expr))

    def _assign(self, target: Target, value: ast.expr, multi: bool, depth: int = 0) -> Iterator[ast.stmt]:
        if isinstance(target, str) or not multi:
            yield assign(store(target), value)
            return
        # Each name gets its own list of one value per instance.
        whole, one = f"{PRIVATE}each{depth}", f"{PRIVATE}one"
        yield assign(ast.Name(id=whole, ctx=ast.Store()), value)
        for i, inner in enumerate(target):
            clause = ast.comprehension(target=ast.Name(id=one, ctx=ast.Store()), iter=load(whole), ifs=[], is_async=0)
            part = ast.ListComp(elt=item(load(one), ast.Constant(i)), generators=[clause])
            yield from self._assign(inner, part, True, depth + 1)

    def _do(self, effect: Expr) -> ast.stmt:
        """Stores and deletions as statements: Python evaluates the stored value first, as the user's text does."""
        match effect:
            case Apply("setitem", (owner, key, stored)) if not self.place.multi(effect):
                target = item(self._value(owner), self._value(key))
                target.ctx = ast.Store()
                return assign(target, self._value(stored))
            case Apply("delitem", (owner, key)) if not self.place.multi(effect):
                target = item(self._value(owner), self._value(key))
                target.ctx = ast.Del()
                return ast.Delete(targets=[target])
        return ast.Expr(value=self._value(effect))

    def _handler(self, handler: Handler) -> ast.ExceptHandler:
        classes = [self.scope.fixed(c) for c in handler.classes]
        kind = classes[0] if len(classes) == 1 else ast.Tuple(elts=classes, ctx=ast.Load())
        name = identifier(handler.name) if handler.name else None
        return ast.ExceptHandler(type=kind, name=name, body=self.body(handler.body))


def assign(target: ast.expr, value: ast.expr) -> ast.Assign:
    return ast.Assign(targets=[target], value=value, type_comment=None)


def each(scope: Scope, value: ast.expr, names: Sequence[str]) -> ast.expr:
    """The list of its values, one per instance, if these variables hold one value per instance.

    Inside the comprehension the variables are the comprehension's own, each a single value.
    """
    if not names:
        return value
    inner = [identifier(n) for n in names]
    if len(inner) == 1:
        target: ast.expr = ast.Name(id=inner[0], ctx=ast.Store())
        source: ast.expr = load(inner[0])
    else:
        target = ast.Tuple(elts=[ast.Name(id=n, ctx=ast.Store()) for n in inner], ctx=ast.Store())
        source = call(scope.fixed(zip), [load(n) for n in inner])
    return ast.ListComp(elt=value, generators=[ast.comprehension(target=target, iter=source, ifs=[], is_async=0)])


def touch(scope: Scope, stmt: Access, part: ast.expr, args: Sequence[ast.expr]) -> ast.stmt:
    """An access to one instance of a state, as the statement that the user may have written."""
    match stmt.method, args:
        case "__setitem__", (key, stored):
            return assign(ast.Subscript(value=part, slice=key, ctx=ast.Store()), stored)
        case "__delitem__", (key,):
            return ast.Delete(targets=[ast.Subscript(value=part, slice=key, ctx=ast.Del())])
        case "value=", (stored,):
            target = scope.at(stmt.span, ast.Attribute(value=part, attr="value", ctx=ast.Store()))
            # Python takes an attribute over several lines to stand on the last; this one stands on the first.
            target.end_lineno, target.end_col_offset = target.lineno, target.col_offset
            return assign(target, stored)
    result = read(scope, stmt, part, args)
    return ast.Expr(value=result) if stmt.target is None else assign(store(stmt.target), result)


def read(scope: Scope, stmt: Access, part: ast.expr, args: Sequence[ast.expr]) -> ast.expr:
    """An access to one instance of a state as an expression."""
    match stmt.method, args:
        case "__getitem__", (key,):
            found: ast.expr = item(part, key)
        case "__contains__", (key,):
            found = ast.Compare(left=key, ops=[ast.In()], comparators=[part])
        case "__len__", ():
            found = call(scope.fixed(len), [part])
        case "__iter__", ():
            found = call(scope.fixed(list), [part])
        case (("value" | "shape"), ()):
            found = ast.Attribute(value=part, attr=stmt.method, ctx=ast.Load())
        case "value=", (stored,):
            found = call(scope.fixed(setattr), [part, ast.Constant("value"), stored])
        case _:
            found = call(scope.method(part, stmt.method, stmt.span), args)
    return scope.at(stmt.span, found)
