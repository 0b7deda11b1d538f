"""Methods of values, by the type of the receiver."""

from __future__ import annotations

from anabranch.graph.code import Apply, Comprehension, Const, Expr
from anabranch.graph.effects import changes
from anabranch.kernels.native import calls, containers, mappings, reductions, sparse_vectors, texts, times, vectors
from anabranch.kernels.native.layout import TEXT, TIMES, NotInKernels
from anabranch.kernels.native.registers import Value
from anabranch.kernels.native.scope import Scope
from anabranch.lang.types import NONE, Dense, Dict, Iter, List, Record, Set, Sparse


def call(scope: Scope, name: str, expr: Apply) -> Value:
    receiver, *args = expr.args
    if isinstance(receiver.type, List) and name == "sort":
        if any(map(changes, args)):
            raise NotInKernels("an argument of sort changes something")
        named = dict(zip(expr.keywords, args, strict=True))
        reductions.sort_in_place(scope, scope.write.named(receiver), named)
        return Value(NONE, ())
    if isinstance(receiver.type, Record) and name == "_replace":
        return calls.replaced(scope, expr.args, expr.keywords)
    if expr.keywords:
        raise NotInKernels(f"{name} with arguments by name")
    if isinstance(receiver.type, List | Set) or receiver.type in TEXT:
        args = [_as_list(a) if _is_source(a) else a for a in args]
    values = scope.write.named_values([receiver, *args])
    given = values[1:]
    match values[0].type:
        case List():
            return containers.method(scope, name, values[0], given)
        case Dict():
            return mappings.dict_method(scope, name, values[0], given)
        case Dense():
            return vectors.method(scope, name, values[0], given)
        case Sparse():
            return sparse_vectors.method(scope, name, values[0], given)
        case Set():
            return mappings.set_method(scope, name, values[0], given)
    if values[0].type in TEXT:
        return texts.method(scope, name, values[0], given)
    if values[0].type in TIMES:
        return times.method(name, values[0], given)
    raise NotInKernels(f"{name} of {values[0].type} is not in the kernels' table")


def _is_source(expr: Expr) -> bool:
    """Is it something that is walked once?"""
    return isinstance(expr.type, Iter) or (isinstance(expr, Comprehension) and expr.kind == "generator")


def _as_list(expr: Expr) -> Expr:
    """`list(source)`."""
    assert isinstance(expr.type, Iter)
    function = Const(list, NONE, expr.span)
    return Apply("call", (function, expr), List(expr.type.of), expr.span)
