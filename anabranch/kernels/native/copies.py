"""Copies of values that can change, with all they hold.

Law: a copy has no part that can change in common with its original, as `anabranch.lang.values.coerce` has it. Text and
the lines of sparse vectors do not change in a kernel and stay where they are.
"""

from __future__ import annotations

from anabranch.kernels.native import containers, mappings
from anabranch.kernels.native.layout import NotInKernels
from anabranch.kernels.native.registers import Value, has_lists, items_of, key_words, width
from anabranch.kernels.native.scope import Scope
from anabranch.lang.types import Dense, Dict, List, Optional, Record, Set, Sparse, Tuple, Type


def deep_copy(scope: Scope, value: Value, frozen: bool = False) -> Value:
    """A copy; `frozen` where it belongs to state."""
    if not has_lists(value.type):
        return value
    match value.type:
        case Optional(of):
            return _of_optional(scope, scope.write.name_words(value), of, frozen)
        case Tuple() | Record():
            items = items_of(scope.write.name_words(value))
            return Value(value.type, tuple(w for item in items for w in deep_copy(scope, item, frozen).words))
        case List(of):
            made = containers.copied(scope, value)
            if has_lists(of):
                step = scope.out.name("s")
                with scope.out.block(f"for {step} in range(load({made.word} + 8)):"):
                    _in_place(scope, of, scope.out.fresh(f"load({made.word}) + {8 * width(of)} * {step}"), frozen)
            return _marked(scope, made, frozen)
        case Dict(key, of):
            made = mappings.copied(scope, value)
            if has_lists(of):
                state = scope.out.fresh(f"start_walk(c, {made.word})")
                with scope.out.block(f"while next_entry({state}, {mappings.size(made.type)}):"):
                    entry = scope.out.fresh(f"load({state} + 32)")
                    _in_place(scope, of, scope.out.fresh(f"{entry} + {8 + 8 * key_words(key)}"), frozen)
            return made
        case Set():
            return mappings.copied(scope, value)
        case Dense():
            made = Value(value.type, (scope.out.fresh(f"dense_copy(c, {value.word})"),))
            return _marked(scope, made, frozen)
        case Sparse():
            return value
    raise NotInKernels(f"a copy of {value.type}")


def _marked(scope: Scope, made: Value, frozen: bool) -> Value:
    if frozen:
        scope.out.line(f"frozen({made.word})")
    return made


def _in_place(scope: Scope, of: Type, address: str, frozen: bool) -> None:
    """Let a copy stand in scratch memory for what is there."""
    item = scope.write.fresh_words(scope.load_words(of, address))
    scope.store_words(scope.write.name_words(deep_copy(scope, item, frozen)), address)


def _of_optional(scope: Scope, value: Value, of: Type, frozen: bool) -> Value:
    there, *words = value.words
    names = [scope.out.fresh(w) for w in words]
    with scope.out.block(f"if {there}:"):
        copied = deep_copy(scope, Value(of, tuple(names)), frozen)
        for name, word in zip(names, copied.words, strict=True):
            if name != word:
                scope.out.line(f"{name} = {word}")
    return Value(value.type, (there, *names))
