"""Lists that a kernel makes and changes."""

from __future__ import annotations

from collections.abc import Sequence

from anabranch.kernels.native.comparisons import compare
from anabranch.kernels.native.layout import TIMES, NotInKernels
from anabranch.kernels.native.registers import Value, convert, fit, meet, width
from anabranch.kernels.native.scope import Scope
from anabranch.lang.types import BOOL, BYTES, FLOAT, INT, NEVER, NONE, STR, List, Tuple, Type, thaw

END = "(1 << 62)"  # the upper bound of a slice that has none
NOTHING = Value(NONE, ())


def item_type(value: Value) -> Type:
    assert isinstance(value.type, List)
    return value.type.of


def list_of(scope: Scope, values: Sequence[Value], t: Type) -> Value:
    t = thaw(t)
    assert isinstance(t, List)
    values = [scope.write.name_words(v) for v in values]
    made = Value(t, (scope.out.fresh(f"new_list(c, {len(values)}, {width(t.of)})"),))
    for value in values:
        append(scope, made, value)
    return made


def append(scope: Scope, receiver: Value, value: Value) -> None:
    of = item_type(receiver)
    value = scope.write.name_words(fit(value, of))
    scope.store_words(value, scope.out.fresh(f"new_item(c, {receiver.word}, {width(of)})"))


def joined(scope: Scope, left: Value, right: Value) -> Value:
    both = meet(left.type, right.type)
    assert isinstance(both, List)
    a, b = (scope.write.name_words(convert(v, both)).word for v in (left, right))
    return Value(both, (scope.out.fresh(f"joined_lists(c, {a}, {b}, {width(both.of)})"),))


def repeated(scope: Scope, receiver: Value, times: Value) -> Value:
    made = f"repeated_list(c, {receiver.word}, int({times.word}), {width(item_type(receiver))})"
    return Value(receiver.type, (scope.out.fresh(made),))


def item(scope: Scope, receiver: Value, index: Value) -> Value:
    of = item_type(receiver)
    return scope.load_words(of, address(scope, receiver, index))


def address(scope: Scope, receiver: Value, index: Value) -> str:
    if index.type not in (INT, BOOL):
        raise NotInKernels(f"{receiver.type}[{index.type}]")
    if item_type(receiver) == NEVER:
        raise NotInKernels("an item of what is empty")
    return scope.out.fresh(f"item_at({receiver.word}, int({index.word}), {width(item_type(receiver))})")


def sliced(scope: Scope, receiver: Value, low: str, high: str, step: str = "") -> Value:
    function, bounds = ("stepped_list", f"{low}, {high}, {step}") if step else ("sliced_list", f"{low}, {high}")
    made = f"{function}(c, {receiver.word}, {bounds}, {width(item_type(receiver))})"
    return Value(thaw(receiver.type), (scope.out.fresh(made),))


def copied(scope: Scope, receiver: Value) -> Value:
    return sliced(scope, receiver, "0", END)


def set_item(scope: Scope, receiver: Value, index: Value, value: Value) -> None:
    receiver, of = scope.write.name_words(receiver), item_type(receiver)
    value = scope.write.name_words(fit(value, of))
    scope.out.line(f"own_items(c, {receiver.word}, {width(of)})")
    scope.store_words(value, address(scope, receiver, index))


def delete_item(scope: Scope, receiver: Value, index: Value) -> None:
    if index.type not in (INT, BOOL):
        raise NotInKernels(f"del {receiver.type}[{index.type}]")
    scope.out.line(f"delete_item(c, {receiver.word}, int({index.word}), {width(item_type(receiver))})")


def method(scope: Scope, name: str, receiver: Value, args: Sequence[Value]) -> Value:
    """A method of a list; receiver and arguments have words that are names."""
    out, of = scope.out, item_type(receiver)
    head, wide = receiver.word, width(of)
    if of == NEVER and name not in ("copy", "clear", "extend", "reverse"):
        raise NotInKernels(f"{name} of a list of which nothing says what it holds")
    match name, args:
        case "append", [value]:
            append(scope, receiver, value)
            return NOTHING
        case "insert", [index, value] if index.type in (INT, BOOL):
            value = scope.write.name_words(fit(value, of))
            scope.store_words(value, out.fresh(f"insert_item(c, {head}, int({index.word}), {wide})"))
            return NOTHING
        case "extend", [other] if isinstance(other.type, List):
            other = convert(other, List(of))
            out.line(f"extend_list(c, {head}, {other.word}, {wide})")
            return NOTHING
        case "pop", ([] | [_]):
            index = args[0] if args else Value(INT, ("(-1)",))
            found = scope.write.fresh_words(item(scope, receiver, index))
            delete_item(scope, receiver, index)
            return found
        case "remove", [value]:
            at = position(scope, receiver, value)
            with out.block(f"if {at} < 0:"):
                out.line("raise Leave")
            delete_item(scope, receiver, Value(INT, (at,)))
            return NOTHING
        case "index", [value]:
            at = position(scope, receiver, value)
            with out.block(f"if {at} < 0:"):
                out.line("raise Leave")
            return Value(INT, (at,))
        case "count", [value]:
            return Value(INT, (counted(scope, receiver, value),))
        case "reverse", []:
            out.line(f"reverse_items(own_items(c, {head}, {wide}), load({head} + 8), {wide})")
            return NOTHING
        case "sort", []:
            sort(scope, receiver, "False")
            return NOTHING
        case "clear", []:
            out.line(f"clear_list({head})")
            return NOTHING
        case "copy", []:
            return copied(scope, receiver)
    raise NotInKernels(f"{name} of {receiver.type} is not in the kernels' table")


# -- searches --------------------------------------------------------------------------------------------------------


def position(scope: Scope, receiver: Value, value: Value) -> str:
    """The name of a variable with the index of the first item that is equal to a value, or -1."""
    out, of = scope.out, item_type(receiver)
    if of == NEVER:
        return "-1"
    found, at = out.fresh("-1"), out.fresh("0", "i")
    with out.block(f"while {at} < load({receiver.word} + 8):"):
        with out.block(f"if {_equal(scope, receiver, at, value)}:"):
            out.line(f"{found} = {at}")
            out.line("break")
        out.line(f"{at} += 1")
    return found


def counted(scope: Scope, receiver: Value, value: Value) -> str:
    out = scope.out
    count, at = out.fresh("0"), out.fresh("0", "i")
    with out.block(f"while {at} < load({receiver.word} + 8):"):
        with out.block(f"if {_equal(scope, receiver, at, value)}:"):
            out.line(f"{count} += 1")
        out.line(f"{at} += 1")
    return count


def _equal(scope: Scope, receiver: Value, at: str, value: Value) -> str:
    of = item_type(receiver)
    place = scope.out.fresh(f"load({receiver.word}) + {8 * width(of)} * {at}")
    return compare(scope, "==", scope.write.fresh_words(scope.load_words(of, place)), value, True)


def equal(scope: Scope, left: Value, right: Value) -> str:
    """The name of a variable that says whether two lists are equal; their words are names."""
    out, of, other = scope.out, item_type(left), item_type(right)
    same = out.fresh(f"load({left.word} + 8) == load({right.word} + 8)")
    if NEVER in (of, other):
        return same
    at = out.fresh("0", "i")
    with out.block(f"while {same} and {at} < load({left.word} + 8):"):
        places = [out.fresh(f"load({v.word}) + {8 * width(item_type(v))} * {at}") for v in (left, right)]
        a, b = (scope.write.fresh_words(scope.load_words(t, p)) for t, p in zip((of, other), places, strict=True))
        out.line(f"{same} = {compare(scope, '==', a, b, True)}")
        out.line(f"{at} += 1")
    return same


# -- order -------------------------------------------------------------------------------------------------------------


def sort(scope: Scope, receiver: Value, reverse: str) -> None:
    of = item_type(receiver)
    wide = width(of)
    head = receiver.word
    code = order_code(of)
    scope.out.line(f"sort_items(c, own_items(c, {head}, {wide}), load({head} + 8), {wide}, {code}, {reverse})")


def order_code(t: Type) -> int:
    """How items of a type are compared, as `sorting` has it."""
    code = 0
    for i, digit in enumerate(_digits(t)):
        if i >= 30:
            raise NotInKernels(f"the order of {t}")
        code |= digit << 2 * i
    return code


def _digits(t: Type) -> list[int]:
    if isinstance(t, Tuple):
        return [d for item_type in t.items for d in _digits(item_type)]
    if t in (INT, BOOL) or t in TIMES:
        return [1]
    if t == FLOAT:
        return [2]
    if t in (STR, BYTES):
        return [3]
    raise NotInKernels(f"the order of {t}")
