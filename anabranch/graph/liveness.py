"""Which variables are needed later, with the types of their next uses.

Laws: a variable is live before a statement if the statement reads it, or if it is live after and the statement does
not assign it; the type of a live variable is the join of the types of its next uses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from anabranch.graph.code import (
    Access,
    Apply,
    Assign,
    Body,
    Break,
    Comprehension,
    Const,
    Continue,
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
    Try,
    While,
    expressions,
    target_names,
)
from anabranch.graph.nodes import Variable
from anabranch.lang.types import join, thaw

Live = Mapping[str, Variable]
NOTHING: Live = {}


def helper_prefixes(body: Body) -> tuple[str, ...]:
    """Prefixes of the variables of inlined helpers that return in the middle.

    A flag says whether such a helper has returned, and what follows is read only if it has not. Liveness does not see
    that, so a path may be without some of these variables.
    """
    flag = "return.done"
    return tuple(name.removesuffix(flag) for name in sorted(assigned(body)) if name.endswith("." + flag))


def union(*sets: Live) -> dict[str, Variable]:
    found: dict[str, Variable] = {}
    for each in sets:
        for name, variable in each.items():
            known = found.get(name)
            if known is None:
                found[name] = variable
            elif known != variable:
                found[name] = Variable(name, join(known.type, variable.type), known.multi or variable.multi)
    return found


def without(live: Live, names: Iterable[str]) -> dict[str, Variable]:
    gone = set(names)
    return {n: v for n, v in live.items() if n not in gone}


def reads(expr: Expr) -> dict[str, Variable]:
    """The variables an expression reads."""
    match expr:
        case Local(name, kind, _, multi):
            return {name: Variable(name, thaw(kind), multi)}
        case Apply(_, args):
            return union(*map(reads, args))
        case Lambda(params, body):
            return without(reads(body), params)
        case Comprehension(_, element, clauses):
            found: dict[str, Variable] = {}
            bound: set[str] = set()
            for clause in clauses:
                found = union(found, without(reads(clause.source), bound))
                bound.update(target_names(clause.target))
                for test in clause.tests:
                    found = union(found, without(reads(test), bound))
            return union(found, without(reads(element), bound))
    return {}


def reads_of(stmt: Stmt) -> dict[str, Variable]:
    return union(*map(reads, expressions(stmt)))


def live_before(
    body: Body,
    after: Live,
    breaks: Live = NOTHING,
    continues: Live = NOTHING,
    sends: Callable[[Send], Live] | None = None,
) -> dict[str, Variable]:
    """Variables live before a body, given those live after it and at the targets of `break` and `continue`."""
    live = dict(after)
    for stmt in reversed(body):
        live = _before(stmt, live, breaks, continues, sends)
    return live


def _before(
    stmt: Stmt, after: Live, breaks: Live, continues: Live, sends: Callable[[Send], Live] | None
) -> dict[str, Variable]:
    def inner(body: Body, end: Live, brk: Live = breaks, cont: Live = continues) -> dict[str, Variable]:
        return live_before(body, end, brk, cont, sends)

    match stmt:
        case Assign(target):
            return union(without(after, target_names(target)), reads_of(stmt))
        case Access(target=target) | Gather(target=target):
            return union(without(after, [target] if target else []), reads_of(stmt))
        case Return() | Raise():
            return reads_of(stmt)
        case Break():
            return dict(breaks)
        case Continue():
            return dict(continues)
        case Send():
            return dict(sends(stmt)) if sends is not None else {}
        case If(test, then, orelse):
            return union(reads(test), inner(then, after), inner(orelse, after))
        case For(target, source, body, orelse):
            end = inner(orelse, after)
            head = dict(end)
            while True:
                again = union(end, without(inner(body, head, after, head), target_names(target)))
                if again == head:
                    return union(reads(source), head)
                head = again
        case While(test, body, orelse):
            endless = isinstance(test, Const) and bool(test.value)
            end = {} if endless else union(reads(test), inner(orelse, after))
            head = dict(end)
            while True:
                again = union(end, inner(body, head, after, head))
                if again == head:
                    return head
                head = again
        case Try(body, handlers, orelse, final):
            last = inner(final, after)
            caught = union(
                *(without(inner(h.body, last), [h.name] if h.name else []) for h in handlers), inner(final, NOTHING)
            )
            # A handler may start before any assignment of the body: what it reads is live at the start.
            return union(inner(body, union(inner(orelse, last), caught)), caught)
    return union(after, reads_of(stmt))


def assigned(body: Body) -> set[str]:
    """Every variable that a body may assign."""
    found: set[str] = set()
    for stmt in body:
        match stmt:
            case Assign(target):
                found.update(target_names(target))
            case Access(target=target) | Gather(target=target):
                found.update([target] if target else [])
            case If(_, then, orelse):
                found |= assigned(then) | assigned(orelse)
            case For(target, _, inner, orelse):
                found |= set(target_names(target)) | assigned(inner) | assigned(orelse)
            case While(_, inner, orelse):
                found |= assigned(inner) | assigned(orelse)
            case Try(inner, handlers, orelse, final):
                found |= assigned(inner) | assigned(orelse) | assigned(final)
                for handler in handlers:
                    found |= assigned(handler.body) | ({handler.name} if handler.name else set())
    return found
