"""One exit per helper: before a helper is inlined, its returns become assignments.

`return e` becomes `return = e` (no user can name a variable so) and what follows on that path is moved under a
condition. Where that condition is not the helper's own, a flag tells whether it has returned: `Leave` sets it, and
leaves the loop if it is in one; `Unless` runs its statements only if it is not set.
"""

from __future__ import annotations

import ast
from typing import TypeVar

RESULT, DONE = "return", "return.done"
Node = TypeVar("Node", bound=ast.AST)


class Leave(ast.Pass):
    """The helper has returned; nothing more of it runs."""

    in_loop: bool = False


class Unless(ast.Pass):
    """These statements run if the helper has not returned; if it has, the loop around is left."""

    in_loop: bool = False
    body: list[ast.stmt]


def single_exit(body: list[ast.stmt], end: ast.AST) -> list[ast.stmt]:
    """The same statements, with one exit at the end and the result in a variable."""
    none = _at(ast.Return(value=_at(ast.Constant(None), end)), end)
    found = _rewrite(body if _endless(body[-1]) or always_exits(body) else [*body, none], in_loop=False)
    return [_assign(DONE, _at(ast.Constant(False), end), end), *found] if flagged(found) else found


def flagged(stmts: list[ast.stmt]) -> bool:
    """Does anything ask whether the helper has returned?"""
    return any(isinstance(n, Unless) for s in stmts for n in ast.walk(s))


def _rewrite(stmts: list[ast.stmt], in_loop: bool) -> list[ast.stmt]:
    found: list[ast.stmt] = []
    for i, stmt in enumerate(stmts):
        rest = stmts[i + 1 :]
        if isinstance(stmt, ast.Return):
            value = stmt.value or _at(ast.Constant(None), stmt)
            leave = _at(Leave(), stmt)
            leave.in_loop = in_loop
            return [*found, _assign(RESULT, value, stmt), leave]
        if not returns(stmt):
            found.append(stmt)
            if isinstance(stmt, ast.Raise | ast.Break | ast.Continue):
                return found
            continue
        if isinstance(stmt, ast.If) and not in_loop:
            if always_exits(stmt.body):
                found.append(_if(stmt, _rewrite(stmt.body, False), _rewrite([*stmt.orelse, *rest], False)))
                return found
            if stmt.orelse and always_exits(stmt.orelse):
                found.append(_if(stmt, _rewrite([*stmt.body, *rest], False), _rewrite(stmt.orelse, False)))
                return found
        found.append(_inside(stmt, in_loop))
        if in_loop:
            if isinstance(stmt, ast.For | ast.While):
                found.append(_unless(stmt, [], True))
            continue
        return [*found, _unless(stmt, _rewrite(rest, False), False)]
    return found


def _inside(stmt: ast.stmt, in_loop: bool) -> ast.stmt:
    """Rewrite the bodies of a compound statement."""
    match stmt:
        case ast.For():
            body, orelse = _rewrite(stmt.body, True), _rewrite(stmt.orelse, in_loop)
            return _at(ast.For(target=stmt.target, iter=stmt.iter, body=body, orelse=orelse, type_comment=None), stmt)
        case ast.While():
            return _at(
                ast.While(test=stmt.test, body=_rewrite(stmt.body, True), orelse=_rewrite(stmt.orelse, in_loop)), stmt
            )
        case ast.If():
            return _if(stmt, _rewrite(stmt.body, in_loop), _rewrite(stmt.orelse, in_loop))
        case ast.Match():
            cases = [
                ast.match_case(pattern=c.pattern, guard=c.guard, body=_rewrite(c.body, in_loop)) for c in stmt.cases
            ]
            return _at(ast.Match(subject=stmt.subject, cases=cases), stmt)
        case ast.Try():
            handlers = [
                _at(ast.ExceptHandler(type=h.type, name=h.name, body=_rewrite(h.body, in_loop)), h)
                for h in stmt.handlers
            ]
            body = _rewrite(stmt.body, in_loop)
            orelse = _rewrite(stmt.orelse, in_loop)
            if orelse and any(map(returns, stmt.body)):
                orelse = [_unless(stmt, orelse, False)]
            return _at(ast.Try(body=body, handlers=handlers, orelse=orelse, finalbody=stmt.finalbody), stmt)
    return stmt


def returns(stmt: ast.AST) -> bool:
    return any(isinstance(n, ast.Return) for n in ast.walk(stmt))


def _endless(stmt: ast.stmt) -> bool:
    """`while True` without break: its end is not reached."""
    if not (isinstance(stmt, ast.While) and isinstance(stmt.test, ast.Constant) and stmt.test.value):
        return False
    return not any(isinstance(n, ast.Break) for n in ast.walk(stmt))


def always_exits(body: list[ast.stmt]) -> bool:
    """Does no path fall out of the end?"""
    if not body:
        return False
    last = body[-1]
    if isinstance(last, ast.Return | ast.Raise):
        return True
    if isinstance(last, ast.If):
        return always_exits(last.body) and always_exits(last.orelse)
    if isinstance(last, ast.Match):
        final = last.cases[-1]
        whole = isinstance(final.pattern, ast.MatchAs) and final.pattern.pattern is None and final.guard is None
        return whole and all(always_exits(c.body) for c in last.cases)
    if isinstance(last, ast.Try):
        return always_exits(last.orelse or last.body) and all(always_exits(h.body) for h in last.handlers)
    if isinstance(last, ast.For | ast.While):
        breaks = any(isinstance(n, ast.Break) for s in last.body for n in ast.walk(s))
        return always_exits(last.orelse) and not breaks
    return False


def _at(node: Node, where: ast.AST) -> Node:
    return ast.fix_missing_locations(ast.copy_location(node, where))


def _assign(name: str, value: ast.expr, where: ast.AST) -> ast.stmt:
    return _at(ast.Assign(targets=[ast.Name(id=name, ctx=ast.Store())], value=value, type_comment=None), where)


def _if(stmt: ast.If, body: list[ast.stmt], orelse: list[ast.stmt]) -> ast.stmt:
    return _at(ast.If(test=stmt.test, body=body or [ast.Pass()], orelse=orelse), stmt)


def _unless(where: ast.stmt, body: list[ast.stmt], in_loop: bool) -> ast.stmt:
    found = _at(Unless(), where)
    found.body, found.in_loop = body, in_loop
    return found
