"""Expressions of the graph as Python expressions, each with the place where the user wrote it."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from anabranch.graph.code import Apply, Comprehension, Config, Const, Expr, Lambda, Local, Target
from anabranch.graph.span import Span
from anabranch.kernels.checks import check
from anabranch.kernels.lines import Lines
from anabranch.kernels.names import Pool, identifier
from anabranch.lang import Program

Node = TypeVar("Node", bound=ast.expr | ast.stmt | ast.excepthandler)

BINARY: dict[str, type[ast.operator]] = {
    "+": ast.Add,
    "-": ast.Sub,
    "*": ast.Mult,
    "/": ast.Div,
    "//": ast.FloorDiv,
    "%": ast.Mod,
    "**": ast.Pow,
    "<<": ast.LShift,
    ">>": ast.RShift,
    "&": ast.BitAnd,
    "|": ast.BitOr,
    "^": ast.BitXor,
    "@": ast.MatMult,
}
UNARY: dict[str, type[ast.unaryop]] = {"neg": ast.USub, "pos": ast.UAdd, "invert": ast.Invert, "not": ast.Not}
COMPARE: dict[str, type[ast.cmpop]] = {
    "==": ast.Eq,
    "!=": ast.NotEq,
    "<": ast.Lt,
    "<=": ast.LtE,
    ">": ast.Gt,
    ">=": ast.GtE,
    "is": ast.Is,
    "is not": ast.IsNot,
    "in": ast.In,
    "not in": ast.NotIn,
}
_LITERALS = (int, float, str, bytes, bool, type(None))


@dataclass(frozen=True)
class Scope:
    """What the code of one function may refer to. `function` gives an emitted function of the graph by its name."""

    file: str
    pool: Pool
    lines: Lines
    program: Program
    function: Callable[[str], Callable[..., Any]]

    def at(self, span: Span, node: Node) -> Node:
        return self.lines.locate(node, self.file, span)

    def method(self, owner: ast.expr, name: str, span: Span) -> ast.expr:
        """The method of a call that stands at `span`: where its name stands, there the call fails."""
        if span.line != span.end_line:
            span = self.lines.source(span.file).method(span)
        return self.at(span, attribute(owner, name))

    def fixed(self, value: Any) -> ast.expr:
        """An object that never changes."""
        return load(self.pool.name(value))


def load(name: str) -> ast.Name:
    return ast.Name(id=name, ctx=ast.Load())


def store(target: Target) -> ast.expr:
    if isinstance(target, str):
        return ast.Name(id=identifier(target), ctx=ast.Store())
    return ast.Tuple(elts=[store(t) for t in target], ctx=ast.Store())


def call(function: ast.expr, args: Sequence[ast.expr], keywords: Sequence[tuple[str, ast.expr]] = ()) -> ast.Call:
    return ast.Call(func=function, args=list(args), keywords=[ast.keyword(arg=k, value=v) for k, v in keywords])


def attribute(owner: ast.expr, name: str) -> ast.Attribute:
    return ast.Attribute(value=owner, attr=name, ctx=ast.Load())


def item(owner: ast.expr, key: ast.expr) -> ast.Subscript:
    return ast.Subscript(value=owner, slice=key, ctx=ast.Load())


def tuple_of(elements: Sequence[ast.expr]) -> ast.expr:
    return ast.Tuple(elts=list(elements), ctx=ast.Load())


def expression(scope: Scope, expr: Expr) -> ast.expr:
    """The same value, evaluated in the same order."""
    match expr:
        case Const(value, _, span):
            return scope.at(span, ast.Constant(value) if _is_literal(value) else scope.fixed(value))
        case Local(name, _, span):
            return scope.at(span, load(identifier(name)))
        case Config(name, _, span):
            # Read-only; one that `__init__` did not set must fail when it is read.
            if hasattr(scope.program, name):
                return scope.at(span, scope.fixed(getattr(scope.program, name)))
            return scope.at(span, attribute(scope.fixed(scope.program), name))
        case Apply(_, _, _, span):
            if span.line != span.end_line:
                span = scope.lines.source(span.file).value(span)
            found = _apply(scope, expr, span)
            return found if hasattr(found, "lineno") else scope.at(span, found)
        case Lambda(params, body, _, span):
            args = [ast.arg(arg=identifier(p)) for p in params]
            return scope.at(span, ast.Lambda(args=parameters(args), body=expression(scope, body)))
        case Comprehension(span=span):
            return scope.at(span, _comprehension(scope, expr))


def parameters(args: list[ast.arg]) -> ast.arguments:
    return ast.arguments(posonlyargs=[], args=args, vararg=None, kwonlyargs=[], kw_defaults=[], kwarg=None, defaults=[])


def _is_literal(value: Any) -> bool:
    return type(value) in _LITERALS or (type(value) is tuple and all(map(_is_literal, value)))


def _named(scope: Scope, expr: Expr) -> ast.expr:
    """An operand that must not stand as a literal: Python warns of `5 is None` and of `"ab"(x)`."""
    if isinstance(expr, Const) and expr.value is not None:
        return scope.at(expr.span, scope.fixed(expr.value))
    return expression(scope, expr)


def _apply(scope: Scope, expr: Apply, span: Span) -> ast.expr:
    op = expr.op
    if op in ("is", "is not"):
        left, right = (_named(scope, a) for a in expr.args)
        return ast.Compare(left=left, ops=[COMPARE[op]()], comparators=[right])
    match op, expr.args:
        case (("function" | "procedure"), (Const(name), *given)):
            return call(scope.fixed(scope.function(name)), [expression(scope, a) for a in given])
        case "coerce", (value, Const(entry), Const(parameter)):
            checked = call(scope.fixed(check(entry, parameter)), [expression(scope, value)])
            return (
                checked
                if parameter is None
                else scope.at(scope.lines.source(span.file).call(span, entry.name), checked)
            )
        case "fstring", parts:
            return ast.JoinedStr(values=[_text(scope, p) for p in parts])
        case "format", _:
            return ast.JoinedStr(values=[_text(scope, expr)])
        case "call", (function, *given):
            return _call(scope, _named(scope, function), given, expr.keywords)
        case "local", (value,):
            return expression(scope, value)
    if op.startswith("method:"):
        method = scope.method(expression(scope, expr.args[0]), op[7:], span)
        return _call(scope, method, expr.args[1:], expr.keywords)
    return _operation(scope, op, [expression(scope, a) for a in expr.args])


def _call(scope: Scope, function: ast.expr, args: Sequence[Expr], keywords: tuple[str, ...]) -> ast.Call:
    values = [expression(scope, a) for a in args]
    split = len(values) - len(keywords)
    return call(function, values[:split], list(zip(keywords, values[split:], strict=True)))


def _operation(scope: Scope, op: str, args: list[ast.expr]) -> ast.expr:
    if op in BINARY:
        left, right = args
        return ast.BinOp(left=left, op=BINARY[op](), right=right)
    if op in UNARY:
        return ast.UnaryOp(op=UNARY[op](), operand=args[0])
    if op in COMPARE:
        return ast.Compare(left=args[0], ops=[COMPARE[op]()], comparators=args[1:])
    if op.startswith("compare:"):
        ops = [COMPARE[each]() for each in op[8:].split(",")]
        return ast.Compare(left=args[0], ops=ops, comparators=args[1:])
    if op.startswith("attr:"):
        return attribute(args[0], op[5:])
    match op:
        case "and" | "or":
            return ast.BoolOp(op=ast.And() if op == "and" else ast.Or(), values=args)
        case "if":
            return ast.IfExp(test=args[0], body=args[1], orelse=args[2])
        case "truth":
            return ast.UnaryOp(op=ast.Not(), operand=ast.UnaryOp(op=ast.Not(), operand=args[0]))
        case "[]":
            return item(*args)
        case "slice":
            step = None if isinstance(args[3], ast.Constant) and args[3].value is None else args[3]
            return item(args[0], ast.Slice(lower=args[1], upper=args[2], step=step))
        case "tuple":
            return tuple_of(args)
        case "list":
            return ast.List(elts=args, ctx=ast.Load())
        case "set":
            return ast.Set(elts=args) if args else call(scope.fixed(set), [])
        case "dict":
            return ast.Dict(keys=list(args[::2]), values=args[1::2])
        case "setitem" | "delitem":
            return call(scope.fixed(getattr(operator, op)), args)
    raise LookupError(f"no operation {op!r}: teach anabranch.kernels.expressions to emit it")


def _text(scope: Scope, part: Expr) -> ast.expr:
    """A part of a format string."""
    match part:
        case Const(str() as text):
            return ast.Constant(text)
        case Apply("format", (shown, Const(conversion), spec), _, span):
            kind = ord(conversion) if conversion else -1
            value = ast.FormattedValue(value=expression(scope, shown), conversion=kind, format_spec=_spec(scope, spec))
            return scope.at(span, value)
    return ast.FormattedValue(value=expression(scope, part), conversion=-1, format_spec=None)


def _spec(scope: Scope, spec: Expr) -> ast.expr | None:
    match spec:
        case Const(""):
            return None
        case Apply("fstring", parts):
            return ast.JoinedStr(values=[_text(scope, p) for p in parts])
    return ast.JoinedStr(values=[_text(scope, spec)])


def _comprehension(scope: Scope, expr: Comprehension) -> ast.expr:
    clauses = [
        ast.comprehension(
            target=store(c.target),
            iter=expression(scope, c.source),
            ifs=[expression(scope, test) for test in c.tests],
            is_async=0,
        )
        for c in expr.clauses
    ]
    match expr.kind, expr.element:
        case "dict", Apply("tuple", (key, value)):
            return ast.DictComp(key=expression(scope, key), value=expression(scope, value), generators=clauses)
        case "dict", element:
            pairs = ast.GeneratorExp(elt=expression(scope, element), generators=clauses)
            return call(scope.fixed(dict), [pairs])
        case "list", element:
            return ast.ListComp(elt=expression(scope, element), generators=clauses)
        case "set", element:
            return ast.SetComp(elt=expression(scope, element), generators=clauses)
    return ast.GeneratorExp(elt=expression(scope, expr.element), generators=clauses)
