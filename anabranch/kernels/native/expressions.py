"""Expressions of the graph as expressions of a kernel.

Law: what is written gives what CPython gives, bit for bit, or leaves the kernel. Since a row that was left is run again
as a whole, it does not matter which of several reasons to leave comes first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from anabranch.graph.code import Apply, Comprehension, Config, Const, Expr, Lambda, Local
from anabranch.graph.effects import changes, is_new
from anabranch.kernels.native import calls, containers, mappings, methods, sparse_vectors, texts, times, vectors
from anabranch.kernels.native.arithmetic import BINARY, as_int, float_of, numeric, settled, unary
from anabranch.kernels.native.comparisons import compare, is_in, truth
from anabranch.kernels.native.copies import deep_copy
from anabranch.kernels.native.layout import TEXT, TIMES, NotInKernels
from anabranch.kernels.native.loops import write_comprehension
from anabranch.kernels.native.registers import Value, convert, is_number, is_open, items_of, registers
from anabranch.kernels.native.scope import Scope
from anabranch.lang.types import (
    BOOL,
    BYTES,
    FLOAT,
    INT,
    NONE,
    STR,
    Dense,
    Dict,
    List,
    Optional,
    Record,
    Set,
    Sparse,
    Tuple,
    Type,
    optional,
    strip_optional,
    thaw,
)

COMPARE = ("==", "!=", "<", "<=", ">", ">=")


class Expressions:
    """Writes expressions into the text of a scope."""

    def __init__(self, scope: Scope) -> None:
        self.scope, self.out = scope, scope.out

    def value(self, expr: Expr) -> Value:
        try:
            return _as_declared(self._value(expr), expr.type)
        except NotInKernels as error:
            raise self.scope.at(error, expr.span) from None

    def condition(self, expr: Expr) -> str:
        """Is it true, as `if` asks?"""
        match expr:
            case Apply("not", (inner,)):
                return f"(not {self.condition(inner)})"
            case Apply(("and" | "or") as op, args):
                return self._short_circuit(op, args)
        return truth(self.out, self.value(expr))

    def named(self, expr: Expr) -> Value:
        """A value whose words are names or literals, so that they may be used more than once."""
        return self.name_words(self.value(expr))

    def name_words(self, value: Value) -> Value:
        return Value(value.type, tuple(w if _is_atom(w) else self.out.let(w) for w in value.words))

    def fresh_words(self, value: Value) -> Value:
        """The value as it is here, in variables of its own."""
        return Value(value.type, tuple(self.out.fresh(w) for w in value.words))

    def values(self, args: Sequence[Expr]) -> list[Value]:
        """Operands from left to right: what stands for one before the statements of a later one is computed there."""
        found: list[Value] = []
        for arg in args:
            start = len(self.out.lines)
            value = self.value(arg)
            if len(self.out.lines) > start:
                behind = self.out.lines[start:]
                del self.out.lines[start:]
                found = [self.name_words(v) for v in found]
                self.out.insert(behind)
            found.append(value)
        return found

    def named_values(self, args: Sequence[Expr]) -> list[Value]:
        return [self.name_words(v) for v in self.values(args)]

    # -- kinds of expressions -----------------------------------------------------------------------------------

    def _value(self, expr: Expr) -> Value:
        match expr:
            case Const(value, t):
                return self.constant(value, t)
            case Local(name, t):
                if expr.multi and not self.scope.alone and name not in self.scope.bound:
                    raise NotInKernels(f"{name} has one value per instance")
                return _narrowed(self.scope.read(name), thaw(t))
            case Config(name, t):
                return self.scope.config(name, t)
            case Apply():
                return self._apply(expr)
            case Comprehension():
                if expr.kind == "generator":
                    raise NotInKernels("a generator that is kept")
                return write_comprehension(self.scope, expr)
            case Lambda():
                raise NotInKernels("a lambda")

    def constant(self, value: Any, t: Type) -> Value:
        if value is None:
            return Value(NONE, ())
        if value.__class__ is bool:
            return Value(BOOL, (str(value),))
        if value.__class__ is int and not isinstance(t, Optional):
            if not -(1 << 63) <= value < 1 << 63:
                raise NotInKernels(f"{value} does not fit 64 bits")
            return Value(INT, (str(value) if value >= 0 else f"({value})",))
        if value.__class__ is float and math.isfinite(value):
            return Value(FLOAT, (repr(value) if math.copysign(1, value) > 0 else f"({value!r})",))
        return self.scope.constant(value, thaw(t))

    def _apply(self, expr: Apply) -> Value:
        op, args = expr.op, expr.args
        if op in BINARY:
            left, right = self.values(args)
            return self._binary(op, left, right, args[1])
        if op in COMPARE:
            left, right = self.named_values(args)
            return Value(BOOL, (compare(self.scope, op, left, right),))
        if op.startswith("compare:"):
            return self._chain(op[8:].split(","), args)
        if op.startswith("attr:"):
            return self._attribute(self.value(args[0]), op[5:])
        if op.startswith("method:"):
            return methods.call(self.scope, op[7:], expr)
        match op:
            case "and" | "or":
                return self._either(op, args, expr.type)
            case "not":
                return Value(BOOL, (f"(not {self.condition(args[0])})",))
            case "truth":
                return Value(BOOL, (self.condition(args[0]),))
            case "if":
                return self._choice(args, expr.type)
            case "neg" | "pos" | "invert":
                operand = settled(self.out, self.value(args[0]))
                if isinstance(operand.type, Dense) and op == "neg":
                    return vectors.negated(self.scope, operand)
                if isinstance(operand.type, Sparse) and op == "neg":
                    return sparse_vectors.negated(self.scope, operand)
                return times.unary(op, operand) if operand.type in TIMES else unary(op, operand)
            case "is" | "is not":
                return self._identity(op, args)
            case "in" | "not in":
                found = is_in(self.scope, *self.named_values(args))
                return Value(BOOL, (found if op == "in" else f"(not {found})",))
            case "tuple":
                return self._tuple(self.values(args))
            case "list":
                return containers.list_of(self.scope, self.values(args), strip_optional(expr.type))
            case "dict":
                return self._dict(args, strip_optional(expr.type))
            case "set":
                return self._set(args, strip_optional(expr.type))
            case "[]":
                return self._item(args[0], args[1])
            case "slice":
                return self._slice(args)
            case "setitem" | "delitem":
                return self._change(op, self.named_values(args))
            case "fstring":
                return texts.joined(self.scope, self.values(args))
            case "format":
                return texts.formatted(self.scope, *args)
            case "local":
                return self.value(args[0])
            case "function" | "procedure":
                return self.scope.call(args[0].value, self.values(args[1:]))  # type: ignore[union-attr]
            case "coerce":
                return self._coerced(*args)
            case "call":
                return calls.call(self.scope, expr)
        raise NotInKernels(f"{op!r} is not in the kernels' table")

    def _coerced(self, given: Expr, entry: Expr, parameter: Expr) -> Value:
        """An argument or a result of an entry that another calls: a copy, as from any caller."""
        assert isinstance(entry, Const) and isinstance(parameter, Const)
        wanted = entry.value.result if parameter.value is None else parameter.value.type
        found = convert(self.value(given), wanted)
        return found if is_new(given) else deep_copy(self.scope, found)

    # -- operators ----------------------------------------------------------------------------------------------

    def _binary(self, op: str, left: Value, right: Value, exponent: Expr) -> Value:
        match left.type, right.type:
            case List(), List() if op == "+":
                return containers.joined(self.scope, left, right)
            case List(), _ if op == "*" and right.type in (INT, BOOL):
                return containers.repeated(self.scope, left, right)
            case Tuple(xs), Tuple(ys) if op == "+":
                return Value(Tuple(xs + ys), left.words + right.words)
            case Dict(), Dict() if op == "|":
                return mappings.merged(self.scope, left, right)
            case Set(), Set() if op in "|&-^":
                return mappings.combined(self.scope, op, left, right)
        if left.type in TEXT and op == "+" and left.type == right.type:
            return texts.joined(self.scope, [left, right])
        if op == "*" and (left.type in TEXT or right.type in TEXT):
            return texts.repeated(self.scope, *((left, right) if left.type in TEXT else (right, left)))
        if isinstance(left.type, Dense) or isinstance(right.type, Dense):
            return vectors.operator(self.scope, op, left, right)
        if isinstance(left.type, Sparse) or isinstance(right.type, Sparse):
            return sparse_vectors.operator(self.scope, op, left, right)
        if left.type in TIMES or right.type in TIMES:
            return times.operator(op, left, right)
        left, right = self._numbers(op, left, right)
        if not (is_number(left.type) and is_number(right.type)):
            raise NotInKernels(f"{left.type} {op} {right.type} is not in the kernels' table")
        return numeric(op, left, right, exponent)

    def _numbers(self, op: str, left: Value, right: Value) -> tuple[Value, Value]:
        if op == "/" or FLOAT in (left.type, right.type):
            return float_of(left), float_of(right)
        return settled(self.out, left), settled(self.out, right)

    def _chain(self, ops: Sequence[str], args: Sequence[Expr]) -> Value:
        if any(map(changes, args[2:])):  # it depends on the others whether they are evaluated
            raise NotInKernels("a chain of comparisons that changes something")
        values = self.named_values(args)
        found = []
        for op, left, right in zip(ops, values[:-1], values[1:], strict=True):
            if op not in COMPARE:
                raise NotInKernels(f"{op!r} in a chain of comparisons")
            found.append(compare(self.scope, op, left, right))
        return Value(BOOL, (f"({' and '.join(found)})",))

    def _identity(self, op: str, args: Sequence[Expr]) -> Value:
        left, right = self.values(args)
        if right.type != NONE:
            left, right = right, left
        if right.type != NONE:
            raise NotInKernels("`is` of two values")
        same = f"(not {left.words[0]})" if isinstance(left.type, Optional) else str(left.type == NONE)
        return Value(BOOL, (same if op == "is" else f"(not {same})",))

    # -- what evaluates only a part of its operands ---------------------------------------------------------------

    def _short_circuit(self, op: str, args: Sequence[Expr]) -> str:
        found = self.condition(args[0])
        for arg in args[1:]:
            with self.out.aside() as lines:
                inner = self.condition(arg)
            if not lines:
                found = f"({found} {op} {inner})"
                continue
            name = self.out.name("c")
            self.out.line(f"{name} = {found}")
            with self.out.block(f"if {name}:" if op == "and" else f"if not {name}:"):
                self.out.insert(["    " + line for line in lines])
                self.out.line(f"{name} = {inner}")
            found = name
        return found

    def _either(self, op: str, args: Sequence[Expr], t: Type) -> Value:
        if all(a.type == BOOL for a in args):
            return Value(BOOL, (self._short_circuit(op, args),))
        names, value = self._fresh(t), self.named(args[0])
        test = self.out.fresh(truth(self.out, value))  # of what may be None, which `t` need not be
        self._assign(names, convert(value, t))
        for arg in args[1:]:
            with self.out.block(f"if {test}:" if op == "and" else f"if not {test}:"):
                value = self.named(arg)
                self.out.line(f"{test} = {truth(self.out, value)}")
                self._assign(names, convert(value, t))
        return names

    def _choice(self, args: Sequence[Expr], t: Type) -> Value:
        test = self.condition(args[0])
        names = self._fresh(t)
        with self.out.block(f"if {test}:"):
            self._assign(names, convert(self.value(args[1]), t))
        with self.out.block("else:"):
            self._assign(names, convert(self.value(args[2]), t))
        return names

    def _fresh(self, t: Type) -> Value:
        t = thaw(t)
        return Value(t, tuple(self.out.name("m") for _ in registers(t)))

    def _assign(self, names: Value, value: Value) -> None:
        for name, word in zip(names.words, value.words, strict=True):
            self.out.line(f"{name} = {word}")

    # -- containers and calls -------------------------------------------------------------------------------------

    def _tuple(self, values: Sequence[Value]) -> Value:
        return Value(Tuple(tuple(v.type for v in values)), tuple(w for v in values for w in v.words))

    def _attribute(self, receiver: Value, name: str) -> Value:
        if isinstance(receiver.type, Record):
            names = [n for n, _ in receiver.type.fields]
            return items_of(receiver)[names.index(name)]
        if receiver.type in TIMES:
            return times.attribute(receiver, name)
        raise NotInKernels(f"the attribute {name} of {receiver.type}")

    def _dict(self, args: Sequence[Expr], t: Type) -> Value:
        values = self.named_values(args)
        made = mappings.new(self.scope, t)
        for key, value in zip(values[::2], values[1::2], strict=True):
            mappings.put(self.scope, made, key, value)
        return made

    def _set(self, args: Sequence[Expr], t: Type) -> Value:
        values = self.named_values(args)
        made = mappings.new(self.scope, t)
        for value in values:
            mappings.add(self.scope, made, value)
        return made

    def _item(self, of: Expr, key: Expr) -> Value:
        if isinstance(of.type, Tuple | Record):
            number = key.args[0] if isinstance(key, Apply) and key.op == "neg" else key
            if isinstance(number, Const) and isinstance(number.value, int):
                return items_of(self.value(of))[number.value if number is key else -number.value]
            raise NotInKernels("an item of a tuple by a number that is computed")
        receiver, index = self.values((of, key))
        match receiver.type:
            case List():
                return containers.item(self.scope, receiver, index)
            case Dense():
                return vectors.item(self.scope, receiver, index)
            case Dict():
                return mappings.item(self.scope, self.name_words(receiver), self.name_words(index))
            case Sparse() if index.type == INT:
                return Value(FLOAT, (f"get_cell({receiver.word}, {index.word})",))
        if receiver.type in TEXT:
            return texts.item(self.scope, receiver, as_int(index))
        raise NotInKernels(f"{receiver.type}[...] is not in the kernels' table")

    def _slice(self, args: Sequence[Expr]) -> Value:
        receiver, low, high, step = self.values(args)
        if any(bound.type not in (NONE, INT) for bound in (low, high, step)):
            raise NotInKernels("a slice by other than integers")
        first, last, by = "0", containers.END, ""
        if step.type != NONE:
            by = self.out.fresh(step.word)
            first, last = (
                f"(0 if {by} > 0 else {containers.END})",
                f"({containers.END} if {by} > 0 else -{containers.END})",
            )
        first = first if low.type == NONE else low.word
        last = last if high.type == NONE else high.word
        if isinstance(receiver.type, List):
            return containers.sliced(self.scope, receiver, first, last, by)
        if receiver.type in (STR, BYTES):
            return texts.sliced(self.scope, receiver, first, last, by)
        raise NotInKernels(f"a slice of {receiver.type}")

    def _change(self, op: str, values: Sequence[Value]) -> Value:
        receiver, key = values[:2]
        match receiver.type:
            case Dense() if op == "setitem":
                vectors.set_item(self.scope, receiver, key, values[2])
            case List() if op == "setitem":
                containers.set_item(self.scope, receiver, key, values[2])
            case List():
                containers.delete_item(self.scope, receiver, key)
            case Dict() if op == "setitem":
                mappings.put(self.scope, receiver, key, values[2])
            case Dict():
                mappings.remove(self.scope, receiver, key)
            case _:
                raise NotInKernels(f"an item of a {receiver.type} is changed")
        return Value(NONE, ())


def _as_declared(value: Value, t: Type) -> Value:
    """What is made of one type where a declaration says that it may be None."""
    if not isinstance(t, Optional) or isinstance(value.type, Optional) or value.type == NONE:
        return value
    return convert(value, optional(value.type) if is_open(t) else t)


def _narrowed(value: Value, t: Type) -> Value:
    """A variable as a value of the type that it has here. What is empty so far is what it will be later."""
    if is_open(t) and not is_open(value.type):
        if isinstance(value.type, Optional) and not isinstance(t, Optional):
            return Value(value.type.of, value.words[1:])
        return value
    return convert(value, t)


def _is_atom(word: str) -> bool:
    return word.isidentifier() or word.replace(".", "", 1).isdigit()
