"""What the code of one function of a kernel may refer to: variables, constants, functions, memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from anabranch.graph.code import Expr, Target, target_names
from anabranch.graph.span import Span
from anabranch.kernels.native.layout import NotInKernels, is_flat, kinds
from anabranch.kernels.native.registers import (
    Value,
    convert,
    has_lists,
    items_of,
    nothing,
    registers,
    width,
)
from anabranch.kernels.native.source import Source
from anabranch.lang.types import FLOAT, Dense, List, Optional, Record, Scalar, Sparse, Tuple, Type, thaw

if TYPE_CHECKING:
    from anabranch.kernels.native.expressions import Expressions
    from anabranch.kernels.native.module import Module


class Scope:
    """The variables of one function, each with the type that holds all it gets, and the text written so far."""

    def __init__(self, module: Module, out: Source, types: dict[str, Type], flagged: Iterable[str] = ()) -> None:
        from anabranch.kernels.native.expressions import Expressions  # it writes into a scope

        self.module, self.out = module, out
        self._types = {name: thaw(t) for name, t in types.items()}
        self._numbers = {name: i for i, name in enumerate(self._types)}
        self._flagged = frozenset(flagged)
        self.alone = False  # has a multi-valued variable but one value here?
        self.doubtful: set[str] = set()  # variables that are read where they may have no value
        self.set: set[str] = set()  # those that have one here
        self._bound: dict[str, Value] = {}  # the variables of comprehensions and lambdas, which hide the others
        self.listeners: list[Callable[[str], None]] = []  # told of every variable that gets a value
        self.write: Expressions = Expressions(self)

    def at(self, error: NotInKernels, span: Span) -> NotInKernels:
        """The error with the user's line, the innermost that is known."""
        if not hasattr(error, "span"):
            error.span = span  # type: ignore[attr-defined]
        return error

    # -- variables ------------------------------------------------------------------------------------------------

    def variable(self, name: str) -> Value:
        t = self._types[name]
        number = self._numbers[name]
        return Value(t, tuple(f"v{number}_{i}" for i in range(len(registers(t)))))

    def knows(self, name: str) -> bool:
        return name in self._types

    def flag(self, name: str) -> str:
        return f"f{self._numbers[name]}"

    def read(self, name: str) -> Value:
        if name in self._bound:
            return self._bound[name]
        if name not in self._types:
            raise NotInKernels(f"{name} has no type here")
        if name not in self.set:
            self.doubtful.add(name)
            if name in self._flagged:
                with self.out.block(f"if not {self.flag(name)}:"):
                    self.out.line("raise Leave")
        return self.variable(name)

    def bind(self, target: Target, value: Value) -> None:
        """Let variables of a comprehension stand for a value whose words are names."""
        if isinstance(target, str):
            self._bound[target] = value
            return
        for inner, item in zip(target, self._parts(target, value), strict=True):
            self.bind(inner, self.write.name_words(item))

    @property
    def bound(self) -> dict[str, Value]:
        return dict(self._bound)

    @contextmanager
    def binding(self, bound: dict[str, Value] | None = None) -> Iterator[None]:
        """What is bound inside, or only these, is so no longer behind it."""
        before = self._bound
        self._bound = dict(before if bound is None else bound)
        try:
            yield
        finally:
            self._bound = before

    def assign(self, target: Target, value: Value) -> None:
        """Let variables have a value, all at once."""
        pairs: list[tuple[str, str]] = []
        names = list(target_names(target))
        self._collect(target, value, pairs)
        if len(pairs) > 1:  # the first must not change what the others are made of
            pairs = [(name, word if _is_literal(word) else self.out.fresh(word)) for name, word in pairs]
        for name, word in pairs:
            self.out.line(f"{name} = {word}")
        for name in names:
            self.mark(name)

    def mark(self, name: str) -> None:
        """From here on it has a value."""
        self.set.add(name)
        if name in self._flagged:
            self.out.line(f"{self.flag(name)} = True")
        for listen in self.listeners:
            listen(name)

    def _collect(self, target: Target, value: Value, pairs: list[tuple[str, str]]) -> None:
        if isinstance(target, str):
            variable = self.variable(target)
            pairs += zip(variable.words, convert(value, variable.type).words, strict=True)
            return
        for inner, item in zip(target, self._parts(target, value), strict=True):
            self._collect(inner, item, pairs)

    def _parts(self, target: tuple[Target, ...], value: Value) -> Sequence[Value]:
        """The items of a value, as many as the target has."""
        if isinstance(value.type, List):
            head = self.out.fresh(value.word)
            with self.out.block(f"if load({head} + 8) != {len(target)}:"):
                self.out.line("raise Leave")
            first, size = self.out.fresh(f"load({head})"), 8 * width(value.type.of)
            return [self.load_words(value.type.of, first, size * i) for i in range(len(target))]
        items = items_of(value)
        if len(items) != len(target):
            raise NotInKernels("a tuple of another length is taken apart")
        return items

    def receive(self, name: str, value: Value) -> list[str]:
        """Let a parameter have the value that is given for it; the words of the variable, which may hold more."""
        variable = self.variable(name)
        for word, given in zip(variable.words, convert(value, variable.type).words, strict=True):
            self.out.line(f"{word} = {given}")
        return list(variable.words)

    def initial(self) -> list[str]:
        """Statements that give every variable some value: which, does not matter."""
        lines = []
        for name, t in self._types.items():
            lines += [f"{w} = {z}" for w, z in zip(self.variable(name).words, nothing(t).words, strict=True)]
            if name in self._flagged:
                lines.append(f"{self.flag(name)} = {name in self.set}")
        return lines

    # -- constants ------------------------------------------------------------------------------------------------

    def constant(self, value: Any, t: Type) -> Value:
        return self.load(t, "k", self.module.constant(value, t))

    def config(self, name: str, t: Type) -> Value:
        return self.load(thaw(t), "k", self.module.config(name, thaw(t)))

    def needs(self, name: str) -> None:
        self.module.needs(name)

    def call(self, name: str, args: Sequence[Value]) -> Value:
        return self.module.call(self, name, args)

    # -- memory -----------------------------------------------------------------------------------------------------

    def load(self, t: Type, address: str, offset: int = 0, frozen: bool = True) -> Value:
        """The value whose words are at an address, which is a name; it is `frozen` but where the row owns it."""
        words: list[str] = []
        self._load(thaw(t), address, offset, words, frozen)
        return Value(thaw(t), tuple(words))

    def _load(self, t: Type, address: str, offset: int, words: list[str], frozen: bool) -> int:
        at = f"{address} + {offset}"
        match t:
            case Scalar():
                for kind in kinds(t):
                    at = f"{address} + {offset}"
                    words.append({"i": f"load({at})", "f": f"load_float({at})", "b": f"(load({at}) != 0)"}[kind])
                    offset += 8
                return offset
            case Optional(of):
                if is_deep(of):
                    raise NotInKernels(f"{t} in memory")
                words.append(f"(load({at}) != 0)")
                return self._load(of, address, offset + 8, words, frozen)
            case Tuple(items):
                for item in items:
                    offset = self._load(item, address, offset, words, frozen)
                return offset
            case Record(_, fields):
                registers(t)
                for _, field in fields:
                    offset = self._load(field, address, offset, words, frozen)
                return offset
            case List() | Dense():
                of = item_of(t)
                count = f"load({address} + {offset + 8})"
                words.append(self._list_in_memory(of, f"load({at})", count, frozen))
                return offset + 16
            case Sparse():
                words.append(self.out.fresh(f"pairs_line(c, load({at}), load({address} + {offset + 8}))"))
                return offset + 16
        raise NotInKernels(f"values of type {t} are not in the kernels' table")

    def _list_in_memory(self, of: Type, items: str, count: str, frozen: bool) -> str:
        """The head of a list whose items are in memory; lists inside of it get heads of their own."""
        registers(of)
        if not has_lists(of):
            head = f"list_head(c, {items}, {count})"
            return self.out.fresh(f"frozen({head})" if frozen else head)
        first, many = self.out.fresh(items), self.out.fresh(count)
        head, step = self.out.fresh(f"new_list(c, {many}, {width(of)})"), self.out.name("s")
        with self.out.block(f"for {step} in range({many}):"):
            at = self.out.fresh(f"{first} + {8 * max(len(kinds(of)), 1)} * {step}")
            item = self.write.name_words(self.load(of, at, 0, frozen))
            self.store_words(item, self.out.fresh(f"new_item(c, {head}, {width(of)})"))
        if frozen:
            self.out.line(f"frozen({head})")
        return head

    def load_words(self, t: Type, address: str, offset: int = 0) -> Value:
        """A value whose words are in scratch memory as they are in registers."""
        read = {"i": "load({})", "f": "load_float({})", "b": "(load({}) != 0)"}
        places = ((k, f"{address} + {offset + 8 * i}") for i, k in enumerate(registers(t)))
        return Value(thaw(t), tuple(read[k].format(place) for k, place in places))

    def store_words(self, value: Value, address: str, offset: int = 0) -> None:
        put = {"i": "store({}, {})", "f": "store_float({}, {})", "b": "store({}, int({}))"}
        for i, (kind, word) in enumerate(zip(registers(value.type), value.words, strict=True)):
            self.out.line(put[kind].format(f"{address} + {offset + 8 * i}", word))

    def store(self, value: Value, address: str, offset: int = 0) -> int:
        """Put the words of a value at an address; what they refer to stays where it is."""
        match value.type:
            case Scalar():
                for kind, word in zip(kinds(value.type), value.words, strict=True):
                    put = {"i": "store({}, {})", "f": "store_float({}, {})", "b": "store({}, int({}))"}[kind]
                    self.out.line(put.format(f"{address} + {offset}", word))
                    offset += 8
                return offset
            case Optional(of):
                self.out.line(f"store({address} + {offset}, int({value.words[0]}))")
                return self.store(Value(of, value.words[1:]), address, offset + 8)
            case Tuple() | Record():
                for item in items_of(value):
                    offset = self.store(item, address, offset)
                return offset
            case List() | Dense():
                head = self.out.let(value.word)
                self.out.line(f"store({address} + {offset}, list_items({head}))")
                self.out.line(f"store({address} + {offset + 8}, list_count({head}))")
                return offset + 16
            case Sparse():
                line = self.out.let(value.word)
                self.out.line(f"store({address} + {offset}, line_pairs({line}))")
                self.out.line(f"store({address} + {offset + 8}, line_count({line}))")
                return offset + 16
        raise NotInKernels(f"values of type {value.type} are not in the kernels' table")

    def kept(self, value: Value, keeper: str) -> Value:
        """The value with its own copy of all text and lists: `keeper` is `c, hdr` for a store, `c` for a result."""
        if is_flat(value.type):
            return value
        text, items = ("keep_text", "keep_items") if "," in keeper else ("hand_text", "hand_items")
        match value.type:
            case Scalar():
                address, size = (self.out.let(w) for w in value.words)
                return Value(value.type, (self.out.let(f"{text}({keeper}, {address}, {size})"), size))
            case Optional(of):
                there = self.out.let(value.words[0])
                names = [self.out.let(w) for w in value.words[1:]]
                fresh = [self.out.name("o") for _ in names]
                for name, zero in zip(fresh, self._absent(of).words, strict=True):
                    self.out.line(f"{name} = {zero}")
                with self.out.block(f"if {there}:"):
                    inner = self.kept(Value(of, tuple(names)), keeper)
                    for name, word in zip(fresh, inner.words, strict=True):
                        self.out.line(f"{name} = {word}")
                return Value(value.type, (there, *fresh))
            case Tuple() | Record():
                words = [w for item in items_of(value) for w in self.kept(item, keeper).words]
                return Value(value.type, tuple(words))
            case List() | Dense():
                of = item_of(value.type)
                head, wide = self.out.let(value.word), max(len(kinds(of)), 1)
                count = self.out.fresh(f"list_count({head})")
                if has_lists(of):
                    room = "keep_room" if "," in keeper else "hand_room"
                    address = self.out.fresh(f"{room}({keeper}, {8 * wide} * {count})")
                else:
                    address = self.out.fresh(f"{items}({keeper}, {head}, {wide})")
                if not is_flat(of):
                    step = self.out.name("s")
                    with self.out.block(f"for {step} in range({count}):"):
                        at = self.out.fresh(f"load({head}) + {8 * width(of)} * {step}")
                        item = self.kept(self.write.name_words(self.load_words(of, at)), keeper)
                        self.store(item, self.out.fresh(f"{address} + {8 * wide} * {step}"))
                return Value(value.type, (self.out.fresh(f"list_head(c, {address}, {count})"),))
            case Sparse() if "," not in keeper:
                return Value(value.type, (self.out.fresh(f"hand_line({keeper}, {value.word})"),))
        raise NotInKernels(f"values of type {value.type} are not in the kernels' table")

    def _absent(self, t: Type) -> Value:
        """What is kept of a value that is not there: its lists are empty, as `rowio` looks into them."""
        match t:
            case List() | Dense():
                return Value(t, ("list_head(c, 0, 0)",))
            case Tuple(items):
                return Value(t, tuple(w for item in items for w in self._absent(item).words))
            case Record(_, fields):
                return Value(t, tuple(w for _, field in fields for w in self._absent(field).words))
            case Optional(of):
                return Value(t, ("False", *self._absent(of).words))
        return nothing(t)

    # -- what is written elsewhere ------------------------------------------------------------------------------------

    def value(self, expr: Expr) -> Value:
        return self.write.value(expr)


def item_of(t: Type) -> Type:
    """The type of the items of a list, or of the entries of a dense vector."""
    return t.of if isinstance(t, List) else FLOAT


def is_deep(t: Type) -> bool:
    """Is there a list of lists in it?"""
    match t:
        case List(of):
            return has_lists(of)
        case Optional(of):
            return is_deep(of)
        case Tuple(items):
            return any(map(is_deep, items))
        case Record(_, fields):
            return any(is_deep(f) for _, f in fields)
    return False


def _is_literal(word: str) -> bool:
    return word in ("True", "False") or word.replace(".", "", 1).isdigit()
