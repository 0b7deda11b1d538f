"""Value numbers: two expressions with one number have the same value. They say which keys are the same place.

Copies, items of tuples, fields of records and pure operators on equal numbers give equal numbers; where paths meet
with different values, a new number stands for the meeting.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from anabranch.frontend.cells import escapes
from anabranch.graph.code import (
    Access,
    Apply,
    Assign,
    Body,
    Break,
    Config,
    Const,
    Continue,
    Expr,
    For,
    Gather,
    If,
    Local,
    Raise,
    Return,
    Stmt,
    Target,
    Try,
    While,
    expressions,
    target_names,
    walk,
)
from anabranch.graph.effects import changes
from anabranch.graph.liveness import assigned
from anabranch.graph.nodes import Where
from anabranch.lang.types import INT, Iter, Tuple, is_mutable, thaw

Env = dict[str, int]


@dataclass(frozen=True, slots=True)
class Place:
    """Where an access happens; `number` is the key's, and 0 where there is no key."""

    where: Where
    number: int = 0


HERE, EVERYWHERE, NOWHERE = Place(Where.HERE), Place(Where.EVERYWHERE), Place(Where.NOWHERE)


@dataclass
class Numbering:
    """The numbers of one entry. `places` and `heads` are keyed by the identity of statements of its body."""

    parameters: tuple[str, ...]
    places: dict[int, Place] = field(default_factory=dict)
    heads: dict[int, tuple[int, Env]] = field(default_factory=dict)
    _known: dict[Any, int] = field(default_factory=dict)
    _exprs: dict[int, Expr] = field(default_factory=dict)
    _shapes: dict[int, tuple[str, tuple[int, ...]]] = field(default_factory=dict)
    _last: int = 0
    _version: int = 0

    def fresh(self) -> int:
        self._last += 1
        return self._last

    def start(self) -> Env:
        return {name: self._number(("parameter", name)) for name in self.parameters}

    def _number(self, key: Any) -> int:
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self.fresh()
        return found

    def _part(self, whole: int, at: int, expr: Expr) -> int:
        """The number of an item of a tuple."""
        found = self._number(("part", whole, at))
        position = Const(at, INT, expr.span)
        self._shapes.setdefault(found, ("[]", (whole, self.number(position, {}))))
        return found

    def number(self, expr: Expr, env: Env) -> int:
        found = self._find(expr, env)
        self._exprs.setdefault(found, expr)
        return found

    def _find(self, expr: Expr, env: Env) -> int:
        match expr:
            case Const(value, kind):
                return self._number(("const", str(kind), repr(value)))
            case Config(name):
                return self._number(("config", name))
            case Local(name):
                if name not in env:
                    env[name] = self.fresh()
                return env[name]
            case Apply("coerce", (inner, *_), kind) if thaw(inner.type) == thaw(kind):
                return self.number(inner, env)
            case Apply("local", (inner,)):
                return self.number(inner, env)
            case Apply("[]", (receiver, Const(int() as i))) if isinstance(receiver.type, Tuple):
                whole = self.number(receiver, env)
                at = i % len(receiver.type.items)
                parts = self._shapes.get(whole, ("", ()))
                return parts[1][at] if parts[0] == "tuple" else self._part(whole, at, expr)
            case Apply(op, args, kind) if not (is_mutable(kind) or changes(expr) or any(map(_is_iterator, args))):
                numbers = tuple(self.number(a, env) for a in args)
                version = self._version if any(is_mutable(a.type) for a in args) else -1
                found = self._number((op, numbers, expr.keywords, version))
                if op == "tuple" or op.startswith("attr:"):
                    self._shapes[found] = (op, numbers)
                return found
        return self.fresh()

    # Statements

    def run(self, body: Body, env: Env | None) -> Env | None:
        for stmt in body:
            if env is None:
                return None
            env = self._stmt(stmt, env)
        return env

    def _stmt(self, stmt: Stmt, env: Env) -> Env | None:
        for expr in expressions(stmt):
            self.number(expr, env)
            if changes(expr):
                self._version = self.fresh()
        match stmt:
            case Assign(target, value):
                self._assign(target, value, env)
            case Access(target=target):
                self.places[id(stmt)] = self._place(stmt, env)
                if target is not None:
                    env[target] = self.fresh()
            case Gather(target):
                env[target] = self.fresh()
            case If(_, then, orelse):
                return self._branches([then, orelse], env)
            case For(target, _, body, orelse):
                return self._loop(stmt, body, orelse, env, set(target_names(target)))
            case While(_, body, orelse):
                return self._loop(stmt, body, orelse, env, set())
            case Try(body, handlers, orelse, final):
                self._forget(env, assigned((stmt,)))
                end = self._branches([body + orelse, *(h.body for h in handlers)], env)
                return self.run(final, end) if end is not None else None
            case Return() | Raise() | Break() | Continue():
                return None
        return env

    def _assign(self, target: Target, value: Expr, env: Env) -> None:
        if isinstance(target, str):
            env[target] = self.number(value, env)
            return
        whole = self.number(value, env)
        op, parts = self._shapes.get(whole, ("", ()))
        for i, inner in enumerate(target):
            known = op == "tuple" and len(parts) == len(target)
            number = parts[i] if known else self._number(("part", whole, i))
            if is_mutable(value.type) or isinstance(value.type, Iter):
                number = self.fresh()
            if isinstance(inner, str):
                env[inner] = number
            else:
                self._forget(env, set(target_names(inner)))

    def _forget(self, env: Env, names: set[str]) -> None:
        for name in sorted(names):
            env[name] = self.fresh()

    def _branches(self, bodies: list[Body], env: Env) -> Env | None:
        version = self._version
        ends = []
        for body in bodies:
            ends.append(self.run(body, dict(env)))
        if self._version != version:
            self._version = self.fresh()
        return self._meet(ends)

    def _meet(self, ends: list[Env | None]) -> Env | None:
        """What holds where several ways come together."""
        live = [e for e in ends if e is not None]
        if not live:
            return None
        first, *rest = live
        met: Env = {}
        for name in {**first, **{n: 0 for e in rest for n in e}}:
            numbers = {e.get(name) for e in live}
            only = next(iter(numbers))
            met[name] = only if len(numbers) == 1 and only is not None else self.fresh()
        return met

    def _loop(self, stmt: Stmt, body: Body, orelse: Body, env: Env, targets: set[str]) -> Env | None:
        self.heads[id(stmt)] = (self._last, dict(env))
        changing = assigned(body) | targets
        self._forget(env, changing)
        renews = any(changes(e) for s in (stmt, *walk(body)) for e in expressions(s))
        if renews:
            self._version = self.fresh()
        if isinstance(stmt, While):
            self.number(stmt.test, env)
        self.run(body, dict(env))
        self._forget(env, changing)
        if renews:
            self._version = self.fresh()
        end = self.run(orelse, dict(env))
        return self._meet([env, end]) if any(isinstance(s, Break) for s in escapes(body)) else end

    def _place(self, stmt: Access, env: Env) -> Place:
        if stmt.everywhere:
            return EVERYWHERE
        return HERE if stmt.key is None else Place(Where.KEY, self.number(stmt.key, env))

    # From numbers back to expressions

    def rebuild(self, number: int, env: Env) -> Expr | None:
        """An expression for a number that can be evaluated where these variables are known."""
        known = self._exprs.get(number)
        if known is None:
            return None
        names = sorted((n for n, v in env.items() if v == number), key=lambda n: ("." in n, n))
        if names:
            return Local(names[0], known.type, known.span)
        if isinstance(known, Const | Config):
            return known
        op, numbers = self._shapes.get(number, ("", ()))
        parts = [self.rebuild(n, env) for n in numbers]
        if not op or any(p is None for p in parts):
            return None
        return Apply(op, tuple(p for p in parts if p is not None), known.type, known.span)


def _is_iterator(expr: Expr) -> bool:
    return isinstance(expr.type, Iter)
