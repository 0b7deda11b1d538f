"""Liveness: by hand on small bodies, and against execution on random ones."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from anabranch.graph.code import Apply, Assign, Body, Break, Const, Continue, Expr, For, If, Local, Return, Stmt, While
from anabranch.graph.liveness import assigned, live_before
from anabranch.graph.span import Span
from anabranch.lang.types import BOOL, INT, List

AT = Span("f", 1, 0, 1, 0)
NAMES = ("a", "b", "c", "d")


def local(name: str) -> Expr:
    return Local(name, INT, AT)


def less(name: str) -> Expr:
    return Apply("<", (local(name), Const(3, INT, AT)), BOOL, AT)


def live(body: Body) -> set[str]:
    return set(live_before(body, {}))


def test_straight_code() -> None:
    body: Body = (Assign("a", local("b"), AT), Return(local("a"), AT))
    assert live(body) == {"b"}


def test_branches_need_what_either_reads() -> None:
    body: Body = (If(less("a"), (Return(local("b"), AT),), (Assign("c", local("d"), AT),), AT), Return(local("c"), AT))
    assert live(body) == {"a", "b", "d"}


def test_a_loop_needs_what_its_next_iteration_reads() -> None:
    body: Body = (
        For("a", Local("b", List(INT), AT), (Assign("c", local("d"), AT), Assign("d", local("a"), AT)), (), AT),
        Return(local("c"), AT),
    )
    assert live(body) == {"b", "c", "d"}


expressions = st.sampled_from(NAMES).map(local) | st.integers(0, 5).map(lambda n: Const(n, INT, AT))


def statements(depth: int, in_loop: bool) -> st.SearchStrategy[Stmt]:
    simple: st.SearchStrategy[Stmt] = st.builds(Assign, st.sampled_from(NAMES), expressions, st.just(AT)) | st.builds(
        Return, expressions, st.just(AT)
    )
    if in_loop:
        simple |= st.just(Break(AT)) | st.just(Continue(AT))
    if depth == 0:
        return simple
    inner = st.lists(statements(depth - 1, in_loop), max_size=3).map(tuple)
    looped = st.lists(statements(depth - 1, True), max_size=3).map(tuple)
    test = st.sampled_from(NAMES).map(less)
    branch = st.builds(If, test, inner, inner, st.just(AT))
    loop = st.builds(While, test, looped, inner, st.just(AT))
    return simple | branch | loop


class Unset(Exception):
    pass


def run(body: Body, env: dict[str, int], fuel: list[int]) -> object:
    """Execute with at most so many loop turns; reading an unset variable raises."""
    for stmt in body:
        match stmt:
            case Assign(str() as target, value):
                env[target] = evaluate(value, env)
            case Return(value):
                return ("return", evaluate(value, env))
            case If(test, then, orelse):
                signal = run(then if evaluate(test, env) else orelse, env, fuel)
                if signal is not None:
                    return signal
            case While(test, inner, orelse):
                while evaluate(test, env) and fuel[0] > 0:
                    fuel[0] -= 1
                    signal = run(inner, env, fuel)
                    if isinstance(signal, Break):
                        break
                    if signal is not None and not isinstance(signal, Continue):
                        return signal
                else:
                    signal = run(orelse, env, fuel)
                    if signal is not None:
                        return signal
            case Break() | Continue():
                return stmt
    return None


def evaluate(expr: Expr, env: dict[str, int]) -> int:
    match expr:
        case Const(value):
            return int(value)
        case Local(name):
            if name not in env:
                raise Unset(name)
            return env[name]
        case Apply(_, (left, right)):
            return int(evaluate(left, env) < evaluate(right, env))
    raise AssertionError(expr)


@given(st.lists(statements(2, False), max_size=5).map(tuple), st.lists(st.integers(0, 5), min_size=4, max_size=4))
def test_live_variables_are_enough_to_run(body: Body, values: list[int]) -> None:
    """With only the live variables a body does what it does with all, and never misses one that all would give."""
    everything = dict(zip(NAMES, values, strict=True))
    only = {n: v for n, v in everything.items() if n in live(body)}
    assert run(body, dict(only), [20]) == run(body, dict(everything), [20])


@given(st.lists(statements(2, False), max_size=5).map(tuple))
def test_assigned_holds_every_variable_that_changes(body: Body) -> None:
    before = dict.fromkeys(NAMES, 1)
    env = dict(before)
    run(body, env, [20])
    assert {n for n in NAMES if env[n] != before[n]} <= assigned(body)
