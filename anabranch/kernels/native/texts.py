"""Text that a kernel makes, and the methods of str and bytes."""

from __future__ import annotations

from collections.abc import Sequence

from anabranch.graph.code import Const, Expr
from anabranch.kernels.native import containers
from anabranch.kernels.native.layout import NotInKernels
from anabranch.kernels.native.registers import Value
from anabranch.kernels.native.scope import Scope
from anabranch.lang.types import BOOL, BYTES, INT, NONE, STR, List, Optional

_IS = {
    "isdigit": "is_digits",
    "isdecimal": "is_digits",
    "isnumeric": "is_digits",
    "isalpha": "is_letters",
    "isalnum": "is_alphanumeric",
    "islower": "is_lower_case",
    "isupper": "is_upper_case",
    "isspace": "is_spaces",
    "isascii": "is_ascii",
}
_STRIPS = {"strip": "strip", "lstrip": "strip_left", "rstrip": "strip_right"}


def _part(scope: Scope, value: Value, function: str) -> Value:
    """A part of a text: `function` gives its start and end."""
    a = scope.out.fresh(value.words[0])
    start, end = scope.out.name("s"), scope.out.name("e")
    scope.out.line(f"{start}, {end} = {function.format(a=a)}")
    return Value(value.type, (scope.out.fresh(f"{a} + {start}"), scope.out.fresh(f"{end} - {start}")))


def _made(scope: Scope, of: Value, call: str) -> Value:
    address, size = scope.out.name("a"), scope.out.name("n")
    scope.out.line(f"{address}, {size} = {call}")
    return Value(of.type, (address, size))


def sliced(scope: Scope, value: Value, low: str, high: str, step: str = "") -> Value:
    kind = "text" if value.type == STR else "bytes"
    if step:
        return _made(scope, value, f"{kind}_steps(c, {', '.join(value.words)}, {low}, {high}, {step})")
    size = scope.out.fresh(value.words[1])
    return _part(scope, value, f"{kind}_slice({{a}}, {size}, {low}, {high})")


def item(scope: Scope, value: Value, index: str) -> Value:
    if value.type == BYTES:
        return Value(INT, (f"bytes_item({', '.join(value.words)}, {index})",))
    size = scope.out.fresh(value.words[1])
    return _part(scope, value, f"text_item({{a}}, {size}, {index})")


def repeated(scope: Scope, value: Value, times: Value) -> Value:
    if times.type not in (INT, BOOL):
        raise NotInKernels(f"{value.type} * {times.type}")
    return _made(scope, value, f"repeated_text(c, {', '.join(value.words)}, int({times.word}))")


def joined(scope: Scope, parts: Sequence[Value]) -> Value:
    """One text after the other."""
    if not parts:
        return scope.write.constant("", STR)
    parts = [scope.write.name_words(p) for p in parts]
    if any(p.type != parts[0].type or p.type not in (STR, BYTES) for p in parts):
        raise NotInKernels("text is joined with something else")
    found = parts[0]
    for part in parts[1:]:
        (a, n), (b, m) = found.words, part.words
        size = scope.out.fresh(f"{n} + {m}")
        found = Value(found.type, (scope.out.fresh(f"joined_text(c, {a}, {n}, {b}, {m})"), size))
    return found


def formatted(scope: Scope, shown: Expr, conversion: Expr, spec: Expr) -> Value:
    """A part of a format string."""
    assert isinstance(conversion, Const)
    value = scope.value(shown)
    if not isinstance(spec, Const) or spec.value != "":
        raise NotInKernels("text is formatted by a specification")
    if conversion.value not in ("", "s") and not (conversion.value in ("r", "a") and value.type in (INT, BOOL, NONE)):
        raise NotInKernels(f"text is formatted with !{conversion.value}")
    return text_of(scope, value)


def text_of(scope: Scope, value: Value) -> Value:
    """`str(value)`."""
    if value.type == STR:
        return value
    if value.type == INT:
        return _made(scope, Value(STR, ()), f"int_text(c, {value.word})")
    if value.type == NONE:
        return scope.write.constant("None", STR)
    if value.type == BOOL or isinstance(value.type, Optional):
        value = scope.write.name_words(value)
        names = Value(STR, (scope.out.name("a"), scope.out.name("n")))
        with scope.out.block(f"if {value.words[0]}:"):
            inner = Value(value.type.of, value.words[1:]) if isinstance(value.type, Optional) else None
            _let(scope, names, text_of(scope, inner) if inner else scope.write.constant("True", STR))
        with scope.out.block("else:"):
            _let(scope, names, scope.write.constant("None" if inner else "False", STR))
        return names
    raise NotInKernels(f"the text of {value.type}")


def _let(scope: Scope, names: Value, value: Value) -> None:
    for name, word in zip(names.words, value.words, strict=True):
        scope.out.line(f"{name} = {word}")


def method(scope: Scope, name: str, receiver: Value, args: Sequence[Value]) -> Value:
    """A method of a str or of bytes; receiver and arguments have words that are names."""
    out, of = scope.out, receiver.type
    a, n = receiver.words
    if args and all(v.type == of for v in args):
        found = _with_text(scope, name, receiver, args)
        if found is not None:
            return found
    match name, [v.type for v in args]:
        case "join", [List(x)] if x == of:
            return _made(scope, receiver, f"joined_parts(c, {a}, {n}, {args[0].word})")
        case (("lower" | "upper"), []) if of == STR:
            at = out.fresh(f"take_scratch(c, {n})")
            out.line(f"{name}_ascii({a}, {n}, {at})")
            return Value(STR, (at, n))
        case (("strip" | "lstrip" | "rstrip"), []) if of == STR:
            return _part(scope, receiver, f"{_STRIPS[name]}({{a}}, {n})")
        case "split", [] if of == STR:
            found = Value(List(STR), (out.fresh("new_list(c, 8, 2)"),))
            start, end = out.name("s"), out.name("e")
            out.line(f"{start}, {end} = next_word({a}, {n}, 0)")
            with out.block(f"while {start} >= 0:"):
                containers.append(scope, found, Value(STR, (f"{a} + {start}", f"{end} - {start}")))
                at = out.fresh(end)
                out.line(f"{start}, {end} = next_word({a}, {n}, {at})")
            return found
        case _, [] if name in _IS and of == STR:
            return Value(BOOL, (f"{_IS[name]}({a}, {n})",))
        case "encode", [] if of == STR:
            return Value(BYTES, receiver.words)
    raise NotInKernels(f"{name} of {of} is not in the kernels' table")


def _with_text(scope: Scope, name: str, receiver: Value, args: Sequence[Value]) -> Value | None:
    """A method whose arguments are text of the same type."""
    out, of = scope.out, receiver.type
    (a, n), (b, m) = receiver.words, args[0].words
    words = f"{a}, {n}, {b}, {m}"
    kind = "text" if of == STR else "bytes"
    match name, len(args):
        case (("startswith" | "endswith"), 1):
            function = "starts_with" if name == "startswith" else "ends_with"
            return Value(BOOL, (f"{function}({words})",))
        case (("find" | "rfind" | "count"), 1):
            return Value(INT, (f"{kind}_{name}({words})",))
        case (("index" | "rindex"), 1):
            at = out.fresh(f"{kind}_{name.replace('index', 'find')}({words})")
            with out.block(f"if {at} < 0:"):
                out.line("raise Leave")
            return Value(INT, (at,))
        case "replace", 2:
            return _made(scope, receiver, f"replaced(c, {words}, {', '.join(args[1].words)})")
        case "removeprefix", 1:
            skip = out.fresh(f"{m} if starts_with({words}) else 0")
            return Value(of, (f"({a} + {skip})", f"({n} - {skip})"))
        case "removesuffix", 1:
            return Value(of, (a, f"(({n} - {m}) if ends_with({words}) else {n})"))
        case "split", 1:
            found = Value(List(of), (out.fresh("new_list(c, 8, 2)"),))
            start, end, at = out.name("s"), out.name("e"), out.fresh("0")
            with out.block(f"while {at} >= 0:"):
                out.line(f"{start}, {end}, {at} = next_part({a}, {n}, {at}, {b}, {m})")
                containers.append(scope, found, Value(of, (f"{a} + {start}", f"{end} - {start}")))
            return found
    return None
