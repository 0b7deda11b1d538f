"""`match` as the chain of conditions that it is."""

from __future__ import annotations

import ast

from anabranch.frontend import expressions, resolve, statements
from anabranch.frontend.context import Context, is_multi
from anabranch.frontend.operators import iterate
from anabranch.frontend.scope import Env, Var, join_envs
from anabranch.frontend.unit import assigned_names
from anabranch.graph.code import Apply, Body, Const, Expr, If, Local
from anabranch.lang.annotations import parse
from anabranch.lang.types import BOOL, INT, NONE, UNKNOWN, List, Optional, Record, Tuple, Type, freeze

Bindings = list[tuple[str, Expr, ast.AST]]


def lower_match(cx: Context, node: ast.Match) -> None:
    subject = expressions.lower(cx, node.subject)
    if is_multi(subject):
        cx.error(node.subject, "AB401", "match decides on a value per instance", "use ab.gather(...) first")
    captured = {cx.name(n) for case in node.cases for n in assigned_names([_pattern_only(case)])}
    if not isinstance(subject, Local) or subject.name in captured:
        subject = cx.bind("match.", subject)
    for stmt in _cases(cx, node, subject, node.cases):
        cx.out.append(stmt)


def _pattern_only(case: ast.match_case) -> ast.stmt:
    return ast.Match(subject=ast.Constant(None), cases=[ast.match_case(pattern=case.pattern, guard=None, body=[])])


def _cases(cx: Context, node: ast.Match, subject: Local, cases: list[ast.match_case]) -> Body:

    if not cases:
        return ()
    case, rest = cases[0], cases[1:]
    bindings: Bindings = []
    test = _test(cx, case.pattern, subject, bindings)
    start = cx.env
    with cx.depending(cx.depends_locally(subject)), cx.writing() as out:
        cx.env = dict(start) if start is not None else None
        for name, value, _where in bindings:
            expressions.assign(cx, cx.name(name), value)
        guard_fails: Env | None = None
        if case.guard is not None:
            guard = statements.condition(cx, case.guard)
            after_guard = cx.env
            local = cx.depends_locally(guard)
            with cx.depending(local), cx.writing() as guarded:
                statements.lower_body(cx, case.body)
                body_env, body = cx.env, tuple(guarded)
            if local and body_env is None:
                cx.control = cx.left_early = True
            with cx.writing():
                cx.env = dict(after_guard) if after_guard is not None else None
                other = _cases(cx, node, subject, rest)  # only the guard failed: the pattern may match again
                guard_fails = cx.env
            cx.out.append(If(guard, body, other, cx.span(case.pattern)))
            cx.env = join_envs(body_env, guard_fails)
        else:
            cx.env = _narrowed_env(cx, subject, case.pattern, True)
            statements.lower_body(cx, case.body)
        then, then_env = tuple(out), cx.env
    if test is None:
        cx.env = then_env
        return then
    with cx.depending(cx.depends_locally(subject)), cx.writing() as out:
        cx.env = dict(start) if start is not None else None
        cx.env = _narrowed_env(cx, subject, case.pattern, False)
        orelse = _cases(cx, node, _narrow(cx, subject, case.pattern, False), rest)
        orelse = (*out, *orelse)
        else_env = cx.env
    cx.env = join_envs(then_env, else_env)
    if cx.depends_locally(subject) and None in (then_env, else_env):
        cx.control = cx.left_early = True
    return (If(test, then, orelse, cx.span(case.pattern)),)


def _is_none(pattern: ast.pattern) -> bool:
    return isinstance(pattern, ast.MatchSingleton) and pattern.value is None


def _may_be_none(pattern: ast.pattern) -> bool:
    match pattern:
        case ast.MatchOr():
            return any(map(_may_be_none, pattern.patterns))
        case ast.MatchAs():
            return pattern.pattern is None or _may_be_none(pattern.pattern)
        case ast.MatchValue():
            return not isinstance(pattern.value, ast.Constant)
    return _is_none(pattern)


def _narrow(cx: Context, subject: Local, pattern: ast.pattern, matched: bool) -> Local:
    if isinstance(subject.type, Optional) and _is_none(pattern):
        return Local(subject.name, NONE if matched else subject.type.of, subject.span)
    return subject


def _narrowed_env(cx: Context, subject: Local, pattern: ast.pattern, matched: bool) -> Env | None:
    if cx.env is not None and isinstance(subject.type, Optional) and subject.name in cx.env:
        var = cx.env[subject.name]
        if _is_none(pattern):
            kind: Type = NONE if matched else subject.type.of
            return {**cx.env, subject.name: Var(kind, var.multi, var.local)}
        if matched and not _may_be_none(pattern):
            return {**cx.env, subject.name: Var(subject.type.of, var.multi, var.local)}
    return cx.env


def _and(tests: list[Expr | None], span: ast.AST, cx: Context) -> Expr | None:
    real = [t for t in tests if t is not None]
    if len(real) < 2:
        return real[0] if real else None
    return Apply("and", tuple(real), BOOL, cx.span(span))


def _test(cx: Context, pattern: ast.pattern, subject: Expr, bindings: Bindings) -> Expr | None:
    """The condition of a pattern; None if it always matches."""
    span = cx.span(pattern)
    match pattern:
        case ast.MatchValue():
            if expressions.emits(cx, pattern.value):
                cx.error(pattern, "AB501", "a pattern reads state", "read it before, and compare in a guard")
                return None
            value = expressions.lower(cx, pattern.value)
            return Apply("==", (subject, value), BOOL, span)
        case ast.MatchSingleton():
            kind: Type = NONE if pattern.value is None else BOOL
            return Apply("is", (subject, Const(pattern.value, kind, span)), BOOL, span)
        case ast.MatchAs():
            test = None if pattern.pattern is None else _test(cx, pattern.pattern, subject, bindings)
            if pattern.name is not None:
                bindings.append((pattern.name, subject, pattern))
            return test
        case ast.MatchOr():
            tests = []
            for each in pattern.patterns:
                inner: Bindings = []
                test = _test(cx, each, subject, inner)
                if inner:
                    cx.error(each, "AB501", "names inside '|' of a pattern", "use separate cases")
                if test is None:
                    return None
                tests.append(test)
            return Apply("or", tuple(tests), BOOL, span)
        case ast.MatchSequence():
            return _sequence(cx, pattern, subject, bindings)
        case ast.MatchClass():
            return _record(cx, pattern, subject, bindings)
    cx.error(pattern, "AB501", "programs match literals, None, tuples and records only", "use if and elif")
    return None


def _sequence(cx: Context, pattern: ast.MatchSequence, subject: Expr, bindings: Bindings) -> Expr | None:
    kind = subject.type
    if not isinstance(kind, Tuple | List) or any(isinstance(p, ast.MatchStar) for p in pattern.patterns):
        if kind != UNKNOWN:
            cx.error(pattern, "AB501", f"a sequence pattern on {kind}", "match tuples and lists, without '*'")
        return None
    tests: list[Expr | None] = []
    if isinstance(kind, List):
        where = cx.span(pattern)
        length = Apply("call", (Const(len, NONE, where), subject), INT, where)
        tests.append(Apply("==", (length, Const(len(pattern.patterns), INT, where)), BOOL, where))
        items: tuple[Type, ...] = (iterate(kind) or UNKNOWN,) * len(pattern.patterns)
    else:
        items = kind.items
    if len(items) != len(pattern.patterns):
        cx.error(pattern, "AB206", f"{kind} never matches {len(pattern.patterns)} elements", "match all elements")
        return None
    for i, (inner, item) in enumerate(zip(pattern.patterns, items, strict=True)):
        span = cx.span(inner)
        tests.append(_test(cx, inner, Apply("[]", (subject, Const(i, INT, span)), item, span), bindings))
    return _and(tests, pattern, cx)


def _record(cx: Context, pattern: ast.MatchClass, subject: Expr, bindings: Bindings) -> Expr | None:
    cls = resolve.static(cx, pattern.cls)
    kind = subject.type
    tests: list[Expr | None] = []
    span = cx.span(pattern)
    if isinstance(kind, Optional):
        tests.append(Apply("is not", (subject, Const(None, NONE, span)), BOOL, span))
        kind = kind.of
    if not resolve.is_record(cls) or not isinstance(kind, Record) or kind != parse(cls):
        if kind != UNKNOWN:
            cx.error(pattern, "AB206", f"{kind} is never a {cx.text(pattern.cls)}", "match the record's own class")
        return None
    fields = list(kind.fields)
    positional = list(getattr(cls, "__match_args__", ()))
    named = [*positional[: len(pattern.patterns)], *pattern.kwd_attrs]
    if len(pattern.patterns) > len(positional) or len(set(named)) < len(named):
        cx.error(pattern, "AB206", f"{kind} matches ({', '.join(positional)}), each once", "name the fields: D(n=1)")
        return None
    wanted = list(zip(named, [*pattern.patterns, *pattern.kwd_patterns], strict=True))
    for name, inner in wanted:
        held = kind.field(name)
        if held is None:
            cx.error(inner, "AB206", f"{kind} has no field '{name}'", f"it has {', '.join(n for n, _ in fields)}")
            continue
        value = Apply(f"attr:{name}", (subject,), freeze(held), cx.span(inner))
        tests.append(_test(cx, inner, value, bindings))
    return _and(tests, pattern, cx)
