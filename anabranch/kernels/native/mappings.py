"""Dicts and sets that a kernel makes and changes."""

from __future__ import annotations

from collections.abc import Sequence

from anabranch.kernels.native.keys import hash_of
from anabranch.kernels.native.layout import NotInKernels, texts
from anabranch.kernels.native.registers import Value, convert, fit, items_of, key_words, meet, registers
from anabranch.kernels.native.scope import Scope
from anabranch.lang.types import BOOL, NEVER, NONE, Dict, List, Set, Tuple, Type, optional, thaw

NOTHING = Value(NONE, ())


def _key_type(t: Type) -> Type:
    assert isinstance(t, Dict | Set)
    return t.key if isinstance(t, Dict) else t.of


def size(t: Type) -> int:
    """Bytes of an entry."""
    value = len(registers(t.value)) if isinstance(t, Dict) else 0
    return 8 + 8 * key_words(_key_type(t)) + 8 * value


def _shape(t: Type) -> str:
    """What searches want to know: the size of an entry, the words of a key, which of them are text."""
    key = _key_type(t)
    return f"{size(t)}, {key_words(key)}, {texts(key)}"


def pair_of(pair: Value) -> tuple[Value, Value]:
    key, value = items_of(pair)
    return key, value


def new(scope: Scope, t: Type) -> Value:
    registers(t)
    return Value(thaw(t), (scope.out.fresh("new_dict(c)"),))


def entry_value(scope: Scope, t: Type, entry: str, what: str) -> Value:
    """Key, value or both of the entry at an address."""
    key = scope.load_words(_key_type(t), entry, 8)
    if what == "keys":
        return key
    assert isinstance(t, Dict)
    value = scope.load_words(t.value, entry, 8 + 8 * key_words(t.key))
    if what == "values":
        return value
    return Value(Tuple((key.type, value.type)), key.words + value.words)


def _ask(scope: Scope, receiver: Value, key: Value) -> tuple[str, str]:
    """The names of the hash of a key and of the address of its entry, which is 0 if there is none."""
    wanted = _key_type(receiver.type)
    if wanted == NEVER:
        raise NotInKernels("a key of what is empty")
    key = scope.write.name_words(fit(key, wanted))
    hashed = scope.out.fresh(hash_of(key))
    scope.store_words(key, receiver.word, 48)
    return hashed, scope.out.fresh(f"find_entry({receiver.word}, {hashed}, {_shape(receiver.type)})")


def contains(scope: Scope, receiver: Value, key: Value) -> str:
    if _key_type(receiver.type) == NEVER:
        return "False"
    return f"({_ask(scope, receiver, key)[1]} != 0)"


def item(scope: Scope, receiver: Value, key: Value) -> Value:
    """`d[key]`; leaves where it is missing."""
    entry = _found(scope, receiver, key)
    return scope.write.fresh_words(entry_value(scope, receiver.type, entry, "values"))


def _found(scope: Scope, receiver: Value, key: Value) -> str:
    _, entry = _ask(scope, receiver, key)
    with scope.out.block(f"if {entry} == 0:"):
        scope.out.line("raise Leave")
    return entry


def _new_if_missing(scope: Scope, receiver: Value, hashed: str, entry: str) -> None:
    shape = f"{size(receiver.type)}, {key_words(_key_type(receiver.type))}"
    scope.out.line(f"{entry} = new_entry(c, {receiver.word}, {hashed}, {shape})")


def put(scope: Scope, receiver: Value, key: Value, value: Value) -> None:
    """`d[key] = value`."""
    t = receiver.type
    assert isinstance(t, Dict)
    value = scope.write.name_words(fit(value, t.value))
    hashed, entry = _ask(scope, receiver, key)
    with scope.out.block(f"if {entry} == 0:"):
        _new_if_missing(scope, receiver, hashed, entry)
    scope.store_words(value, entry, 8 + 8 * key_words(t.key))


def add(scope: Scope, receiver: Value, key: Value) -> None:
    """`s.add(key)`."""
    hashed, entry = _ask(scope, receiver, key)
    with scope.out.block(f"if {entry} == 0:"):
        _new_if_missing(scope, receiver, hashed, entry)


def remove(scope: Scope, receiver: Value, key: Value) -> None:
    """`del d[key]`, `s.remove(key)`."""
    scope.out.line(f"drop_entry({receiver.word}, {_found(scope, receiver, key)})")


def length(receiver: Value) -> str:
    return f"load({receiver.word} + 24)"


def copied(scope: Scope, receiver: Value) -> Value:
    return Value(thaw(receiver.type), (scope.out.fresh(f"copied_dict(c, {receiver.word}, {size(receiver.type)})"),))


def _either(scope: Scope, receiver: Value, key: Value, default: Value, removes: bool) -> Value:
    """The value of a key, or another."""
    assert isinstance(receiver.type, Dict)
    t = meet(receiver.type.value, default.type)
    _, entry = _ask(scope, receiver, key)
    names = Value(t, tuple(scope.out.name("m") for _ in registers(t)))
    with scope.out.block(f"if {entry} != 0:"):
        found = scope.write.name_words(entry_value(scope, receiver.type, entry, "values"))
        _let(scope, names, convert(found, t))
        if removes:
            scope.out.line(f"drop_entry({receiver.word}, {entry})")
    with scope.out.block("else:"):
        _let(scope, names, convert(default, t))
    return names


def _let(scope: Scope, names: Value, value: Value) -> None:
    for name, word in zip(names.words, value.words, strict=True):
        scope.out.line(f"{name} = {word}")


def dict_method(scope: Scope, name: str, receiver: Value, args: Sequence[Value]) -> Value:
    """A method of a dict; receiver and arguments have words that are names."""
    t = receiver.type
    assert isinstance(t, Dict)
    if NEVER in (t.key, t.value) and name not in ("copy", "clear"):
        raise NotInKernels(f"{name} of a dict of which nothing says what it holds")
    match name, args:
        case "get", [key]:
            if optional(t.value) == t.value:
                return _either(scope, receiver, key, Value(NONE, ()), False)
            _, entry = _ask(scope, receiver, key)
            found = Value(optional(t.value), tuple(scope.out.name("m") for _ in registers(optional(t.value))))
            with scope.out.block(f"if {entry} != 0:"):
                _let(scope, found, convert(entry_value(scope, t, entry, "values"), found.type))
            with scope.out.block("else:"):
                _let(scope, found, convert(NOTHING, found.type))
            return found
        case "get", [key, default]:
            return _either(scope, receiver, key, default, False)
        case "pop", [key]:
            entry = _found(scope, receiver, key)
            value = scope.write.fresh_words(entry_value(scope, t, entry, "values"))
            scope.out.line(f"drop_entry({receiver.word}, {entry})")
            return value
        case "pop", [key, default]:
            return _either(scope, receiver, key, default, True)
        case "setdefault", [key, default]:
            default = scope.write.name_words(fit(default, t.value))
            hashed, entry = _ask(scope, receiver, key)
            with scope.out.block(f"if {entry} == 0:"):
                _new_if_missing(scope, receiver, hashed, entry)
                scope.store_words(default, entry, 8 + 8 * key_words(t.key))
            return scope.write.fresh_words(entry_value(scope, t, entry, "values"))
        case "update", [other] if isinstance(other.type, Dict):
            _update(scope, receiver, convert(other, thaw(t)))
            return NOTHING
        case "clear", []:
            scope.out.line(f"clear_dict({receiver.word})")
            return NOTHING
        case "copy", []:
            return copied(scope, receiver)
    raise NotInKernels(f"{name} of {t} is not in the kernels' table")


def _update(scope: Scope, receiver: Value, other: Value) -> None:
    scope.out.line(f"update_dict(c, {receiver.word}, {other.word}, {_shape(receiver.type)})")


def merged(scope: Scope, left: Value, right: Value) -> Value:
    """`a | b`."""
    t = meet(left.type, right.type)
    left, right = (scope.write.name_words(convert(v, t)) for v in (left, right))
    made = copied(scope, left)
    _update(scope, made, right)
    return made


def combined(scope: Scope, op: str, left: Value, right: Value) -> Value:
    """`a & b`, `a - b` or `a ^ b` of sets."""
    t = meet(left.type, right.type)
    left, right = (scope.write.name_words(convert(v, t)) for v in (left, right))
    if op == "|":
        return merged(scope, left, right)
    chosen = f"selected_keys(c, {left.word}, {right.word}, {_shape(t)}, {op == '&'})"
    made = Value(t, (scope.out.fresh(chosen),))
    if op == "^":
        other = scope.out.fresh(f"selected_keys(c, {right.word}, {left.word}, {_shape(t)}, False)")
        _update(scope, made, Value(t, (other,)))
    return made


_OPERATORS = {"union": "|", "intersection": "&", "difference": "-", "symmetric_difference": "^"}


def set_method(scope: Scope, name: str, receiver: Value, args: Sequence[Value]) -> Value:
    """A method of a set; receiver and arguments have words that are names."""
    t, word = receiver.type, receiver.word
    assert isinstance(t, Set)
    if t.of == NEVER and name not in ("copy", "clear", *_OPERATORS):
        raise NotInKernels(f"{name} of a set of which nothing says what it holds")
    match name, args:
        case "add", [key]:
            add(scope, receiver, key)
            return NOTHING
        case "discard", [key]:
            _, entry = _ask(scope, receiver, key)
            with scope.out.block(f"if {entry} != 0:"):
                scope.out.line(f"drop_entry({word}, {entry})")
            return NOTHING
        case "remove", [key]:
            remove(scope, receiver, key)
            return NOTHING
        case "clear", []:
            scope.out.line(f"clear_dict({word})")
            return NOTHING
        case "copy", []:
            return copied(scope, receiver)
    if len(args) == 1 and isinstance(args[0].type, List):
        args = [set_of(scope, args[0])]
    if len(args) == 1 and isinstance(args[0].type, Set):
        if name in _OPERATORS:
            return combined(scope, _OPERATORS[name], receiver, args[0])
        other = convert(args[0], thaw(t))
        if name == "update":
            _update(scope, receiver, other)
            return NOTHING
        in_place = name.removesuffix("_update")
        if in_place != name and in_place in _OPERATORS:
            scope.out.line(f"become_dict({word}, {combined(scope, _OPERATORS[in_place], receiver, other).word})")
            return NOTHING
        if name in ("issubset", "issuperset", "isdisjoint"):
            return Value(BOOL, (relation(scope, name, receiver, other),))
    raise NotInKernels(f"{name} of {t} is not in the kernels' table")


def relation(scope: Scope, name: str, left: Value, right: Value) -> str:
    """How two sets are to each other."""
    t = meet(left.type, right.type)
    a, b = (scope.write.name_words(convert(v, t)).word for v in (left, right))
    match name:
        case "issubset":
            return f"has_all({b}, {a}, {_shape(t)})"
        case "issuperset":
            return f"has_all({a}, {b}, {_shape(t)})"
        case "isdisjoint":
            return f"(load(selected_keys(c, {a}, {b}, {_shape(t)}, True) + 24) == 0)"
        case "equal":
            return f"(load({a} + 24) == load({b} + 24) and has_all({a}, {b}, {_shape(t)}))"
    raise NotInKernels(f"{name} of sets")


def set_of(scope: Scope, source: Value) -> Value:
    """The set of the items of a list."""
    assert isinstance(source.type, List)
    made = new(scope, Set(source.type.of))
    if source.type.of == NEVER:
        return made
    at = scope.out.fresh("0", "i")
    with scope.out.block(f"while {at} < load({source.word} + 8):"):
        place = scope.out.fresh(f"load({source.word}) + {8 * len(registers(source.type.of))} * {at}")
        add(scope, made, scope.write.fresh_words(scope.load_words(source.type.of, place)))
        scope.out.line(f"{at} += 1")
    return made
