"""Comprehensions that reach state, as the loops that they are."""

from __future__ import annotations

import ast
import copy

from anabranch.frontend import statements
from anabranch.frontend.context import Context
from anabranch.graph.code import (
    Expr,
    Local,
)
from anabranch.lang.types import UNKNOWN, Type


def comprehension_loop(cx: Context, node: ast.ListComp | ast.SetComp | ast.DictComp) -> Expr:
    """`[self.t[k] for k in keys]` as the loop that it is."""
    number = cx.fresh("comp.") + "."
    out = f"{number}out"
    kind = {ast.ListComp: "list", ast.SetComp: "set", ast.DictComp: "dict"}[type(node)]
    start = {"list": ast.List(elts=[], ctx=ast.Load()), "dict": ast.Dict(keys=[], values=[])}.get(
        kind, ast.Call(func=ast.Name(id="set", ctx=ast.Load()), args=[], keywords=[])
    )
    result = ast.Name(id=out, ctx=ast.Load())
    inner: ast.stmt
    if isinstance(node, ast.DictComp):
        # The key is evaluated before the value, other than in an assignment.
        pair = ast.Tuple(elts=[node.key, node.value], ctx=ast.Load())
        names = [ast.Name(id=f"{number}{part}", ctx=ast.Store()) for part in ("key", "value")]
        unpack = ast.Assign(targets=[ast.Tuple(elts=[*names], ctx=ast.Store())], value=pair, type_comment=None)
        target = ast.Subscript(value=result, slice=ast.Name(id=f"{number}key", ctx=ast.Load()), ctx=ast.Store())
        store = ast.Assign(targets=[target], value=ast.Name(id=f"{number}value", ctx=ast.Load()), type_comment=None)
        inner = ast.If(test=ast.Constant(True), body=[unpack, store], orelse=[])
    else:
        method = ast.Attribute(value=result, attr="append" if kind == "list" else "add", ctx=ast.Load())
        assert not isinstance(node, ast.DictComp)
        inner = ast.Expr(value=ast.Call(func=method, args=[node.elt], keywords=[]))
    for generator in reversed(node.generators):
        for test in reversed(generator.ifs):
            inner = ast.If(test=test, body=[inner], orelse=[])
        inner = ast.For(target=generator.target, iter=generator.iter, body=[inner], orelse=[], type_comment=None)
    first = ast.Assign(targets=[ast.Name(id=out, ctx=ast.Store())], value=start, type_comment=None)
    renamed = _Rename({n.id for g in node.generators for n in ast.walk(g.target) if isinstance(n, ast.Name)}, number)
    loop = renamed.visit(copy.deepcopy(inner))
    loop.iter = node.generators[0].iter  # evaluated outside, where the comprehension's names mean nothing yet
    stmts = [located(first, node), located(loop, node)]
    frame = cx.frame
    own = {out, f"{number}key", f"{number}value", *(number + n for n in renamed.names)}
    cx.frame = frame.binding(own)
    statements.lower_body(cx, stmts)
    cx.frame = frame
    var = (cx.env or {}).get(cx.name(out))
    found: Type = UNKNOWN if var is None else var.type
    return Local(cx.name(out), found, cx.span(node), var is not None and var.multi)


class _Rename(ast.NodeTransformer):
    """The variables of a comprehension are its own."""

    def __init__(self, names: set[str], prefix: str) -> None:
        self.names, self.prefix = names, prefix

    def visit_Lambda(self, node: ast.Lambda) -> ast.Lambda:
        own = {a.arg for a in ast.walk(node.args) if isinstance(a, ast.arg)}
        inner = _Rename(self.names - own, self.prefix)
        return ast.copy_location(ast.Lambda(args=node.args, body=inner.visit(node.body)), node)

    def visit_Name(self, node: ast.Name) -> ast.Name:
        if node.id in self.names:
            return ast.copy_location(ast.Name(id=self.prefix + node.id, ctx=node.ctx), node)
        return node


def located(node: ast.stmt, where: ast.AST) -> ast.stmt:
    for inner in ast.walk(node):
        if not hasattr(inner, "lineno"):
            ast.copy_location(inner, where)
    return ast.fix_missing_locations(node)
