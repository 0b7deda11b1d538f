"""Comprehensions: without state they stay expressions, with state they become loops."""

from __future__ import annotations

import ast

from anabranch.frontend import comprehension_loops, expressions
from anabranch.frontend.context import Context, is_multi
from anabranch.frontend.narrow import narrowed
from anabranch.frontend.operators import iterate
from anabranch.frontend.scope import Var
from anabranch.frontend.unit import assigned_names
from anabranch.graph.code import Apply, Clause, Comprehension, Const, Expr, Lambda, Target
from anabranch.lang.types import (
    UNKNOWN,
    Dict,
    Function,
    Iter,
    List,
    Optional,
    Record,
    Set,
    Tuple,
    Type,
    freeze,
    is_hashable,
)

Comp = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


def lower_comprehension(cx: Context, node: Comp, order_free: bool = False) -> Expr:
    first = node.generators[0].iter
    if any(expressions.emits(cx, n) for n in _inner(node)):
        if isinstance(node, ast.GeneratorExp):
            return cx.error(
                node,
                "AB308",
                "state is used inside a generator expression",
                "use a list comprehension or a loop: [ ... for ... ]",
            )
        return comprehension_loops.comprehension_loop(cx, node)
    source = expressions.lower(cx, first)
    kept = dict(cx.env) if cx.env is not None else None
    frame = cx.frame
    bound = frozenset(n for g in node.generators for n in assigned_names([_store(g)]))
    cx.frame = frame.binding(bound)
    clauses = []
    for i, generator in enumerate(node.generators):
        if generator.is_async:
            return cx.error(node, "AB501", "programs have no async", "write an ordinary comprehension")
        value = source if i == 0 else expressions.lower(cx, generator.iter)
        target = bind_target(cx, generator.target, value, order_free or isinstance(node, ast.SetComp))
        tests = []
        for test in generator.ifs:
            tests.append(expressions.lower(cx, test))
            cx.env = narrowed(cx, cx.env, test, True)
        clauses.append(Clause(target, value, tuple(tests)))
    element, kind, result = _element(cx, node)
    cx.env, cx.frame = kept, frame
    if any(is_multi(c.source) for c in clauses):
        return cx.error(
            node, "AB402", "a comprehension runs over a value per instance", "use ab.gather(...) on it first"
        )
    if UNKNOWN in (result, element.type):
        return Const(None, UNKNOWN, cx.span(node))
    return Comprehension(kind, element, tuple(clauses), result, cx.span(node))


def _inner(node: Comp) -> list[ast.AST]:
    """Everything but the first source, which is evaluated before the comprehension starts."""
    parts: list[ast.AST] = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
    for i, generator in enumerate(node.generators):
        parts += generator.ifs
        if i:
            parts.append(generator.iter)
    return parts


def _store(generator: ast.comprehension) -> ast.stmt:
    return ast.For(target=generator.target, iter=ast.Constant(0), body=[], orelse=[])


def _element(cx: Context, node: Comp) -> tuple[Expr, str, Type]:
    if isinstance(node, ast.DictComp):
        key, value = expressions.lower_all(cx, [node.key, node.value])

        pair = Apply("tuple", (key, value), Tuple((key.type, value.type)), cx.span(node))
        bad = UNKNOWN in (key.type, value.type)
        return pair, "dict", UNKNOWN if bad else Dict(key.type, value.type)
    element = expressions.lower(cx, node.elt)
    if element.type == UNKNOWN:
        return element, "list", UNKNOWN
    if isinstance(node, ast.ListComp):
        return element, "list", List(element.type)
    if isinstance(node, ast.SetComp):
        if not is_hashable(element.type):
            return cx.error(node, "AB206", f"a set cannot hold {element.type}", "use a list"), "set", UNKNOWN
        return element, "set", Set(element.type)
    return element, "generator", Iter(element.type)


def bind_target(cx: Context, target: ast.expr, source: Expr, order_free: bool = False) -> Target:
    """Declare the variables of a loop over `source`."""
    if isinstance(source.type, Optional):
        expressions.maybe_none(cx, target, source)
        return declare(cx, target, UNKNOWN)
    if isinstance(source.type, Set) and not order_free:
        cx.error(
            target,
            "AB509",
            f"a loop runs over a {source.type}: its order is not part of its value",
            "loop over sorted(...) of it",
        )
    element = iterate(source.type)
    if element is None:
        if not isinstance(source.type, Optional):
            cx.error(
                target, "AB206", f"a loop cannot run over {source.type}", "loop over a list, dict, str, range, ..."
            )
        element = UNKNOWN
    return declare(cx, target, element, cx.depends_locally(source))


def declare(cx: Context, target: ast.expr, kind: Type, local: bool = False, multi: bool = False) -> Target:
    """Give the variables of a target their types."""
    if isinstance(target, ast.Name):
        if target.id == cx.frame.self_name:
            cx.error(target, "AB110", f"the variable '{target.id}' hides a name that the program needs", "rename it")
        name = cx.name(target.id)
        cx.set(name, Var(kind, multi, local))
        return name
    if isinstance(target, ast.Tuple | ast.List):
        if any(isinstance(e, ast.Starred) for e in target.elts):
            cx.error(target, "AB501", "programs have no starred targets", "take slices: first, rest = xs[0], xs[1:]")
            kinds: list[Type] = [UNKNOWN] * len(target.elts)
        elif isinstance(kind, Tuple) and len(kind.items) == len(target.elts):
            kinds = list(kind.items)
        elif kind != UNKNOWN and isinstance(kind, Tuple):
            cx.error(target, "AB206", f"{kind} is unpacked into {len(target.elts)} names", "name each element")
            kinds = [UNKNOWN] * len(target.elts)
        else:
            element: list[Type] | None = [UNKNOWN] * len(target.elts)
            if kind != UNKNOWN:
                element = _record_items(kind, len(target.elts))
            if element is None:
                cx.error(
                    target,
                    "AB206",
                    f"{kind} cannot be unpacked into {len(target.elts)} names",
                    "unpack a tuple, a list or a record",
                )
            kinds = element or [UNKNOWN] * len(target.elts)
        return tuple(
            declare(cx, e.value if isinstance(e, ast.Starred) else e, k, local, multi)
            for e, k in zip(target.elts, kinds, strict=True)
        )
    cx.error(target, "AB501", f"'{cx.text(target)}' cannot be a target here", "use a name and assign on the next line")
    return "_"


def _record_items(kind: Type, count: int) -> list[Type] | None:

    if isinstance(kind, Record) and issubclass(kind.cls, tuple) and len(kind.fields) == count:
        return [freeze(t) for _, t in kind.fields]  # as its attributes are
    element = iterate(kind)
    return None if element is None or isinstance(kind, Set | Dict) else [element] * count


def lower_lambda(cx: Context, node: ast.Lambda, params: list[Type]) -> Expr:
    """A lambda whose parameters get these types."""
    if any(expressions.emits(cx, n) for n in [node.body]):
        return cx.error(node, "AB308", "state is used inside a lambda", "read it before, or write a loop")
    given = node.args
    if given.vararg or given.kwarg or given.kwonlyargs or given.defaults or len(given.args) != len(params):
        return cx.error(node, "AB501", f"a lambda with {len(params)} plain parameters is needed here", "lambda x: ...")
    kept = dict(cx.env) if cx.env is not None else None
    frame = cx.frame
    names = [a.arg for a in given.args]
    cx.frame = frame.binding(names)
    for name, kind in zip(names, params, strict=True):
        cx.set(cx.name(name), Var(kind))
    own = tuple(map(cx.name, names))
    body = expressions.lower(cx, node.body)
    cx.env, cx.frame = kept, frame
    return Lambda(own, body, Function(body.type), cx.span(node))
