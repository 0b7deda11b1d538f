"""Types of operators, of indexing and of iteration. None means: these operands do not go together."""

from __future__ import annotations

from anabranch.lang.types import (
    BOOL,
    BYTES,
    DATE,
    DATETIME,
    FLOAT,
    INT,
    NEVER,
    NUMBER,
    STR,
    TIMEDELTA,
    UNKNOWN,
    UTC_DATETIME,
    Dense,
    Dict,
    Iter,
    List,
    Optional,
    Record,
    Set,
    Sparse,
    Tuple,
    Type,
    freeze,
    join,
    thaw,
)

NUMERIC = (INT, FLOAT, BOOL, NUMBER)
MOMENTS = (DATETIME, UTC_DATETIME, DATE)


def binary(op: str, left: Type, right: Type, exponent: object = None) -> Type | None:
    """The type of `left op right`; `exponent` is the right operand where it is a literal.

    >>> str(binary("/", INT, INT)), str(binary("+", INT, FLOAT)), binary("+", INT, STR)
    ('float', 'float', None)
    """
    if UNKNOWN in (left, right):
        return UNKNOWN
    if left in NUMERIC and right in NUMERIC:
        return _numeric(op, left, right, exponent)
    match op, left, right:
        case "+", _, _ if left == right and left in (STR, BYTES):
            return left
        case "*", _, _ if left in (STR, BYTES) and right in (INT, BOOL):
            return left
        case "*", _, _ if right in (STR, BYTES) and left in (INT, BOOL):
            return right
        case "%", _, _ if left == STR:
            return STR
        case "+", List(x), List(y):
            both = join(x, y)
            return None if both == UNKNOWN else List(both)
        case "*", List(x), _ if right in (INT, BOOL):
            return List(x)
        case "+", Tuple(xs), Tuple(ys):
            return Tuple(xs + ys)
        case "|", Dict(), Dict():
            both = join(left, right)
            return Dict(both.key, both.value) if isinstance(both, Dict) else None
        case _, Set(x), Set(y) if op in ("|", "&", "-", "^"):
            both = join(x, y)
            return None if both == UNKNOWN else Set(both)
    return _vectors(op, left, right) or _times(op, left, right)


def _numeric(op: str, left: Type, right: Type, exponent: object) -> Type | None:
    if op in ("&", "|", "^"):
        if left == right == BOOL:
            return BOOL
        return INT if FLOAT not in (left, right) and NUMBER not in (left, right) else None
    if op in ("<<", ">>"):
        return INT if FLOAT not in (left, right) and NUMBER not in (left, right) else None
    if op == "@":
        return None
    if op == "/":
        return FLOAT
    if FLOAT in (left, right):
        return FLOAT
    if NUMBER in (left, right):
        return NUMBER
    if op == "**" and not (isinstance(exponent, int) and exponent >= 0):
        return NUMBER
    return INT


def _vectors(op: str, left: Type, right: Type) -> Type | None:
    for kind in (Sparse, Dense):
        if isinstance(left, kind) and isinstance(right, kind):
            allowed = ("+", "-") if kind is Sparse else ("+", "-", "*", "/")
            return kind() if op in allowed else None
        if isinstance(left, kind) and right in NUMERIC:
            allowed = ("*", "/") if kind is Sparse else ("+", "-", "*", "/")
            return kind() if op in allowed else None
        if isinstance(right, kind) and left in NUMERIC:
            return kind() if op in (("*",) if kind is Sparse else ("+", "-", "*", "/")) else None
    return None


def _times(op: str, left: Type, right: Type) -> Type | None:
    if op == "-" and left == right and left in MOMENTS:
        return TIMEDELTA
    if left in MOMENTS and right == TIMEDELTA and op in ("+", "-"):
        return left
    if left == TIMEDELTA and right in MOMENTS and op == "+":
        return right
    if left == right == TIMEDELTA:
        return {"+": TIMEDELTA, "-": TIMEDELTA, "/": FLOAT, "//": INT, "%": TIMEDELTA}.get(op)
    if left == TIMEDELTA and right in NUMERIC and op in ("*", "/", "//"):
        return TIMEDELTA if op != "//" or right in (INT, BOOL) else None
    if right == TIMEDELTA and left in NUMERIC and op == "*":
        return TIMEDELTA
    return None


def unary(op: str, operand: Type) -> Type | None:
    if operand == UNKNOWN:
        return UNKNOWN
    if op == "not":
        return BOOL
    if operand in (INT, BOOL):
        return INT
    if operand in (FLOAT, NUMBER) and op in ("neg", "pos"):
        return operand
    if operand == TIMEDELTA and op in ("neg", "pos"):
        return TIMEDELTA
    if isinstance(operand, Sparse | Dense) and op == "neg":
        return type(operand)()
    return None


def comparable(op: str, left: Type, right: Type) -> bool:
    left, right = thaw(left), thaw(right)
    if UNKNOWN in (left, right) or op in ("is", "is not"):
        return True
    if op in ("in", "not in"):
        if right == STR:
            return left == STR
        if right == BYTES:
            return left in (BYTES, INT)
        element = iterate(right)
        return element is not None and (element == NEVER or join(element, left) != UNKNOWN)
    if op in ("==", "!="):
        return join(left, right) != UNKNOWN or (left in NUMERIC and right in NUMERIC)
    if left in NUMERIC and right in NUMERIC:
        return True
    if isinstance(left, Tuple) and isinstance(right, Tuple):
        return len(left.items) == len(right.items) and all(
            comparable(op, a, b) for a, b in zip(left.items, right.items, strict=True)
        )
    if isinstance(left, List) and isinstance(right, List):
        return NEVER in (left.of, right.of) or comparable(op, left.of, right.of)
    if isinstance(left, Set) and isinstance(right, Set):
        return True
    if isinstance(left, Record) and isinstance(right, Record):
        return left == right and issubclass(left.cls, tuple)
    return left == right and left in (STR, BYTES, DATE, DATETIME, UTC_DATETIME, TIMEDELTA)


def index(receiver: Type, key: Type, literal: object = None) -> Type | None:
    match receiver:
        case List(of, frozen) if key in (INT, BOOL):
            return freeze(of) if frozen else of
        case Dict(wanted, value, frozen) if join(wanted, key) != UNKNOWN:
            return freeze(value) if frozen else value
        case Tuple(items) if isinstance(literal, int) and -len(items) <= literal < len(items):
            return items[literal]
        case Tuple(items) if items and key == INT and literal is None and len(set(items)) == 1:
            return items[0]
        case Sparse() | Dense() if key in (INT, BOOL):
            return FLOAT
    if receiver == STR and key in (INT, BOOL):
        return STR
    if receiver == BYTES and key in (INT, BOOL):
        return INT
    if isinstance(receiver, Record) and issubclass(receiver.cls, tuple) and isinstance(literal, int):
        fields = receiver.fields
        return freeze(fields[literal][1]) if -len(fields) <= literal < len(fields) else None
    return UNKNOWN if receiver == UNKNOWN else None


def sliced(receiver: Type) -> Type | None:
    if isinstance(receiver, List):
        return List(receiver.of)
    return receiver if receiver in (STR, BYTES, UNKNOWN) else None


def iterate(source: Type) -> Type | None:
    """The type of the elements of a source of a loop."""
    match source:
        case List(of, frozen) | Set(of, frozen):
            return freeze(of) if frozen else of
        case Dict(key, _):
            return key
        case Iter(of):
            return of
        case Sparse():
            return INT
        case Dense():
            return FLOAT
        case Tuple(items):
            element: Type = NEVER
            for item in items:
                element = join(element, item)
            return None if element == UNKNOWN and UNKNOWN not in items else element
        case Optional():
            return None
    if source == STR:
        return STR
    if source == BYTES:
        return INT
    return UNKNOWN if source == UNKNOWN else None
