"""The text of a kernel: a Python module that numba compiles.

Law: equal graphs give equal texts, whatever the values of configuration; so what was compiled once can be kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from anabranch.graph.code import Access, Body, For, Function, Send, Target, While
from anabranch.graph.nodes import Graph
from anabranch.kernels.native.comparisons import compare
from anabranch.kernels.native.constants import encode_constant
from anabranch.kernels.native.layout import NotInKernels, kinds
from anabranch.kernels.native.memory import HASH
from anabranch.kernels.native.once import Once
from anabranch.kernels.native.registers import Value, convert, registers
from anabranch.kernels.native.scope import Scope
from anabranch.kernels.native.shapes import Shape
from anabranch.kernels.native.source import Source
from anabranch.kernels.native.statements import Statements, variable_types
from anabranch.lang.types import NONE, Type, thaw
from anabranch.lang.values import same_value

SEARCH = "index, mask, chunks, low, numbers, secret"  # what a search needs to know of an index
HEAD = """\
from anabranch.kernels.native.dense import *
from anabranch.kernels.native.dicts import *
from anabranch.kernels.native.hashing import *
from anabranch.kernels.native.lines import *
from anabranch.kernels.native.linked import linked
from anabranch.kernels.native.lists import *
from anabranch.kernels.native.moments import *
from anabranch.kernels.native.numbers import *
from anabranch.kernels.native.sorting import *
from anabranch.kernels.native.sparse import *
from anabranch.kernels.native.strings import *
from anabranch.kernels.native.tables import *
from anabranch.kernels.native.text import *
from anabranch.kernels.native.words import *


def compiled(function):
    # Kernels that several processes have compiled meet in one: a symbol of two would be that of the first for both.
    function.__qualname__ = f"{function.__code__.co_filename.strip('<>').replace('-', '_')}.{function.__name__}"
    inside = function.__name__ in ("row", "far", "near", "close") or function.__name__.startswith("find")
    return linked(function, forceinline=inside)
"""


class Module:
    """Functions, constants and searches that the code of one kernel needs."""

    def __init__(self, graph: Graph, shapes: dict[str, Shape]) -> None:
        self.graph, self.shapes = graph, shapes
        self.constants: list[tuple[str | None, Any, Type]] = []  # name of configuration, or None and the value
        self._at = 0
        self._offsets: list[int] = []  # of the constants
        self._configured: dict[str, int] = {}
        self._functions: dict[str, tuple[str, str]] = {}  # by the graph's name: name and text
        self._finders: dict[tuple[str, ...], tuple[str, str]] = {}
        self._writing: set[str] = set()
        self.once = Once()
        self.refused: list[NotInKernels] = []  # all that has to run as Python, each with the user's line

    # -- constants: words at fixed offsets ------------------------------------------------------------------------

    def constant(self, value: Any, t: Type) -> int:
        for (name, held, of), offset in zip(self.constants, self._offsets, strict=True):
            if name is None and of == t and same_value(held, value):
                return offset
        encode_constant("a constant", t, value)  # what no kernel can hold is found where it stands
        return self._place(None, value, t)

    def config(self, name: str, t: Type) -> int:
        if name not in self._configured:
            self._configured[name] = self._place(name, None, t)
        return self._configured[name]

    def _place(self, name: str | None, value: Any, t: Type) -> int:
        offset = self._at
        self._at += 8 * len(kinds(t))
        self._offsets.append(offset)
        self.constants.append((name, value, t))
        return offset

    def needs(self, name: str) -> None:
        from anabranch.kernels.native import numbers, text

        if not hasattr(numbers, name) and not hasattr(text, name):
            raise NotInKernels(f"{name} is not in the kernels' table")

    # -- functions ----------------------------------------------------------------------------------------------------

    def call(self, scope: Scope, name: str, args: Sequence[Value]) -> Value:
        function = self.graph.function(name)
        called = self._function(function)
        given = [convert(a, t) for a, (_, t) in zip(args, function.params, strict=True)]
        text = f"{called}(c{''.join(f', {w}' for v in given for w in v.words)})"
        result = thaw(function.result)
        width = len(registers(result))
        if width == 0:
            scope.out.line(text)
            return Value(result, ())
        if width == 1:
            return Value(result, (scope.out.fresh(text),))
        names = tuple(scope.out.name("r") for _ in range(width))
        scope.out.line(f"{', '.join(names)} = {text}")
        return Value(result, names)

    def _function(self, function: Function) -> str:
        if function.name not in self._functions:
            if function.name in self._writing:
                raise NotInKernels(f"{function.name} calls itself")
            self._writing.add(function.name)
            name = f"g{len(self._functions) + len(self._writing)}"
            self._functions[function.name] = (name, self._write_function(function, name))
        return self._functions[function.name][0]

    def _write_function(self, function: Function, name: str) -> str:
        given = dict(function.params)

        def write(flagged: set[str]) -> tuple[Source, Scope]:
            out = Source()
            scope = Scope(self, out, variable_types(function.body, given), flagged)
            scope.set = set(given)
            values = {p: Value(thaw(t), _words(f"p{i}", t)) for i, (p, t) in enumerate(given.items())}
            words = [w for value in values.values() for w in value.words]
            out.line("@compiled")
            with out.block(f"def {name}({', '.join(['c', *words])}):"):
                out.line("k = load(c + 72)")
                start = len(out.lines)
                read = {w for name, value in values.items() for w in scope.receive(name, value)}
                place = InFunction(scope, thaw(function.result))
                if Statements(scope, place).body(function.body):
                    place.returns(Value(NONE, ()))
                initial = [f"    {line}" for line in scope.initial() if line.split(" = ")[0] not in read]
                out.lines[start:start] = initial
            return out, scope

        return str(settled(write))

    # -- searches -----------------------------------------------------------------------------------------------------

    def finder(self, shape: Shape) -> str:
        """The name of the function that finds an entry by a key of this type, at once where the hint is right."""
        kind = (str(shape.key), str(shape.size))
        if kind not in self._finders:
            name = f"find{len(self._finders)}"
            self._finders[kind] = (name, _write_finder(name, shape))
        return self._finders[kind][0]

    def text(self, functions: Iterable[str]) -> str:
        parts = [HEAD]
        parts += [text for _, text in self._finders.values()]
        parts += [text for _, text in self._functions.values()]
        return self.once.written("\n\n".join([*parts, *functions]))


def _words(name: str, t: Type) -> tuple[str, ...]:
    return tuple(f"{name}_{i}" for i in range(len(registers(thaw(t)))))


def settled(write: Callable[[set[str]], tuple[Source, Scope]]) -> Source:
    """Written again where a variable is read that may have no value: then it gets a flag."""
    flagged: set[str] = set()
    while True:
        out, scope = write(flagged)
        if scope.doubtful <= flagged:
            return out
        flagged = flagged | scope.doubtful


def _write_finder(name: str, shape: Shape) -> str:
    out = Source()
    width = len(kinds(shape.key))
    key = Value(shape.key, tuple(f"k{i}" for i in range(width)))
    stored = Value(shape.key, tuple(_key_word(kind, i) for i, kind in enumerate(kinds(shape.key))))
    out.line("@compiled")
    with out.block(f"def {name}({SEARCH}, entries, hint, hashed, {', '.join(key.words)}):"):
        with out.block("if hint >= 0:"):
            out.line(f"at = entries + {shape.size} * hint")
            with out.block(f"if {_same(out, shape, stored, key)}:"):
                out.line("return hint")
        out.line(f"return search_{name}({SEARCH}, entries, hashed, {', '.join(key.words)})")
    out.line("")
    out.line("")
    out.line("@compiled")
    with out.block(f"def search_{name}({SEARCH}, entries, hashed, {', '.join(key.words)}):"):
        out.line("slot, wanted = slot_of(hashed, mask, chunks, low, secret), tag_of(hashed, numbers)")
        with out.block("while True:"):
            out.line("word = load_32(index + 4 * slot)")
            with out.block("if word < 0:"):
                out.line("return -1 - slot")
            with out.block("if (word & ~numbers) == wanted:"):
                out.line(f"at = entries + {shape.size} * (word & numbers)")
                with out.block(f"if {_same(out, shape, stored, key)}:"):
                    out.line("return word & numbers")
            out.line("slot = next_slot(slot, mask)")
    return str(out)


def _same(out: Source, shape: Shape, stored: Value, key: Value) -> str:
    same = compare(out, "==", stored, key)
    if kinds(shape.key) == ("i",):
        return same
    return f"(load(at) & {HASH}) == (hashed & {HASH}) and {same}"


def _key_word(kind: str, i: int) -> str:
    word = f"load(at + {8 + 8 * i})"
    return f"({word} != 0)" if kind == "b" else word


class InFunction:
    """The place of a function's body: no state, and it returns to its caller."""

    def __init__(self, scope: Scope, result: Type) -> None:
        self._scope, self._result = scope, result
        self.bodies: list[Body] = []

    def access(self, stmt: Access) -> None:
        raise NotInKernels(f"a function without state reaches {stmt.state}")

    def returns(self, value: Value) -> None:
        words = convert(value, self._result).words
        self._scope.out.line(f"return {', '.join(words) or '0'}")

    def send(self, stmt: Send) -> None:
        raise NotInKernels("a function sends")

    def enter(self, loop: For | While) -> None:
        pass

    def looking_ahead(self, target: Target, body: Body) -> AbstractContextManager[None]:
        return nullcontext()

    def branch(self) -> object:
        return None

    def join(self, before: object) -> None:
        pass

    def forget(self, body: Body, names: Iterable[str] = ()) -> None:
        pass
