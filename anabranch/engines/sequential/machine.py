"""Evaluates the code of a graph: expressions and statements over a dictionary of variables.

A multi-valued variable holds `Each`, one value per instance; an expression over it is evaluated once per instance.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterator, MutableMapping
from dataclasses import dataclass
from typing import Any

from anabranch.engines.sequential.operations import apply, compare
from anabranch.engines.sequential.store import Store
from anabranch.graph.code import (
    Access,
    Apply,
    Assign,
    Body,
    Break,
    Clause,
    Comprehension,
    Config,
    Const,
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
    free_names,
)
from anabranch.graph.span import Span
from anabranch.graph.verify import BrokenGraph
from anabranch.lang import Program

Env = MutableMapping[str, Any]


@dataclass(frozen=True, slots=True)
class Each:
    """One value per instance."""

    values: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Done:
    """The entry has returned."""

    value: Any


ANYWHERE = object()
Signal = Break | Continue | Done | Send | None


class Machine:
    """`instance` is the one whose part of partial, replicated and (in `everywhere`) partitioned state is used."""

    def __init__(self, store: Store, program: Program, deliver: Callable[[Send, Env], None]) -> None:
        self.store, self.program, self.deliver = store, program, deliver
        self.functions = {f.name: f for f in store.graph.functions}
        self.key: Any = ANYWHERE  # inside a task at a key: the only one it may touch
        self.instance = 0
        self.pinned = False  # a winding row keeps the instance it started with: it may come back to it
        self.single: int | None = None  # inside a task at every instance: the one at hand
        self.at: Span = store.graph.span
        self._caught: list[tuple[BaseException, Span]] = []

    # Expressions

    def value(self, expr: Expr, env: Env) -> Any:
        match expr:
            case Const(value):
                return value
            case Local(name):
                if name not in env:
                    raise BrokenGraph(f"{name} has no value at {expr.span}")
                return env[name]
            case Config(name):
                return getattr(self.program, name)
        multi = [n for n in free_names(expr) if isinstance(env.get(n), Each)]
        if multi:
            rows = [self._value(expr, self._project(env, multi, i)) for i in range(self.store.instances)]
            return Each(tuple(rows))
        return self._value(expr, env)

    def _project(self, env: Env, names: list[str], instance: int) -> Env:
        return {**env, **{n: env[n].values[instance] for n in names}}

    def _value(self, expr: Expr, env: Env) -> Any:
        match expr:
            case Apply("and", args):
                found: Any = True
                for arg in args:
                    found = self.value(arg, env)
                    if not found:
                        return found
                return found
            case Apply("or", args):
                found = False
                for arg in args:
                    found = self.value(arg, env)
                    if found:
                        return found
                return found
            case Apply("if", (test, then, orelse)):
                return self.value(then if self.value(test, env) else orelse, env)
            case Apply(op, args) if op.startswith("compare:"):
                return self._chain(op[8:].split(","), args, env, expr.span)
            case Apply("function" | "procedure", (Const(name), *args)):
                values = [self.value(a, env) for a in args]
                self.at = expr.span
                return self._call(name, values)
            case Apply(op, args, _, span, keywords):
                values = [self.value(a, env) for a in args]
                split = len(values) - len(keywords)
                if op != "coerce":
                    self.at = span
                return apply(op, values[:split], dict(zip(keywords, values[split:], strict=True)))
            case Lambda(params, body):
                return lambda *xs: self.value(body, {**env, **dict(zip(params, xs, strict=True))})
            case Comprehension():
                return self._comprehension(expr, env)
        return self.value(expr, env)

    def _chain(self, ops: list[str], args: tuple[Expr, ...], env: Env, span: Span) -> Any:
        left = self.value(args[0], env)
        found: Any = True
        for op, arg in zip(ops, args[1:], strict=True):
            right = self.value(arg, env)
            self.at = span
            found = compare(op, left, right)
            if not found:
                return found
            left = right
        return found

    def _call(self, name: str, args: list[Any]) -> Any:
        function = self.functions[name]
        env = {n: x for (n, _), x in zip(function.params, args, strict=True)}
        start = 0
        for stmt in function.body:
            if not (isinstance(stmt, Assign) and isinstance(stmt.value, Apply) and stmt.value.op == "coerce"):
                break
            # An entry checks its arguments at the caller's line.
            self._assign(stmt.target, self.value(stmt.value, env), env)
            start += 1
        signal = self.run(function.body[start:], env)
        return signal.value if isinstance(signal, Done) else None

    def _comprehension(self, expr: Comprehension, env: Env) -> Any:
        # The first source is evaluated at once; other names are looked up when they are needed, as in Python.
        first = iter(self.value(expr.clauses[0].source, env))
        rows = self._rows(expr.element, expr.clauses, 0, ChainMap({}, env), first)
        match expr.kind:
            case "list":
                return list(rows)
            case "set":
                return set(rows)
            case "dict":
                return dict(rows)
        return rows

    def _rows(
        self, element: Expr, clauses: tuple[Clause, ...], depth: int, env: Env, source: Iterator[Any]
    ) -> Iterator[Any]:
        clause = clauses[depth]
        for item in source:
            self._assign(clause.target, item, env)
            if not all(self.value(test, env) for test in clause.tests):
                continue
            if depth + 1 == len(clauses):
                yield self.value(element, env)
            else:
                inner = iter(self.value(clauses[depth + 1].source, env))
                yield from self._rows(element, clauses, depth + 1, env, inner)

    # Statements

    def run(self, body: Body, env: Env) -> Signal:
        for stmt in body:
            signal = self._stmt(stmt, env)
            if signal is not None:
                return signal
        return None

    def _stmt(self, stmt: Stmt, env: Env) -> Signal:
        if not isinstance(stmt, If | For | While | Try):
            self.at = stmt.span
        match stmt:
            case Assign(target, value):
                self._assign(target, self.value(value, env), env)
            case Do(value):
                self.value(value, env)
            case Access():
                self._access(stmt, env)
            case Gather(target, source):
                env[target] = list(self.value(source, env).values)
            case If(test, then, orelse):
                return self.run(then if self.value(test, env) else orelse, env)
            case For():
                return self._for(stmt, env)
            case While(test, body, orelse):
                while self.value(test, env):
                    signal = self.run(body, env)
                    if isinstance(signal, Break):
                        return None
                    if signal is not None and not isinstance(signal, Continue):
                        return signal
                return self.run(orelse, env)
            case Return(value):
                return Done(self.value(value, env))
            case Raise(error, cause):
                self._raise(error, cause, env, stmt.span)
            case Try():
                return self._try(stmt, env)
            case Break() | Continue() | Send():
                return stmt
        return None

    def _for(self, stmt: For, env: Env) -> Signal:
        for item in self.value(stmt.source, env):
            self.at = stmt.span
            self._assign(stmt.target, item, env)
            signal = self.run(stmt.body, env)
            if isinstance(signal, Break):
                return None
            if isinstance(signal, Send) and stmt.fan:
                self.deliver(signal, env)
            elif signal is not None and not isinstance(signal, Continue):
                return signal
        return self.run(stmt.orelse, env)

    def _assign(self, target: Target, value: Any, env: Env) -> None:
        if isinstance(target, str):
            env[target] = value
        elif isinstance(value, Each):
            for i, inner in enumerate(target):
                self._assign(inner, Each(tuple(v[i] for v in value.values)), env)
        else:
            items = _unpack(value, len(target))
            for inner, item in zip(target, items, strict=True):
                self._assign(inner, item, env)

    def _raise(self, error: Expr | None, cause: Expr | None, env: Env, span: Span) -> None:
        raised = env["except"] if error is None else self.value(error, env)
        reason = None if cause is None else self.value(cause, env)
        # Raised again, it comes from where it came from first.
        self.at = next((at for error, at in self._caught if error is raised), span)
        if cause is None:
            raise raised
        raise raised from reason

    def _try(self, stmt: Try, env: Env) -> Signal:
        try:
            signal = self._guarded(stmt, env)
        except BaseException:
            at = self.at
            self.run(stmt.final, env)
            self.at = at
            raise
        self.run(stmt.final, env)
        return signal

    def _guarded(self, stmt: Try, env: Env) -> Signal:
        try:
            signal = self.run(stmt.body, env)
        except BaseException as error:
            handler = next((h for h in stmt.handlers if isinstance(error, h.classes)), None)
            if handler is None:
                raise
            self._caught.append((error, self.at))
            if handler.name is not None:
                env[handler.name] = error
            outer, env["except"] = env.get("except"), error
            signal = self.run(handler.body, env)
            env["except"] = outer
            return signal
        return signal if signal is not None else self.run(stmt.orelse, env)

    # State

    def _access(self, stmt: Access, env: Env) -> None:
        if stmt.everywhere and self.single is None:
            results = []
            for i in range(self.store.instances):
                multi = [n for n, v in env.items() if isinstance(v, Each)]
                results.append(self._touch(stmt, self.store.parts[stmt.state][i], self._project(env, multi, i)))
            if stmt.target is not None:
                env[stmt.target] = Each(tuple(results))
            return
        if stmt.everywhere:
            assert self.single is not None
            instance = self.single
        elif stmt.key is not None:
            key = self.value(stmt.key, env)
            if self.key is not ANYWHERE and key != self.key:
                raise BrokenGraph(f"{stmt.state} is reached at {key!r} by a task at {self.key!r}")
            instance = self.store.owner(key)
            if not self.pinned:
                self.instance = instance
        else:
            instance = self.instance
        result = self._touch(stmt, self.store.parts[stmt.state][instance], env)
        if stmt.target is not None:
            env[stmt.target] = result

    def _touch(self, stmt: Access, part: Any, env: Env) -> Any:
        args = [self.value(a, env) for a in stmt.args]
        self.at = stmt.span
        match stmt.method:
            case "value" | "shape":
                return getattr(part, stmt.method)
            case "value=":
                part.value = args[0]
                return None
            case "__iter__":
                return list(part)
        return getattr(part, stmt.method)(*args)


def _unpack(value: Any, count: int) -> list[Any]:
    """As Python does, with its own words when the number does not fit."""
    match count:
        case 1:
            (a,) = value
            return [a]
        case 2:
            a, b = value
            return [a, b]
        case 3:
            a, b, c = value
            return [a, b, c]
    items = list(value)
    if len(items) < count:
        raise ValueError(f"not enough values to unpack (expected {count}, got {len(items)})")
    if len(items) > count:
        raise ValueError(f"too many values to unpack (expected {count})")
    return items
