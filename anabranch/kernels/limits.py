"""Emitted Python that asks an allowance: at each turn of a loop, and where a value may become large.

Laws: while the allowance lasts, limited code does what the code does. It ends, whatever state it runs on, unless it
calls foreign code in C that does not end.
"""

from __future__ import annotations

import ast
import math
import types
from collections.abc import Callable, Mapping
from typing import Any

from anabranch.graph.code import Apply, Const, Expr, expressions, operands, walk
from anabranch.graph.nodes import Graph
from anabranch.kernels import allowance as sizes
from anabranch.kernels.allowance import Allowance
from anabranch.kernels.expressions import call
from anabranch.lang import DenseMatrix, DenseVector
from anabranch.lang.marks import is_builtin

_COUNTED = (math.factorial, math.comb, math.perm, bytes, DenseVector.zeros, DenseMatrix.zeros)
_COUNTED_METHODS = frozenset("ljust rjust center zfill expandtabs format".split())
_OPERATORS: Mapping[type[ast.operator], Callable[..., Any]] = types.MappingProxyType(
    {ast.Mult: sizes.times, ast.Pow: sizes.power, ast.LShift: sizes.shift}
)
_OWN_MODULES = frozenset(("builtins", "math", "bisect", "statistics", "datetime"))


def foreign(graph: Graph) -> bool:
    """Does a program run Python code that is not emitted: pure functions, methods of own state types?"""
    bodies = [entry.body for entry in graph.entries] + [function.body for function in graph.functions]
    used = (e for body in bodies for stmt in walk(body) for e in expressions(stmt))
    return any(not is_builtin(s.cls) for s in graph.states) or any(map(_calls_foreign, used))


def _calls_foreign(expr: Expr) -> bool:
    match expr:
        case Apply("call", (Const(value), *_)) if not isinstance(value, type):
            if str(getattr(value, "__module__", None)) not in _OWN_MODULES:
                return True
    return any(map(_calls_foreign, operands(expr)))


class Limits(ast.NodeTransformer):
    """Puts the questions into a function; `names` are the objects that its names stand for."""

    def __init__(self, allowance: Allowance, fixed: Callable[[Any], ast.expr], names: Mapping[str, Any]) -> None:
        self._turn, self._items = allowance.turn, allowance.items
        self._fixed, self._names = fixed, names

    def visit_While(self, node: ast.While) -> Any:
        return self._counted(node)

    def visit_For(self, node: ast.For) -> Any:
        return self._counted(node)

    def _counted(self, node: Any) -> Any:
        self.generic_visit(node)
        node.body.insert(0, ast.copy_location(ast.Expr(value=self._ask(node, self._turn, [])), node))
        return node

    def visit_comprehension(self, node: ast.comprehension) -> ast.comprehension:
        self.generic_visit(node)
        node.iter = self._ask(node.iter, self._items, [node.iter])
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.op, ast.Add):
            return self._ask(node, sizes.sized, [node])
        operator = _OPERATORS.get(type(node.op))
        return node if operator is None else self._ask(node, operator, [node.left, node.right])

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.expr:
        self.generic_visit(node)
        return self._ask(node, sizes.sized, [node])

    def visit_FormattedValue(self, node: ast.FormattedValue) -> ast.FormattedValue:
        node.value = self.visit(node.value)
        spec = node.format_spec
        if spec is None or not isinstance(spec, ast.JoinedStr) or all(isinstance(v, ast.Constant) for v in spec.values):
            return node
        value = node.value if node.conversion == -1 else self._ask(node, _CONVERSIONS[node.conversion], [node.value])
        shown = self._ask(node, sizes.shown, [value, self.visit(spec)])
        return ast.copy_location(ast.FormattedValue(value=shown, conversion=-1, format_spec=None), node)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        match node.func:
            case ast.Name(id=name):
                function = self._names.get(name)
                if function is range:
                    node.func = self._put(node, sizes.bounded_range)
                elif function is pow and len(node.args) == 2:
                    node.func = self._put(node, sizes.power)
                elif function in _COUNTED:
                    node.func = self._put(node, sizes.counted(function))
            case ast.Attribute(value=text, attr="replace") if not node.keywords:
                return self._ask(node, sizes.replaced, [text, *node.args])
            case ast.Attribute(attr=name) if name in _COUNTED_METHODS:
                node.func = self._ask(node, sizes.counted, [node.func])
        return self._ask(node, sizes.sized, [node])

    def _put(self, node: ast.expr, value: Any) -> ast.expr:
        return ast.copy_location(self._fixed(value), node)

    def _ask(self, node: Any, function: Any, args: list[ast.expr]) -> ast.Call:
        """A call of ours, on the line of what it stands for."""
        return ast.fix_missing_locations(ast.copy_location(call(self._fixed(function), args), node))


_CONVERSIONS = {ord("s"): str, ord("r"): repr, ord("a"): ascii}
