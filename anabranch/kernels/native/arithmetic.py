"""Operators on numbers, by their types."""

from __future__ import annotations

from anabranch.graph.code import Const, Expr
from anabranch.kernels.native.layout import NotInKernels
from anabranch.kernels.native.registers import Value, convert
from anabranch.kernels.native.source import Source
from anabranch.lang.types import BOOL, FLOAT, INT, NUMBER


def as_int(value: Value) -> str:
    return value.word if value.type == INT else f"int({value.word})"


def as_float(value: Value) -> str:
    if value.type == NUMBER:
        return value.words[1]
    return value.word if value.type == FLOAT else f"float({value.word})"


def float_of(value: Value) -> Value:
    """For what gives the same for the int 0 and for 0.0."""
    return convert(value, FLOAT) if value.type == NUMBER else value


def settled(out: Source, value: Value) -> Value:
    """For what does not: the int 0 leaves the kernel."""
    if value.type == NUMBER:
        with out.block(f"if {value.words[0]}:"):
            out.line("raise Leave")
    return float_of(value)


_INTS = {
    "+": "add({}, {})",
    "-": "subtract({}, {})",
    "*": "multiply({}, {})",
    "//": "floor_divide({}, {})",
    "%": "modulo({}, {})",
    "&": "({} & {})",
    "|": "({} | {})",
    "^": "({} ^ {})",
    "<<": "shift_left({}, {})",
    ">>": "shift_right_int({}, {})",
}
_FLOATS = {
    "+": "({} + {})",
    "-": "({} - {})",
    "*": "({} * {})",
    "/": "float_divide({}, {})",
    "//": "float_floor_divide({}, {})",
    "%": "float_modulo({}, {})",
    "**": "float_power({}, {})",
}
BINARY = frozenset({*_INTS, *_FLOATS, "@"})


def numeric(op: str, left: Value, right: Value, exponent: Expr) -> Value:
    if FLOAT in (left.type, right.type):
        if op in _FLOATS:
            return Value(FLOAT, (_FLOATS[op].format(as_float(left), as_float(right)),))
    elif op == "/":
        return Value(FLOAT, (f"true_divide({as_int(left)}, {as_int(right)})",))
    elif op == "**":
        if isinstance(exponent, Const) and isinstance(exponent.value, int) and exponent.value >= 0:
            return Value(INT, (f"int_power({as_int(left)}, {as_int(right)})",))
        raise NotInKernels("an int to the power of an int that may be negative")
    elif op in _INTS:
        if left.type == right.type == BOOL and op in "&|^":
            return Value(BOOL, (_INTS[op].format(left.word, right.word),))
        return Value(INT, (_INTS[op].format(as_int(left), as_int(right)),))
    raise NotInKernels(f"{left.type} {op} {right.type} is not in the kernels' table")


def unary(op: str, operand: Value) -> Value:
    if operand.type == FLOAT and op != "invert":
        return Value(FLOAT, (f"(-{operand.word})" if op == "neg" else operand.word,))
    if operand.type in (INT, BOOL):
        word = as_int(operand)
        return Value(INT, ({"neg": f"negate({word})", "pos": word, "invert": f"(~{word})"}[op],))
    raise NotInKernels(f"{op} of {operand.type} is not in the kernels' table")
