"""Comparisons and truth of values, as CPython has them.

Two tuples or records that hold floats are compared by Python where a NaN is among them: there CPython asks whether two
objects are one, which no kernel knows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from anabranch.kernels.native.arithmetic import as_float, float_of
from anabranch.kernels.native.layout import TEXT, TIMES, NotInKernels
from anabranch.kernels.native.registers import Value, has_lists, is_number, items_of
from anabranch.kernels.native.source import Source
from anabranch.lang.types import (
    BOOL,
    BYTES,
    FLOAT,
    INT,
    NONE,
    NUMBER,
    TIMEDELTA,
    Dense,
    Dict,
    List,
    Optional,
    Record,
    Set,
    Sparse,
    Tuple,
)

if TYPE_CHECKING:
    from anabranch.kernels.native.scope import Scope

_MIXED = {  # int and float: exact, whatever their size
    "==": "int_float_equal({a}, {x})",
    "!=": "(not int_float_equal({a}, {x}))",
    "<": "int_float_less({a}, {x})",
    "<=": "int_float_less_equal({a}, {x})",
    ">": "float_int_less({x}, {a})",
    ">=": "float_int_less_equal({x}, {a})",
}
_TURNED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def truth(out: Source, value: Value) -> str:
    match value.type:
        case Optional(of):
            words = tuple(out.let(w) for w in value.words)
            inner = truth(out, Value(of, words[1:]))
            return f"({words[0]} and {inner})"
        case Tuple(items):
            return str(bool(items))
        case List() | Dense():
            return f"(load({value.word} + 8) != 0)"
        case Dict() | Set():
            return f"(load({value.word} + 24) != 0)"
        case Sparse():
            return f"(line_count({value.word}) != 0)"
        case Record(cls, fields) if issubclass(cls, tuple):
            return str(bool(fields))
        case Record():
            return "True"
    if value.type == BOOL:
        return value.word
    if value.type in (INT, TIMEDELTA):
        return f"({value.word} != 0)"
    if value.type in TIMES:
        return "True"
    if value.type in (FLOAT, NUMBER):
        return f"({as_float(value)} != 0.0)"
    if value.type in TEXT:
        return f"({value.words[1]} != 0)"
    if value.type == NONE:
        return "False"
    raise NotInKernels(f"the truth of {value.type}")


def compare(out: Source | Scope, op: str, left: Value, right: Value, inside: bool = False) -> str:
    """`left op right`, of values whose words may be written more than once; `inside` a tuple.

    Lists and sets are compared by statements, which only a scope can write.
    """
    left, right = float_of(left), float_of(right)
    if is_number(left.type) and is_number(right.type):
        return _numbers(op, left, right, inside)
    if left.type in TIMES and left.type == right.type:
        return f"({left.word} {op} {right.word})"
    if left.type in TEXT and left.type == right.type:
        a, b = ", ".join(left.words), ", ".join(right.words)
        if op in ("==", "!="):
            same = f"text_equal({a}, {b})"
            return same if op == "==" else f"(not {same})"
        return f"(text_compare({a}, {b}) {op} 0)"
    if op in ("==", "!="):
        same = _equal(out, left, right, inside)
        return same if op == "==" else f"(not {same})"
    if isinstance(left.type, Tuple) and isinstance(right.type, Tuple):
        return _ordered(out, op, left, right)
    if isinstance(left.type, Set) and isinstance(right.type, Set) and op in ("<=", ">="):
        return _sets(out, "issubset" if op == "<=" else "issuperset", left, right)
    raise NotInKernels(f"{left.type} {op} {right.type} is not in the kernels' table")


def _numbers(op: str, left: Value, right: Value, inside: bool) -> str:
    a, b = left.word, right.word
    if left.type == FLOAT and right.type == FLOAT:
        return f"same_number({a}, {b})" if inside and op == "==" else f"({a} {op} {b})"
    if left.type == FLOAT or right.type == FLOAT:
        a, b = (f"{w}.0" if v.type == INT and w.isdigit() and len(w) < 16 else w for w, v in ((a, left), (b, right)))
        if "." in a or "." in b:  # a small literal is as good as the float
            return f"({a} {op} {b})"
    if left.type == FLOAT:
        return _MIXED[_TURNED[op]].format(a=f"int({b})" if right.type == BOOL else b, x=a)
    if right.type == FLOAT:
        return _MIXED[op].format(a=f"int({a})" if left.type == BOOL else a, x=b)
    if left.type != right.type:
        a, b = (f"int({w})" if v.type == BOOL else w for w, v in ((a, left), (b, right)))
    return f"({a} {op} {b})"


def _equal(out: Source | Scope, left: Value, right: Value, inside: bool) -> str:
    if left.type == NONE or right.type == NONE:
        other = right if left.type == NONE else left
        if other.type == NONE:
            return "True"
        return f"(not {other.words[0]})" if isinstance(other.type, Optional) else "False"
    if isinstance(left.type, Optional) or isinstance(right.type, Optional):
        if has_lists(left.type) or has_lists(right.type):
            raise NotInKernels(f"{left.type} == {right.type} is not in the kernels' table")
        a, inner_a = _opened(left)
        b, inner_b = _opened(right)
        return f"(({a} == {b}) and ((not {a}) or {compare(out, '==', inner_a, inner_b, inside)}))"
    match left.type, right.type:
        case (Tuple(), Tuple()) | (Record(), Record()):
            if isinstance(left.type, Record) and left.type != right.type:
                raise NotInKernels(f"{left.type} == {right.type}")
            pairs = list(zip(items_of(left), items_of(right), strict=False))
            if len(items_of(left)) != len(items_of(right)):
                return "False"
            return f"({' and '.join(compare(out, '==', a, b, True) for a, b in pairs) or 'True'})"
        case List(), List() if not isinstance(out, Source):
            from anabranch.kernels.native.containers import equal  # it compares items

            return equal(out, left, right)
        case Set(), Set():
            return _sets(out, "equal", left, right)
        case Dense(), Dense():
            return f"{'dense_same' if inside else 'dense_equal'}({left.word}, {right.word})"
    raise NotInKernels(f"{left.type} == {right.type} is not in the kernels' table")


def _sets(out: Source | Scope, name: str, left: Value, right: Value) -> str:
    from anabranch.kernels.native.mappings import relation  # it writes into a scope

    if isinstance(out, Source):
        raise NotInKernels(f"{left.type} as a key")
    return relation(out, name, left, right)


def _opened(value: Value) -> tuple[str, Value]:
    if isinstance(value.type, Optional):
        return value.words[0], Value(value.type.of, value.words[1:])
    return "True", value


def _ordered(out: Source | Scope, op: str, left: Value, right: Value) -> str:
    """Tuples of equal length: the first pair that is not equal decides."""
    pairs = list(zip(items_of(left), items_of(right), strict=True))
    found = str(op in ("<=", ">="))
    for a, b in reversed(pairs):
        equal = compare(out, "==", a, b, True)
        found = f"({found} if {equal} else {compare(out, op, a, b)})"
    return found


def is_in(scope: Scope, item: Value, container: Value) -> str:
    """`item in container`, of values whose words are names."""
    from anabranch.kernels.native import containers, mappings  # they compare items

    if container.type in TEXT and container.type == item.type:
        return f"contains({', '.join(container.words)}, {', '.join(item.words)})"
    if container.type == BYTES:
        raise NotInKernels(f"{item.type} in bytes")
    match container.type:
        case Tuple():
            found = [compare(scope, "==", item, other, True) for other in items_of(container)]
            return f"({' or '.join(found) or 'False'})"
        case List():
            return f"({containers.position(scope, container, item)} >= 0)"
        case Dict() | Set():
            return mappings.contains(scope, container, item)
        case Sparse() if item.type == INT:
            return f"(get_cell({container.word}, {item.word}) != 0.0)"
    raise NotInKernels(f"{item.type} in {container.type}")
