"""What a loop may walk, and how."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce

from anabranch.graph.code import Apply, Const, Expr
from anabranch.kernels.native import containers, mappings
from anabranch.kernels.native.layout import NotInKernels
from anabranch.kernels.native.registers import Value, items_of, meet, width
from anabranch.kernels.native.scope import Scope
from anabranch.lang.types import BOOL, BYTES, FLOAT, INT, NEVER, STR, Dense, Dict, Iter, List, Set, Sparse, Tuple, Type


@dataclass(frozen=True, slots=True)
class Coming:
    """Integers that are known before their steps: `at` is the number of the next step, there are `steps`.

    `is_there` and `key` are written for the number of a step; with `paired` the integer is the first of a pair.
    """

    at: str
    steps: str
    is_there: Callable[[str], str]
    key: Callable[[str], str]
    paired: bool


@dataclass(frozen=True, slots=True)
class Walk:
    """How to go through a source: `test` asks whether there is one more item, `take` writes how to get it.

    What is walked has names of its own, so that a variable of the loop's source may change in its body. With `skips`
    taking an item may go on with the next one.
    """

    test: str
    take: Callable[[], Value]
    skips: bool = False
    coming: Coming | None = None


def item_type(source: Expr) -> Type:
    """The type of the items of what is walked."""
    match source.type:
        case Iter(of) | List(of) | Set(of) | Dict(of, _):
            return of
        case Sparse():
            return INT
        case Dense():
            return FLOAT
        case Tuple(items) if items:
            return reduce(meet, items)
    if source.type == STR:
        return STR
    if source.type == BYTES:
        return INT
    raise NotInKernels(f"a loop over {source.type}")


def walk(scope: Scope, source: Expr, any_order: bool = False) -> Walk:
    write = scope.write
    match source:
        case Apply("call", (Const(called), *args)) if called is range and not source.keywords:
            return _numbers(scope, write.values(args))
        case Apply("call", (Const(called), inner, *start)) if called is enumerate:
            return _numbered(scope, inner, start)
        case Apply("call", (Const(called), *args)) if called is zip and len(args) > len(source.keywords):
            strict = args[-1] if source.keywords else Const(False, BOOL, source.span)
            return _together(scope, args[: len(args) - len(source.keywords)], strict)
        case Apply("call", (Const(called), inner)) if called is reversed and isinstance(inner.type, List):
            return _backwards(scope, write.value(inner))
        case Apply("call", (Const(called), inner)) if called is iter:
            return walk(scope, inner)
        case Apply(("method:items" | "method:keys" | "method:values") as op, (receiver,)):
            if isinstance(receiver.type, Sparse):
                return _cells(scope, write.value(receiver), op[7:])
            if isinstance(receiver.type, Dict):
                return _entries(scope, write.value(receiver), op[7:])
        case Apply("method:split", (receiver,)) if receiver.type == STR:
            return _words(scope, write.value(receiver))
    return _walk_value(scope, source, any_order)


def _walk_value(scope: Scope, source: Expr, any_order: bool) -> Walk:
    value = scope.write.value(source)
    match value.type:
        case List():
            return _items(scope, value)
        case Dense():
            # As `__iter__` has it, what changes on the way is not seen.
            return _items(scope, Value(List(FLOAT), (f"dense_copy(c, {value.word})",)))
        case Sparse():
            return _cells(scope, value, "keys")
        case Dict():
            return _entries(scope, value, "keys")
        case Set() if any_order:
            return _entries(scope, value, "keys")
        case Set():
            raise NotInKernels("a loop over a set")
        case Tuple(items) if items:
            element = reduce(meet, items)
            return _items(scope, containers.list_of(scope, items_of(scope.write.name_words(value)), List(element)))
    if value.type == STR:
        return _characters(scope, value)
    if value.type == BYTES:
        return _bytes(scope, value)
    raise scope.at(NotInKernels(f"a loop over {source.type}"), source.span)


def _numbers(scope: Scope, bounds: Sequence[Value]) -> Walk:
    if any(b.type not in (INT, BOOL) for b in bounds):
        raise NotInKernels("a range of other than integers")
    words = [f"int({b.word})" if b.type == BOOL else b.word for b in bounds]
    out = scope.out
    start, stop, step = (["0", words[0], "1"] if len(words) == 1 else [*words, "1"])[:3]
    at, last = out.fresh(start, "i"), out.fresh(stop)
    literal = step.strip("()")
    if literal.lstrip("-").isdigit() and int(literal) != 0:
        test = f"{at} < {last}" if int(literal) > 0 else f"{at} > {last}"
    else:
        step = out.fresh(step)
        with out.block(f"if {step} == 0:"):
            out.line("raise Leave")
        test = f"(({step} > 0 and {at} < {last}) or ({step} < 0 and {at} > {last}))"

    def take() -> Value:
        item = out.fresh(at, "x")
        out.line(f"{at} += {step}" if literal in ("1", "-1") else f"{at} = add({at}, {step})")
        return Value(INT, (item,))

    return Walk(test, take)


def _items(scope: Scope, source: Value) -> Walk:
    assert isinstance(source.type, List)
    of, out = source.type.of, scope.out
    if of == NEVER:
        raise NotInKernels("a loop over what is empty")
    head, at = out.fresh(source.word), out.fresh("0", "i")

    def take() -> Value:
        item = out.fresh(f"load({head}) + {8 * width(of)} * {at}")
        out.line(f"{at} += 1")
        return scope.write.fresh_words(scope.load_words(of, item))

    return Walk(f"{at} < load({head} + 8)", take)


def _backwards(scope: Scope, source: Value) -> Walk:
    assert isinstance(source.type, List)
    of, out = source.type.of, scope.out
    if of == NEVER:
        raise NotInKernels("a loop over what is empty")
    head = out.fresh(source.word)
    at = out.fresh(f"load({head} + 8) - 1", "i")

    def take() -> Value:
        item = out.fresh(f"load({head}) + {8 * width(of)} * {at}")
        out.line(f"{at} -= 1")
        return scope.write.fresh_words(scope.load_words(of, item))

    return Walk(f"({at} >= 0 and {at} < load({head} + 8))", take)


def _characters(scope: Scope, text: Value) -> Walk:
    out = scope.out
    a, n = (out.fresh(w) for w in text.words)
    at = out.fresh("0", "i")

    def take() -> Value:
        start = out.fresh(f"{a} + {at}")
        size = out.fresh(f"char_width({start})")
        out.line(f"{at} += {size}")
        return Value(STR, (start, size))

    return Walk(f"{at} < {n}", take)


def _bytes(scope: Scope, text: Value) -> Walk:
    out = scope.out
    a, n = (out.fresh(w) for w in text.words)
    at = out.fresh("0", "i")

    def take() -> Value:
        item = out.fresh(f"load_byte({a} + {at})", "x")
        out.line(f"{at} += 1")
        return Value(INT, (item,))

    return Walk(f"{at} < {n}", take)


def _cells(scope: Scope, source: Value, what: str) -> Walk:
    out = scope.out
    line = out.fresh(source.word)
    steps = out.fresh(f"line_steps({line})")
    at = out.fresh("0", "i")

    def take() -> Value:
        value = out.fresh(f"step_value({line}, {at})", "x")
        index = out.fresh(f"step_index({line}, {at})", "j")
        out.line(f"{at} += 1")
        with out.block(f"if {value} == 0.0:"):
            out.line("continue")
        both = {"keys": Value(INT, (index,)), "values": Value(FLOAT, (value,))}
        return both.get(what, Value(Tuple((INT, FLOAT)), (index, value)))

    coming = None
    if what != "values":
        is_there, key = (lambda s: f"step_value({line}, {s}) != 0.0"), (lambda s: f"step_index({line}, {s})")
        coming = Coming(at, steps, is_there, key, what == "items")
    return Walk(f"{at} < {steps}", take, True, coming)


def _words(scope: Scope, text: Value) -> Walk:
    """The words of `text.split()`."""
    out = scope.out
    a, n = (out.fresh(w) for w in text.words)
    start, end = out.name("s"), out.name("e")
    out.line(f"{start}, {end} = next_word({a}, {n}, 0)")

    def take() -> Value:
        word = Value(STR, (out.fresh(f"{a} + {start}"), out.fresh(f"{end} - {start}")))
        at = out.fresh(end)
        out.line(f"{start}, {end} = next_word({a}, {n}, {at})")
        return word

    return Walk(f"{start} >= 0", take)


def _entries(scope: Scope, source: Value, what: str) -> Walk:
    """The entries of a dict, or of a set where their order does not show."""
    out = scope.out
    state = out.fresh(f"start_walk(c, {source.word})")

    def take() -> Value:
        entry = out.fresh(f"load({state} + 32)")
        return scope.write.fresh_words(mappings.entry_value(scope, source.type, entry, what))

    return Walk(f"next_entry({state}, {mappings.size(source.type)})", take)


def _numbered(scope: Scope, source: Expr, start: Sequence[Expr]) -> Walk:
    first = scope.write.value(start[0]) if start else Value(INT, ("0",))
    if first.type != INT:
        raise NotInKernels("enumerate from other than an integer")
    count = scope.out.fresh(first.word, "n")
    inner = walk(scope, source)

    def take() -> Value:
        item = inner.take()
        number = scope.out.fresh(count)
        scope.out.line(f"{count} = add({count}, 1)")
        return Value(Tuple((INT, item.type)), (number, *item.words))

    return Walk(inner.test, take, inner.skips)


def _together(scope: Scope, sources: Sequence[Expr], strict: Expr) -> Walk:
    if not isinstance(strict, Const):
        raise NotInKernels("zip that may be strict")
    walks = [walk(scope, s) for s in sources]
    if any(w.skips for w in walks):
        raise NotInKernels("zip of a Vector")

    def take() -> Value:
        items = [w.take() for w in walks]
        return Value(Tuple(tuple(i.type for i in items)), tuple(w for i in items for w in i.words))

    tests = [w.test for w in walks]
    if strict.value:
        return Walk(reduce(lambda a, b: f"both_end({a}, {b})", tests), take)
    return Walk(f"({' and '.join(tests)})", take)
