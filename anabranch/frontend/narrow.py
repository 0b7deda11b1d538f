"""What a condition says about variables: `if x is None` tells the branches whether x is there."""

from __future__ import annotations

import ast
from dataclasses import replace

from anabranch.frontend.context import Context
from anabranch.frontend.scope import Env
from anabranch.lang.types import NONE, UNKNOWN, Optional, Type


def narrowed(cx: Context, env: Env | None, test: ast.expr, truth: bool) -> Env | None:
    """The environment after `test` was found to be `truth`.

    Of a test that is wrong nobody knows what it says: then any value may be there or not.
    """
    found = _narrowed(cx, env, test, truth)
    return without_optionals(found) if cx.unit.report.errors_in(cx.span(test)) else found


def without_optionals(env: Env | None) -> Env | None:
    """The environment where it is not known of any variable whether it is None."""
    if env is None:
        return None
    return {n: replace(v, type=UNKNOWN) if isinstance(v.type, Optional) else v for n, v in env.items()}


def _narrowed(cx: Context, env: Env | None, test: ast.expr, truth: bool) -> Env | None:
    if env is None:
        return None
    match test:
        case ast.UnaryOp(op=ast.Not()):
            return narrowed(cx, env, test.operand, not truth)
        case ast.BoolOp(op=ast.And()) if truth:
            return _all(cx, env, test.values, True)
        case ast.BoolOp(op=ast.Or()) if not truth:
            return _all(cx, env, test.values, False)
        case ast.Compare(left=ast.Name() as name, ops=[op], comparators=[ast.Constant(value=None)]):
            if isinstance(op, ast.Is | ast.Eq):
                return _set(cx, env, name, present=not truth)
            if isinstance(op, ast.IsNot | ast.NotEq):
                return _set(cx, env, name, present=truth)
        case ast.Compare(left=ast.Name() as name, ops=[ast.Eq()]) if truth:
            # x == y with y a plain value: x is there.
            other = test.comparators[0]
            return _set(cx, env, name, present=True) if _plain(cx, env, other) else dict(env)
        case ast.Name() if truth:
            return _set(cx, env, test, present=True)
    return dict(env)


def _plain(cx: Context, env: Env, node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return node.value is not None
    var = env.get(cx.name(node.id)) if isinstance(node, ast.Name) else None
    return var is not None and not isinstance(var.type, Optional) and var.type != NONE


def _all(cx: Context, env: Env, tests: list[ast.expr], truth: bool) -> Env | None:
    found: Env | None = env
    for test in tests:
        found = narrowed(cx, found, test, truth)
    return found


def _set(cx: Context, env: Env, name: ast.Name, present: bool) -> Env:
    key = cx.name(name.id)
    var = env.get(key)
    if var is None or not isinstance(var.type, Optional):
        return dict(env)
    kind: Type = var.type.of if present else NONE
    return {**env, key: replace(var, type=kind)}
