"""Builtins that walk a source: sum, min, max, any, all, sorted, list, set, dict.

A rule gives None where the call is not of this kind.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from anabranch.graph.code import Comprehension, Const, Expr, Lambda
from anabranch.kernels.native import containers, mappings, sparse_vectors
from anabranch.kernels.native.arithmetic import as_float, as_int, settled
from anabranch.kernels.native.comparisons import compare, truth
from anabranch.kernels.native.layout import TIMES, NotInKernels
from anabranch.kernels.native.loops import over
from anabranch.kernels.native.registers import Value, convert, meet, nothing, width
from anabranch.kernels.native.scope import Scope
from anabranch.kernels.native.walks import item_type
from anabranch.lang.types import BOOL, BYTES, FLOAT, INT, NEVER, NUMBER, STR, Dict, List, Set, Sparse, Tuple, Type

COMPENSATED = sys.version_info >= (3, 12)  # does `sum` of floats keep the errors of its steps?
Rule = Callable[[Scope, Sequence[Expr], Mapping[str, Expr]], Value | None]


def _sum(scope: Scope, args: Sequence[Expr], named: Mapping[str, Expr]) -> Value | None:
    source, *rest = args
    start = rest[0] if rest else named.get("start")
    first = scope.value(start) if start is not None else Value(INT, ("0",))
    element = item_type(source)
    out = scope.out
    if first.type in (INT, BOOL) and element in (INT, BOOL):
        total = out.fresh(as_int(first))
        over(scope, source, lambda v: out.line(f"{total} = add({total}, {as_int(v)})"), any_order=True)
        return Value(INT, (total,))
    if first.type == FLOAT and (element == FLOAT or (element == INT and not COMPENSATED)):
        return Value(FLOAT, (_sum_floats(scope, source, first.word, None),))
    if first.type == INT and element == FLOAT:
        empty = out.fresh("True")
        if start is None or first.words == ("0",):
            return Value(NUMBER, (empty, _sum_floats(scope, source, "0.0", empty)))
        total = _sum_floats(scope, source, as_float(first), empty)
        with out.block(f"if {empty}:"):  # then it is the start, an int
            out.line("raise Leave")
        return Value(FLOAT, (total,))
    if isinstance(element, Sparse):
        return sparse_vectors.total(scope, source, first, over)
    raise NotInKernels(f"sum of {element} from {first.type}")


def _sum_floats(scope: Scope, source: Expr, start: str, empty: str | None) -> str:
    """The name of the sum that the running CPython gives; `empty`, if the start is an int, tells whether it still is.

    CPython adds the first float to an int as `+` does, and keeps the errors from there on.
    """
    out = scope.out
    total = out.fresh(start)
    error = out.fresh("0.0") if COMPENSATED else ""

    def body(item: Value) -> None:
        if not COMPENSATED:
            out.line(f"{total} = {total} + {as_float(item)}")
        else:
            value = out.fresh(as_float(item))
            both = out.fresh(f"{total} + {value}")
            errors = f"{error} + error_of_sum({total}, {value}, {both})"
            out.line(f"{error} = {errors}" if empty is None else f"{error} = 0.0 if {empty} else {errors}")
            out.line(f"{total} = {both}")
        if empty is not None:
            out.line(f"{empty} = False")

    over(scope, source, body)
    return out.fresh(f"corrected_sum({total}, {error})") if COMPENSATED else total


def _any(scope: Scope, args: Sequence[Expr], named: Mapping[str, Expr]) -> Value | None:
    return _quantified(scope, args[0], "{}")


def _all(scope: Scope, args: Sequence[Expr], named: Mapping[str, Expr]) -> Value | None:
    found = _quantified(scope, args[0], "not {}")
    return Value(BOOL, (f"(not {found.word})",))


def _quantified(scope: Scope, source: Expr, test: str) -> Value:
    """Is there an item of which this is true?"""
    found = scope.out.fresh("False")

    def body(item: Value) -> None:
        with scope.out.block(f"if {test.format(truth(scope.out, item))}:"):
            scope.out.line(f"{found} = True")

    # Where the order of a set decides which item comes first, and one of them raises, all are looked at.
    over(scope, source, body, "" if _from_set(source) else found, any_order=True)
    return Value(BOOL, (found,))


def _from_set(source: Expr) -> bool:
    return isinstance(source, Comprehension) and any(isinstance(c.source.type, Set) for c in source.clauses)


def _extreme(op: str) -> Rule:
    def rule(scope: Scope, args: Sequence[Expr], named: Mapping[str, Expr]) -> Value | None:
        if set(named) - {"key", "default"}:
            return None
        key = named.get("key")
        if isinstance(key, Const) and key.value is None:
            key = None
        if len(args) == 1:
            return _extreme_item(scope, op, args[0], key, named.get("default"))
        values = [settled(scope.out, v) for v in scope.write.named_values(args)]
        if any(v.type != values[0].type for v in values):
            raise NotInKernels("min or max of values of several types")
        keys = [_key(scope, key, v) for v in values]
        best, best_key = scope.write.fresh_words(values[0]), scope.write.fresh_words(keys[0])
        for value, by in zip(values[1:], keys[1:], strict=True):
            _better(scope, op, best, best_key, value, by)
        return best

    return rule


def _key(scope: Scope, key: Expr | None, value: Value) -> Value:
    """What decides about the order of a value, which has names."""
    if key is None:
        return value
    if not isinstance(key, Lambda) or len(key.params) != 1:
        raise NotInKernels("a key that is no function of one value")
    with scope.binding():
        scope.bind(key.params[0], value)
        return scope.write.named(key.body)


def _better(scope: Scope, op: str, best: Value, best_key: Value, value: Value, by: Value) -> None:
    containers.order_code(by.type)
    with scope.out.block(f"if {compare(scope, op, by, best_key)}:"):
        _let(scope, best, value)
        if best_key.words != best.words:
            _let(scope, best_key, by)


def _let(scope: Scope, names: Value, value: Value) -> None:
    for name, word in zip(names.words, value.words, strict=True):
        scope.out.line(f"{name} = {word}")


def _extreme_item(scope: Scope, op: str, source: Expr, key: Expr | None, default: Expr | None) -> Value:
    out, element = scope.out, item_type(source)
    if element == NEVER:
        raise NotInKernels("min or max of what is empty")
    given = scope.write.named(default) if default is not None else None
    best = scope.write.fresh_words(nothing(element))
    by: list[Value] = []
    found = out.fresh("False")
    start = len(out.lines)

    def body(item: Value) -> None:
        item = scope.write.name_words(convert(item, element))
        weight = _key(scope, key, item)
        if key is None:
            by.append(best)
        else:
            by.append(Value(weight.type, tuple(out.name("b") for _ in weight.words)))
        containers.order_code(weight.type)
        better = compare(scope, op, weight, by[0])
        with out.block(f"if not {found} or {better}:"):
            _let(scope, best, item)
            if key is not None:
                _let(scope, by[0], weight)
            out.line(f"{found} = True")

    over(scope, source, body, any_order=key is None and _is_told_apart(element))
    if key is not None:
        _insert_zeros(scope, start, by[0])
    if given is None:
        with out.block(f"if not {found}:"):
            out.line("raise Leave")
        return best
    t = meet(element, given.type)
    both = Value(t, tuple(out.name("m") for _ in nothing(t).words))
    with out.block(f"if {found}:"):
        _let(scope, both, convert(best, t))
    with out.block("else:"):
        _let(scope, both, convert(given, t))
    return both


def _is_told_apart(t: Type) -> bool:
    """Are two values that are equal the same? 0.0 and -0.0 are not: which of them comes first, shows."""
    return all(map(_is_told_apart, t.items)) if isinstance(t, Tuple) else t in (INT, BOOL, STR, BYTES, *TIMES)


def _insert_zeros(scope: Scope, start: int, names: Value) -> None:
    """Variables that only the body of a loop knows the type of have a value before it."""
    behind = scope.out.lines[start:]
    del scope.out.lines[start:]
    _let(scope, names, nothing(names.type))
    scope.out.insert(behind)


# -- new containers ----------------------------------------------------------------------------------------------------


def _list(scope: Scope, args: Sequence[Expr], named: Mapping[str, Expr]) -> Value | None:
    if not args:
        return containers.list_of(scope, [], List(NEVER))
    return list_from(scope, args[0])


def list_from(scope: Scope, source: Expr, any_order: bool = False) -> Value:
    """A new list of the items of a source."""
    if isinstance(source.type, List):
        return containers.copied(scope, scope.value(source))
    element = item_type(source)
    made = containers.list_of(scope, [], List(element))
    over(scope, source, lambda item: containers.append(scope, made, item), any_order=any_order)
    return made


def _set(scope: Scope, args: Sequence[Expr], named: Mapping[str, Expr]) -> Value | None:
    if not args:
        return mappings.new(scope, Set(NEVER))
    if isinstance(args[0].type, Set):
        return mappings.copied(scope, scope.write.named(args[0]))
    made = mappings.new(scope, Set(item_type(args[0])))
    over(scope, args[0], lambda item: mappings.add(scope, made, item))
    return made


def _dict(scope: Scope, args: Sequence[Expr], named: Mapping[str, Expr]) -> Value | None:
    if named:
        return None
    if not args:
        return mappings.new(scope, Dict(NEVER, NEVER))
    if isinstance(args[0].type, Dict):
        return mappings.copied(scope, scope.write.named(args[0]))
    element = item_type(args[0])
    if not isinstance(element, Tuple) or len(element.items) != 2:
        raise NotInKernels("a dict of other than pairs")
    made = mappings.new(scope, Dict(element.items[0], element.items[1]))
    over(scope, args[0], lambda pair: mappings.put(scope, made, *mappings.pair_of(pair)))
    return made


def _sorted(scope: Scope, args: Sequence[Expr], named: Mapping[str, Expr]) -> Value | None:
    if set(named) - {"key", "reverse"} or len(args) != 1:
        return None
    made = list_from(scope, args[0], any_order="key" not in named and _is_told_apart(item_type(args[0])))
    sort_in_place(scope, made, named)
    return made


def sort_in_place(scope: Scope, receiver: Value, named: Mapping[str, Expr]) -> None:
    """`xs.sort(key=..., reverse=...)`, of a list whose word is a name."""
    key = named.get("key")
    if isinstance(key, Const) and key.value is None:
        key = None
    reverse = scope.write.named(named["reverse"]) if "reverse" in named else Value(BOOL, ("False",))
    if reverse.type != BOOL or set(named) - {"key", "reverse"}:
        raise NotInKernels("sort with these arguments")
    if containers.item_type(receiver) == NEVER:
        return
    if key is None:
        containers.sort(scope, receiver, reverse.word)
        return
    _sort_by(scope, receiver, key, reverse.word)


def _sort_by(scope: Scope, receiver: Value, key: Expr, reverse: str) -> None:
    """Sort rows of the key and the item, and take the items out of them."""
    out, of, head = scope.out, containers.item_type(receiver), receiver.word
    items, at = out.fresh(f"own_items(c, {head}, {width(of)})"), out.fresh("0", "i")
    start = len(out.lines)
    rows = out.name("a")
    with out.block(f"while {at} < load({head} + 8):"):
        place = out.fresh(f"{items} + {8 * width(of)} * {at}")
        item = scope.write.fresh_words(scope.load_words(of, place))
        weight = _key(scope, key, item)
        code, before = containers.order_code(weight.type), 8 * len(weight.words)
        size = before + 8 * width(of)
        row = out.fresh(f"{rows} + {size} * {at}")
        scope.store_words(weight, row)
        scope.store_words(item, row, before)
        out.line(f"{at} += 1")
    behind = out.lines[start:]
    del out.lines[start:]
    out.line(f"{rows} = take_scratch(c, {size} * load({head} + 8))")
    out.insert(behind)
    out.line(f"sort_items(c, {rows}, load({head} + 8), {size // 8}, {code}, {reverse})")
    with out.block(f"while {at} > 0:"):
        out.line(f"{at} -= 1")
        out.line(f"copy({items} + {8 * width(of)} * {at}, {rows} + {size} * {at} + {before}, {8 * width(of)})")


RULES: dict[Any, Rule] = {
    sum: _sum,
    any: _any,
    all: _all,
    min: _extreme("<"),
    max: _extreme(">"),
    list: _list,
    set: _set,
    frozenset: _set,
    dict: _dict,
    sorted: _sorted,
}
