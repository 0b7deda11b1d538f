"""What runs inside a task: typed expressions and structured statements.

An expression never touches state: each access is a statement of its own, in the order in which Python evaluates it,
so that a task can end and another begin between any two accesses. Names with a dot (`ratings.row`, `_debit.amount`)
were made by the translator and cannot clash with a user's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from anabranch.graph.span import Span
from anabranch.lang.types import Type

Target = str | tuple["Target", ...]


@dataclass(frozen=True, slots=True)
class Const:
    """A literal, or an object fixed when the class was read: a function, a record class, an exception class."""

    value: Any
    type: Type
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class Local:
    """A variable of the entry; `multi` if it has one value per instance here."""

    name: str
    type: Type
    span: Span = field(compare=False)
    multi: bool = False


@dataclass(frozen=True, slots=True)
class Config:
    """A read-only attribute set in `__init__` or in the class body."""

    name: str
    type: Type
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class Apply:
    """An operation of the closed table (see `anabranch.graph.operations`) on operands.

    The last `len(keywords)` operands are passed by these names. `and`, `or` and `if` evaluate what they need only.
    """

    op: str
    args: tuple[Expr, ...]
    type: Type
    span: Span = field(compare=False)
    keywords: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Lambda:
    """A function handed to a call; it may read variables of the entry."""

    params: tuple[str, ...]
    body: Expr
    type: Type
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class Clause:
    """`for target in source if tests`."""

    target: Target
    source: Expr
    tests: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Comprehension:
    """A list, set, dict or generator comprehension without state inside; a dict's element is a pair."""

    kind: str
    element: Expr
    clauses: tuple[Clause, ...]
    type: Type
    span: Span = field(compare=False)


Expr = Const | Local | Config | Apply | Lambda | Comprehension


@dataclass(frozen=True, slots=True)
class Assign:
    target: Target
    value: Expr
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class Do:
    """An expression evaluated for its effect on a local value."""

    value: Expr
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class Access:
    """One call of a method of a state: the only way to reach it.

    `key` names the place in partitioned state and is None elsewhere; with `everywhere` the call happens on every
    instance and its result is multi-valued.
    """

    target: str | None
    state: str
    method: str
    args: tuple[Expr, ...]
    key: Expr | None
    writes: bool
    everywhere: bool
    type: Type
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class Gather:
    """Collect the values of a multi-valued variable, one per instance, ordered by instance number."""

    target: str
    source: Expr
    type: Type
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class If:
    test: Expr
    then: Body
    orelse: Body
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class For:
    """`fan` marks a fan-out: a `Send` in its body ends the iteration, not the task."""

    target: Target
    source: Expr
    body: Body
    orelse: Body
    span: Span = field(compare=False)
    fan: bool = False


@dataclass(frozen=True, slots=True)
class While:
    test: Expr
    body: Body
    orelse: Body
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class Break:
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class Continue:
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class Return:
    value: Expr
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class Raise:
    """`error` is None for a bare `raise` inside a handler."""

    error: Expr | None
    cause: Expr | None
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class Handler:
    classes: tuple[type[BaseException], ...]
    name: str | None
    body: Body


@dataclass(frozen=True, slots=True)
class Try:
    body: Body
    handlers: tuple[Handler, ...]
    orelse: Body
    final: Body
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class Send:
    """Hand the flow's variables to its target; what follows in this task does not run (see `For.fan`)."""

    flow: int
    span: Span = field(compare=False)


Stmt = Assign | Do | Access | Gather | If | For | While | Break | Continue | Return | Raise | Try | Send
Body = tuple[Stmt, ...]


@dataclass(frozen=True, slots=True)
class Function:
    """A helper or a function of the user's sources without state, specialised to the types of its arguments."""

    name: str
    params: tuple[tuple[str, Type], ...]
    result: Type
    body: Body
    span: Span = field(compare=False)


def target_names(target: Target) -> Iterator[str]:
    """
    >>> list(target_names(("a", ("b", "c"))))
    ['a', 'b', 'c']
    """
    if isinstance(target, str):
        yield target
    else:
        for inner in target:
            yield from target_names(inner)


def bodies(stmt: Stmt) -> tuple[Body, ...]:
    """The statement lists inside a statement, in the order in which they may run."""
    match stmt:
        case If(_, then, orelse):
            return (then, orelse)
        case For(_, _, body, orelse) | While(_, body, orelse):
            return (body, orelse)
        case Try(body, handlers, orelse, final):
            return (body, *(h.body for h in handlers), orelse, final)
    return ()


def expressions(stmt: Stmt) -> tuple[Expr, ...]:
    """The expressions a statement evaluates itself, without those of the statements inside it."""
    match stmt:
        case Assign(_, value) | Do(value) | Return(value):
            return (value,)
        case Access(_, _, _, args, key):
            return args if key is None else (*args, key)
        case Gather(_, source):
            return (source,)
        case If(test) | While(test):
            return (test,)
        case For(_, source):
            return (source,)
        case Raise(error, cause):
            return tuple(e for e in (error, cause) if e is not None)
    return ()


def operands(expr: Expr) -> tuple[Expr, ...]:
    match expr:
        case Apply(_, args):
            return args
        case Lambda(_, body):
            return (body,)
        case Comprehension(_, element, clauses):
            return (element, *(e for c in clauses for e in (c.source, *c.tests)))
    return ()


def walk(body: Body) -> Iterator[Stmt]:
    """Every statement of a body, outer before inner."""
    for stmt in body:
        yield stmt
        for inner in bodies(stmt):
            yield from walk(inner)


def free_names(expr: Expr) -> frozenset[str]:
    """The variables an expression reads."""
    match expr:
        case Local(name):
            return frozenset((name,))
        case Lambda(params, body):
            return free_names(body) - set(params)
        case Comprehension(_, element, clauses):
            bound: set[str] = set()
            names: set[str] = set()
            for clause in clauses:
                names |= free_names(clause.source) - bound
                bound.update(target_names(clause.target))
                for test in clause.tests:
                    names |= free_names(test) - bound
            return frozenset(names | (free_names(element) - bound))
        case Apply(_, args):
            return frozenset().union(*map(free_names, args)) if args else frozenset()
    return frozenset()
