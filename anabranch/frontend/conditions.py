"""Conditions: `and`, `or`, comparisons and conditional expressions. Where a part that may not run reaches state, they
become branches."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from anabranch.frontend import accesses, expressions, statements
from anabranch.frontend.context import Context, is_multi
from anabranch.frontend.narrow import narrowed
from anabranch.frontend.operators import comparable
from anabranch.frontend.scope import Var
from anabranch.graph.code import Apply, Expr, If, Local
from anabranch.lang.types import (
    BOOL,
    NEVER,
    NONE,
    UNKNOWN,
    Optional,
    Type,
    join,
)

COMPARE: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.In: "in",
    ast.NotIn: "not in",
    ast.Is: "is",
    ast.IsNot: "is not",
}


def lower_truth(cx: Context, node: ast.expr) -> Expr:
    """An expression of which only its truth matters: the operands of 'and' may have different types."""
    return lower_bool_op(cx, node, truth=True) if isinstance(node, ast.BoolOp) else expressions.lower(cx, node)


def _as_truth(expr: Expr) -> Expr:
    return expr if expr.type in (BOOL, UNKNOWN) else Apply("truth", (expr,), BOOL, expr.span)


def lower_bool_op(cx: Context, node: ast.BoolOp, truth: bool = False) -> Expr:
    op = "and" if isinstance(node.op, ast.And) else "or"
    if any(expressions.emits(cx, value) for value in node.values[1:]):
        return _bool_by_branches(cx, node, op, truth)

    parts: list[Expr] = []
    kept = cx.env
    for value in node.values:
        parts.append(_as_truth(lower_truth(cx, value)) if truth else expressions.lower(cx, value))
        cx.env = narrowed(cx, cx.env, value, op == "and")
    cx.env = kept
    found = _bool_type(op, [p.type for p in parts])
    if found is None:
        return cx.error(node, "AB205", f"'{op}' gives values of different types", "use if and else")
    return Apply(op, tuple(parts), found, cx.span(node))


def _bool_type(op: str, parts: Sequence[Type]) -> Type | None:
    found: Type = NEVER
    for i, part in enumerate(parts):
        last = i == len(parts) - 1
        if op == "or" and not last and isinstance(part, Optional):
            part = part.of
        found = join(found, part)
    if found == UNKNOWN and UNKNOWN not in parts:
        return None
    return found


def _bool_by_branches(cx: Context, node: ast.BoolOp, op: str, truth: bool) -> Expr:
    """`a and self.t[k]`: the access must not happen when `a` decides."""

    name = cx.fresh("bool.")

    def one(value: ast.expr) -> Expr:
        return _as_truth(lower_truth(cx, value)) if truth else expressions.lower(cx, value)

    first = one(node.values[0])
    expressions.assign(cx, name, first)
    types = [first.type]
    if is_multi(first):
        return cx.error(node, "AB401", "a multi-valued condition guards an access to state", "gather it first")

    def rest(i: int) -> None:
        test = Local(name, types[-1], cx.span(node.values[i - 1]))
        shown: Expr = test if op == "and" else Apply("not", (test,), BOOL, test.span)

        def more() -> None:
            cx.env = narrowed(cx, cx.env, node.values[i - 1], op == "and")
            value = one(node.values[i])
            types.append(value.type)
            expressions.assign(cx, name, value)
            if i + 1 < len(node.values):
                rest(i + 1)

        then, _ = statements.branch(cx, more, lambda: None, cx.depends_locally(test))
        cx.out.append(If(shown, then, (), cx.span(node)))

    rest(1)
    found = _bool_type(op, types)
    if found is None:
        return cx.error(node, "AB205", f"'{op}' gives values of different types", "use if and else")
    var = (cx.env or {}).get(name, Var(found))
    cx.set(name, Var(found, var.multi, var.local))
    return Local(name, found, cx.span(node), var.multi)


def lower_compare(cx: Context, node: ast.Compare) -> Expr:
    if len(node.ops) == 1 and isinstance(node.ops[0], ast.In | ast.NotIn):
        state = accesses.state_of(cx, node.comparators[0])
        if state is not None:
            found = accesses.lower_access(cx, node, *state, "__contains__", [node.left])
            return found if isinstance(node.ops[0], ast.In) else Apply("not", (found,), BOOL, cx.span(node))
    values = [node.left, *node.comparators]
    if any(expressions.emits(cx, v) for v in values[2:]):
        return _chain_by_branches(cx, node)
    operands = expressions.lower_all(cx, values)
    ops = [COMPARE[type(op)] for op in node.ops]
    for op, left, right in zip(ops, operands, operands[1:], strict=False):
        if op not in ("==", "!=", "is", "is not", "in", "not in"):
            for side in (left, right):
                if isinstance(side.type, Optional):
                    return expressions.maybe_none(cx, node, side)
        if op in ("in", "not in") and isinstance(right.type, Optional):
            return expressions.maybe_none(cx, node, right)
        if not comparable(op, left.type, right.type):
            return cx.error(
                node, "AB206", f"'{op}' does not go with {left.type} and {right.type}", "compare values of one type"
            )
        if op in ("is", "is not") and NONE not in (left.type, right.type) and UNKNOWN not in (left.type, right.type):
            return cx.error(node, "AB509", "'is' between values depends on how they are stored", "use == or !=")
    if len(ops) == 1:
        return Apply(ops[0], tuple(operands), BOOL, cx.span(node))
    return Apply("compare:" + ",".join(ops), tuple(operands), BOOL, cx.span(node))


def _chain_by_branches(cx: Context, node: ast.Compare) -> Expr:
    """`a < b < self.t[k]`: the access must not happen when the first comparison decides."""
    name = cx.fresh("chain.")
    middle = ast.copy_location(ast.Name(id=name, ctx=ast.Load()), node.comparators[0])
    left, held = expressions.lower_all(cx, [node.left, node.comparators[0]])
    other = cx.fresh("chain.")
    first = ast.copy_location(ast.Name(id=other, ctx=ast.Load()), node.left)
    frame, cx.frame = cx.frame, cx.frame.binding([name, other])
    expressions.assign(cx, cx.name(other), left)
    expressions.assign(cx, cx.name(name), held)
    one = ast.Compare(left=first, ops=node.ops[:1], comparators=[middle])
    rest = ast.Compare(left=middle, ops=node.ops[1:], comparators=node.comparators[1:])
    both = ast.BoolOp(op=ast.And(), values=[one, rest])
    found = expressions.lower(cx, ast.fix_missing_locations(ast.copy_location(both, node)))
    cx.frame = frame
    return found


def lower_if_exp(cx: Context, node: ast.IfExp) -> Expr:

    test = statements.condition(cx, node.test)
    if not expressions.emits(cx, node.body) and not expressions.emits(cx, node.orelse):
        kept = cx.env
        cx.env = narrowed(cx, kept, node.test, True)
        body = expressions.lower(cx, node.body)
        cx.env = narrowed(cx, kept, node.test, False)
        orelse = expressions.lower(cx, node.orelse)
        cx.env = kept
        found = join(body.type, orelse.type)
        if found == UNKNOWN and UNKNOWN not in (body.type, orelse.type):
            return cx.error(node, "AB206", f"the two sides are {body.type} and {orelse.type}", "give both one type")
        return Apply("if", (test, body, orelse), found, cx.span(node))
    name = cx.fresh("if.")
    types: list[Type] = []

    def side(value: ast.expr, truth: bool) -> None:
        cx.env = narrowed(cx, cx.env, node.test, truth)
        expr = expressions.lower(cx, value)
        types.append(expr.type)
        expressions.assign(cx, name, expr)

    then, orelse_body = statements.branch(
        cx, lambda: side(node.body, True), lambda: side(node.orelse, False), cx.depends_locally(test)
    )
    cx.out.append(If(test, then, orelse_body, cx.span(node)))
    found = join(types[0], types[1])
    if found == UNKNOWN and UNKNOWN not in types:
        return cx.error(node, "AB206", f"the two sides are {types[0]} and {types[1]}", "give both one type")
    var = (cx.env or {}).get(name, Var(found))
    if var.mixed:
        return cx.error(node, "AB407", "one side has one value per instance, the other a single value", "gather first")
    return Local(name, found, cx.span(node), var.multi)
