"""`try`: a handler may start after any statement of the body."""

from __future__ import annotations

import ast

from anabranch.frontend import resolve, statements
from anabranch.frontend.cells import escapes
from anabranch.frontend.context import Context
from anabranch.frontend.scope import Var, join_envs, join_vars
from anabranch.frontend.unit import MISSING
from anabranch.graph.code import (
    Handler,
    Return,
    Try,
    walk,
)
from anabranch.lang.types import Fault


def lower_try(cx: Context, node: ast.Try) -> None:
    outer, cx.in_try = cx.in_try, True
    before = dict(cx.env or {})
    with cx.watching() as assigned, cx.writing() as out:
        statements.lower_body(cx, node.body)
        body = tuple(out)
    after = dict(cx.env) if cx.env is not None else None
    with cx.writing() as out:
        statements.lower_body(cx, node.orelse)
        orelse = tuple(out)
    end = cx.env
    # A handler may start after any statement of the body: with what held before, or with anything it assigned.
    start = join_envs(before, after) or {}
    start |= {name: join_vars(name, start.get(name), var) for name, var in assigned.items()}
    handlers = []
    for each in node.handlers:
        cx.env = dict(start)
        classes = _handled(cx, each)
        name = cx.name(each.name) if each.name else None
        if name is not None:
            cx.set(name, Var(Fault("Exception")))
        inside, cx.in_handler = cx.in_handler, True
        with cx.writing() as out:
            statements.lower_body(cx, each.body)
            handlers.append(Handler(classes, name, tuple(out)))
        cx.in_handler = inside
        if cx.env is not None and name is not None:
            cx.env.pop(name, None)
        end = join_envs(end, cx.env)
    cx.env = join_envs(start, end)
    with cx.watching() as finally_, cx.writing() as out:
        statements.lower_body(cx, node.finalbody)
        final = tuple(out)
    if any(isinstance(s, Return) for s in walk(final)) or any(escapes(final)):
        cx.error(node, "AB501", "return, break or continue inside finally", "leave after the try statement")
    cx.env = None if end is None or cx.env is None else {**end, **{n: cx.env[n] for n in finally_ if n in cx.env}}
    cx.in_try = outer
    cx.out.append(Try(body, tuple(handlers), orelse, final, cx.span(node)))


def _handled(cx: Context, handler: ast.ExceptHandler) -> tuple[type[BaseException], ...]:
    if handler.type is None:
        cx.error(handler, "AB501", "a bare except hides every mistake", "name the exceptions: except ValueError:")
        return (Exception,)
    nodes = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    found = []
    for node in nodes:
        value = resolve.static(cx, node)
        if value is MISSING or not resolve.is_exception(value):
            cx.error(node, "AB206", f"'{cx.text(node)}' is no exception class", "name an exception class")
        else:
            found.append(value)
    return tuple(found)
