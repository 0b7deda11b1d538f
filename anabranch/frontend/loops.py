"""Loops: their bodies are read until the types of all variables are stable."""

from __future__ import annotations

import ast
from collections.abc import Callable

from anabranch.frontend import (
    accesses,
    comprehension_loops,
    comprehensions,
    expressions,
    statements,
)
from anabranch.frontend.context import Context, Loop, is_multi
from anabranch.frontend.narrow import narrowed
from anabranch.frontend.scope import Env, join_envs, widen
from anabranch.graph.code import (
    Body,
    Break,
    Continue,
    Expr,
    For,
    Raise,
    Return,
    While,
    walk,
)


def loop_body(cx: Context, head: Callable[[], None], body: Callable[[], None]) -> tuple[Body, Loop, Env | None]:
    """Lower a loop's body until the types of its variables are stable.

    `head` declares what each iteration starts with. Gives the body, what left the loop, and the environment at the
    loop's head, which is also that of its ordinary end.
    """
    start = cx.env
    if start is None:
        return (), Loop(), None
    found = cx.unit.report.take()
    functions = dict(cx.unit.functions)  # what is wrong inside a function is told where it is first read
    counts = dict(cx.counts)
    causes = cx.unit.report.causes()
    caused = None  # what the first reading with an error found: with types unknown the next may see less
    at_head = dict(start)
    for _ in range(12):
        cx.unit.report.restore(found)
        cx.unit.functions = dict(functions)
        cx.counts = dict(counts)
        cx.env = dict(at_head)
        cx.loops.append(Loop())
        with cx.writing() as out:
            head()
            body()
            written = tuple(out)
        if caused is None and cx.unit.report.causes() - causes:
            caused = cx.unit.report.take()
        loop = cx.loops.pop()
        end: Env | None = cx.env
        for each in loop.continues:
            end = join_envs(end, each)
        again = at_head if end is None else widen(at_head, end)
        if again == at_head:
            break
        at_head = again
    report = cx.unit.report
    if caused is not None and report.failed and not report.causes() - causes:
        report.restore(caused)
    return written, loop, dict(at_head)


def lower_for(cx: Context, node: ast.For) -> None:
    state = accesses.state_of(cx, node.iter)
    if state is not None:
        source = accesses.lower_access(cx, node.iter, *state, "__iter__", [])
    else:
        source = expressions.lower(cx, node.iter)
    if is_multi(source):
        cx.error(node.iter, "AB402", "the loop runs over a value per instance", "use ab.gather(...) on it first")
    target: list[object] = []

    def head() -> None:
        target.append(comprehensions.bind_target(cx, node.target, source))

    with cx.depending(cx.depends_locally(source)):
        body, loop, at_head = loop_body(cx, head, lambda: statements.lower_body(cx, node.body))
    if cx.depends_locally(source) and _leaves(body):
        cx.control = cx.left_early = True
    orelse = _loop_end(cx, at_head, loop, node.orelse)
    if target and at_head is not None:
        cx.out.append(For(target[-1], source, body, orelse, cx.span(node)))  # type: ignore[arg-type]


def _loop_end(cx: Context, at_head: Env | None, loop: Loop, stmts: list[ast.stmt]) -> Body:
    cx.env = at_head
    with cx.writing() as out:
        statements.lower_body(cx, stmts)
        orelse = tuple(out)
    for each in loop.breaks:
        cx.env = join_envs(cx.env, each)
    return orelse


def lower_while(cx: Context, node: ast.While) -> None:
    if expressions.emits(cx, node.test):
        _while_by_break(cx, node)
        return
    tests: list[Expr] = []
    always = isinstance(node.test, ast.Constant) and bool(node.test.value)

    def head() -> None:
        tests.append(statements.condition(cx, node.test))
        cx.env = narrowed(cx, cx.env, node.test, True)

    local = cx.env is not None and any(
        cx.env[n].local for n in (cx.name(i.id) for i in ast.walk(node.test) if isinstance(i, ast.Name)) if n in cx.env
    )
    with cx.depending(local):
        body, loop, at_head = loop_body(cx, head, lambda: statements.lower_body(cx, node.body))
    if at_head is None:
        return
    if cx.depends_locally(tests[-1]) and _leaves(body):
        cx.control = cx.left_early = True
    after = None if always else narrowed(cx, at_head, node.test, False)
    orelse = _loop_end(cx, after, loop, node.orelse)
    cx.out.append(While(tests[-1], body, orelse, cx.span(node)))


def _while_by_break(cx: Context, node: ast.While) -> None:
    """A test that reaches state is evaluated at the start of each iteration."""
    leave: list[ast.stmt] = [ast.Break()]
    negated = ast.copy_location(ast.UnaryOp(op=ast.Not(), operand=node.test), node.test)
    true = ast.copy_location(ast.Constant(True), node.test)
    if not node.orelse:
        stop = comprehension_loops.located(ast.If(test=negated, body=leave, orelse=[]), node.test)
        lower_while(cx, ast.copy_location(ast.While(test=true, body=[stop, *node.body], orelse=[]), node))
        return
    # `else` belongs to the loops around: it runs after this one, if its test failed.
    flag = cx.fresh("while.")
    frame, cx.frame = cx.frame, cx.frame.binding([flag])
    names = [ast.Name(id=flag, ctx=ast.Store()), ast.Name(id=flag, ctx=ast.Store()), ast.Name(id=flag, ctx=ast.Load())]
    before = ast.Assign(targets=[names[0]], value=ast.Constant(False), type_comment=None)
    ended = ast.Assign(targets=[names[1]], value=ast.Constant(True), type_comment=None)
    stop = comprehension_loops.located(ast.If(test=negated, body=[ended, *leave], orelse=[]), node.test)
    loop = ast.copy_location(ast.While(test=true, body=[stop, *node.body], orelse=[]), node)
    after = comprehension_loops.located(ast.If(test=names[2], body=node.orelse, orelse=[]), node)
    statements.lower_body(cx, [comprehension_loops.located(before, node), loop, after])
    cx.frame = frame


def lower_leave(cx: Context, node: ast.Break | ast.Continue) -> None:
    if not cx.loops:
        return
    loop = cx.loops[-1]
    if cx.env is not None:
        (loop.breaks if isinstance(node, ast.Break) else loop.continues).append(cx.env)
    kind = Break if isinstance(node, ast.Break) else Continue
    cx.emit(kind(cx.span(node)))
    cx.env = None


def _leaves(body: Body) -> bool:
    return any(isinstance(s, Return | Raise) for s in walk(body))
