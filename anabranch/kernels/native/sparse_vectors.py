"""Operators and methods of sparse vectors, written as calls of `sparse`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from anabranch.graph.code import Expr
from anabranch.kernels.native.layout import NotInKernels
from anabranch.kernels.native.registers import Value, convert
from anabranch.kernels.native.scope import Scope
from anabranch.kernels.native.sparse import SPARSE_ADD, SPARSE_DIVIDE, SPARSE_MULTIPLY, SPARSE_SUBTRACT
from anabranch.lang.types import FLOAT, INT, VECTOR, Sparse

_BOTH = {"+": SPARSE_ADD, "-": SPARSE_SUBTRACT}
_EACH = {"*": SPARSE_MULTIPLY, "/": SPARSE_DIVIDE}


def made_of(scope: Scope, given: Sequence[Expr]) -> Value:
    """`Vector()`, or a copy of one: nothing changes vectors here, so that is the vector itself."""
    if not given:
        return Value(VECTOR, ("0",))
    source = scope.value(given[0])
    if not isinstance(source.type, Sparse):
        raise NotInKernels(f"a Vector of {source.type}")
    return Value(VECTOR, source.words)


def operator(scope: Scope, op: str, left: Value, right: Value) -> Value:
    if isinstance(left.type, Sparse) and isinstance(right.type, Sparse) and op in _BOTH:
        return _made(scope, f"sparse_both(c, {left.word}, {right.word}, {_BOTH[op]})")
    if isinstance(right.type, Sparse) and op == "*":
        left, right = right, left
    if isinstance(left.type, Sparse) and right.type in (INT, FLOAT) and op in _EACH:
        return _made(scope, f"sparse_each(c, {left.word}, {convert(right, FLOAT).word}, {_EACH[op]})")
    raise NotInKernels(f"{left.type} {op} {right.type} is not in the kernels' table")


def negated(scope: Scope, value: Value) -> Value:
    return _made(scope, f"sparse_each(c, {value.word}, -1.0, {SPARSE_MULTIPLY})")


def method(scope: Scope, name: str, receiver: Value, args: Sequence[Value]) -> Value:
    line = receiver.word
    match name, args:
        case "dot", [other] if isinstance(other.type, Sparse):
            return Value(FLOAT, (scope.out.fresh(f"sparse_dot({line}, {other.word})"),))
        case (("sum" | "norm"), []):
            return Value(FLOAT, (scope.out.fresh(f"sparse_{name}({line})"),))
        case "copy", []:
            return Value(VECTOR, receiver.words)
        case "get", [index] if index.type == INT:
            return Value(FLOAT, (f"get_cell({line}, {index.word})",))
    raise NotInKernels(f"{name} of Vector is not in the kernels' table")


def total(scope: Scope, source: Expr, first: Value, over: Callable[..., None]) -> Value:
    """`sum(vectors, first)`, from left to right."""
    if not isinstance(first.type, Sparse):
        raise NotInKernels(f"a sum of vectors from {first.type}")
    made = scope.out.fresh(first.word)
    over(scope, source, lambda v: scope.out.line(f"{made} = sparse_both(c, {made}, {v.word}, {SPARSE_ADD})"))
    return Value(VECTOR, (made,))


def _made(scope: Scope, text: str) -> Value:
    return Value(VECTOR, (scope.out.fresh(text),))
