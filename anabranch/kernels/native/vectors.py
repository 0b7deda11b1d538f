"""Operators and methods of dense vectors, written as calls of `dense`."""

from __future__ import annotations

from collections.abc import Sequence

from anabranch.kernels.native.dense import ADD, DIVIDE, MULTIPLY, SUBTRACT, TURNED
from anabranch.kernels.native.layout import NotInKernels
from anabranch.kernels.native.registers import Value, convert
from anabranch.kernels.native.scope import Scope
from anabranch.lang.types import DENSE_VECTOR, FLOAT, INT, Dense, List

_CODES = {"+": ADD, "-": SUBTRACT, "*": MULTIPLY, "/": DIVIDE}


def operator(scope: Scope, op: str, left: Value, right: Value) -> Value:
    if op not in _CODES:
        raise NotInKernels(f"{left.type} {op} {right.type} is not in the kernels' table")
    code = _CODES[op]
    if isinstance(left.type, Dense) and isinstance(right.type, Dense):
        return _made(scope, f"dense_both(c, {left.word}, {right.word}, {code})")
    if isinstance(right.type, Dense):  # a float on the left
        if op == "/":
            raise NotInKernels(f"{left.type} / {right.type} is not in the kernels' table")
        left, right, code = right, left, TURNED if op == "-" else code
    return _made(scope, f"dense_each(c, {left.word}, {_float(right)}, {code})")


def negated(scope: Scope, value: Value) -> Value:
    return _made(scope, f"dense_negated(c, {value.word})")


def item(scope: Scope, receiver: Value, index: Value) -> Value:
    return Value(FLOAT, (f"load_float({_at(scope, receiver, index)})",))


def set_item(scope: Scope, receiver: Value, index: Value, value: Value) -> None:
    receiver = scope.write.name_words(receiver)
    stored = scope.out.fresh(_float(value))
    scope.out.line(f"own_items(c, {receiver.word}, 1)")
    scope.out.line(f"store_float({_at(scope, receiver, index)}, {stored})")


def method(scope: Scope, name: str, receiver: Value, args: Sequence[Value]) -> Value:
    head = receiver.word
    match name, args:
        case "dot", [other] if isinstance(other.type, Dense):
            return Value(FLOAT, (scope.out.fresh(f"dense_dot({head}, {other.word})"),))
        case (("sum" | "norm"), []):
            return Value(FLOAT, (scope.out.fresh(f"dense_{name}({head})"),))
        case "copy", []:
            return _made(scope, f"dense_copy(c, {head})")
        case "tolist", []:
            return Value(List(FLOAT), (scope.out.fresh(f"dense_copy(c, {head})"),))
    raise NotInKernels(f"{name} of DenseVector is not in the kernels' table")


def made_of(scope: Scope, source: Value) -> Value:
    """`DenseVector(source)`, which is a copy."""
    if isinstance(source.type, Dense) or source.type == List(FLOAT):
        return _made(scope, f"dense_copy(c, {source.word})")
    raise NotInKernels(f"a DenseVector of {source.type}")


def zeros(scope: Scope, size: Value) -> Value:
    if size.type != INT:
        raise NotInKernels(f"a DenseVector of as many zeros as a {size.type}")
    return _made(scope, f"dense_zeros(c, {size.word})")


def _made(scope: Scope, text: str) -> Value:
    return Value(DENSE_VECTOR, (scope.out.fresh(text),))


def _float(value: Value) -> str:
    if value.type not in (FLOAT, INT):
        raise NotInKernels(f"a {value.type} as an operand of a DenseVector")
    return convert(value, FLOAT).word


def _at(scope: Scope, receiver: Value, index: Value) -> str:
    if index.type != INT:
        raise NotInKernels(f"DenseVector[{index.type}]")
    return scope.out.fresh(f"dense_at({receiver.word}, {index.word})")
