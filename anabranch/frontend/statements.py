"""Python statements to statements of the graph, with the types of all variables followed along."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from anabranch.frontend import (
    accesses,
    assignments,
    conditions,
    exits,
    expressions,
    loops,
    patterns,
    tries,
)
from anabranch.frontend.context import Context, is_multi
from anabranch.frontend.narrow import narrowed, without_optionals
from anabranch.frontend.scope import Env, Var, join_envs
from anabranch.frontend.unit import assigned_names
from anabranch.graph.code import (
    Apply,
    Assign,
    Body,
    Break,
    Const,
    Do,
    Expr,
    If,
    Local,
    Raise,
    Return,
)
from anabranch.lang.types import BOOL, NONE, UNKNOWN, Fault, accepts

_UNSUPPORTED: dict[type[ast.stmt], tuple[str, str]] = {
    ast.With: ("programs have no with", "open nothing inside an entry"),
    ast.AsyncWith: ("programs have no async", "write ordinary statements"),
    ast.AsyncFor: ("programs have no async", "write ordinary statements"),
    ast.FunctionDef: (
        "a function inside an entry",
        "make it a helper (def _name(self, ...)) or a function of the module",
    ),
    ast.AsyncFunctionDef: ("a function inside an entry", "make it a helper: def _name(self, ...)"),
    ast.Import: ("an import inside an entry", "import at the top of the file"),
    ast.ImportFrom: ("an import inside an entry", "import at the top of the file"),
    ast.TryStar: ("programs have no except*", "use except"),
}


_OUTSIDE = ("AB504", "AB505", "AB506")


def lower_body(cx: Context, stmts: Sequence[ast.stmt]) -> None:
    for stmt in stmts:
        if cx.env is not None:
            lower_stmt(cx, stmt)
        elif isinstance(stmt, exits.Unless) and stmt.in_loop:
            # The loop before was left because the helper returned: so is this one.
            span = cx.span(stmt)
            cx.out.append(If(Local(cx.name(exits.DONE), BOOL, span), (Break(span),), (), span))
            return
        else:
            return


def lower_stmt(cx: Context, node: ast.stmt) -> None:
    match node:
        case ast.Expr():
            _expression(cx, node)
        case ast.Assign() | ast.AnnAssign() | ast.AugAssign() | ast.Delete():
            assignments.lower_assignment(cx, node)
        case ast.If():
            _if(cx, node)
        case ast.For():
            loops.lower_for(cx, node)
        case ast.While():
            loops.lower_while(cx, node)
        case ast.Break() | ast.Continue():
            loops.lower_leave(cx, node)
        case ast.Return():
            _return(cx, node)
        case ast.Raise():
            _raise(cx, node)
        case ast.Assert():
            _assert(cx, node)
        case ast.Try():
            tries.lower_try(cx, node)
        case ast.Match():
            patterns.lower_match(cx, node)
        case exits.Leave():
            _leave_helper(cx, node)
        case exits.Unless():
            _unless_returned(cx, node)
        case ast.Pass():
            pass
        case ast.Global() | ast.Nonlocal():
            cx.error(
                node, "AB507", f"'{cx.text(node)}' changes what is outside the entry", "keep it in a declared state"
            )
        case ast.ClassDef():
            cx.error(node, "AB102", "a class inside an entry", "define it at the top of the file")
            _forget(cx, node)
        case ast.With():
            _with(cx, node)
        case _:
            _unsupported(cx, node)


def _unsupported(cx: Context, node: ast.stmt) -> None:
    message, hint = _UNSUPPORTED.get(type(node), (f"programs have no {type(node).__name__}", "write it differently"))
    cx.error(node, "AB501", message, hint)
    _forget(cx, node)


def _with(cx: Context, node: ast.With) -> None:
    """What it opens is the cause, where that works outside; otherwise there is no `with`."""
    before = cx.unit.report.take()
    with cx.writing():
        for item in node.items:
            expressions.lower(cx, item.context_expr)
    causes = {key: found for key, found in cx.unit.report.take().items() if key[0] in _OUTSIDE}
    cx.unit.report.restore({**before, **causes})
    if causes.keys() <= before.keys():
        _unsupported(cx, node)
    else:
        _forget(cx, node)


def _forget(cx: Context, node: ast.stmt) -> None:
    """What a refused statement binds, or may have tested for None, has no known type: no more is said about it."""
    for name in assigned_names([node]):
        cx.set(cx.name(name), Var(UNKNOWN))
    cx.env = without_optionals(cx.env)


def branch(cx: Context, then: Callable[[], None], orelse: Callable[[], None], local: bool) -> tuple[Body, Body]:
    """Lower two alternatives from the same point; afterwards the environment is what holds on both."""
    start = cx.env
    bodies: list[Body] = []
    ends: list[Env | None] = []
    for side in (then, orelse):
        cx.env = dict(start) if start is not None else None
        with cx.depending(local), cx.writing() as out:
            side()
            bodies.append(tuple(out))
        ends.append(cx.env)
    cx.env = join_envs(ends[0], ends[1])
    if local and start is not None and None in ends:
        cx.control = cx.left_early = True
    return bodies[0], bodies[1]


def condition(cx: Context, node: ast.expr) -> Expr:
    test = conditions.lower_truth(cx, node)
    if is_multi(test):
        cx.error(
            node, "AB401", "the condition has one value per instance", "use ab.gather(...) and decide on one value"
        )
    return test


def _expression(cx: Context, node: ast.Expr) -> None:
    if isinstance(node.value, ast.Constant):
        return
    value = expressions.lower(cx, node.value)
    if not isinstance(value, Const | Local) and value.type != UNKNOWN:
        cx.emit(Do(value, cx.span(node)))


def _if(cx: Context, node: ast.If) -> None:
    test = condition(cx, node.test)

    def side(stmts: list[ast.stmt], truth: bool) -> Callable[[], None]:
        def run() -> None:
            cx.env = narrowed(cx, cx.env, node.test, truth)
            lower_body(cx, stmts)

        return run

    then, orelse = branch(cx, side(node.body, True), side(node.orelse, False), cx.depends_locally(test))
    cx.out.append(If(test, then, orelse, cx.span(node)))


def _leave_helper(cx: Context, node: exits.Leave) -> None:
    """An inlined helper has returned: what is known here is known again where its caller goes on."""
    span = cx.span(node)
    if cx.flagged:
        cx.emit(Assign(cx.name(exits.DONE), Const(True, BOOL, span), span))
    if node.in_loop:
        cx.emit(Break(span))
    if cx.env is not None:
        cx.returned.append(cx.env)
    cx.env = None


def _unless_returned(cx: Context, node: exits.Unless) -> None:
    span = cx.span(node)
    with cx.writing() as out:
        lower_body(cx, node.body)
        orelse = tuple(out)
    then: Body = (Break(span),) if node.in_loop else ()
    cx.out.append(If(Local(cx.name(exits.DONE), BOOL, span), then, orelse, span))


def _return(cx: Context, node: ast.Return) -> None:
    span = cx.span(node)
    value: Expr = Const(None, NONE, span) if node.value is None else expressions.lower(cx, node.value)
    if cx.frame.kind == "entry":
        _check_result(cx, node, value)
    cx.results.append(value.type)
    cx.emit(Return(value, span))
    cx.env = None


def _check_result(cx: Context, node: ast.Return, value: Expr) -> None:
    wanted = cx.declared.get("return", UNKNOWN)
    where = node.value or node
    if is_multi(value):
        cx.error(where, "AB405", "the result has one value per instance", "merge it: sum(ab.gather(x), start)")
    elif UNKNOWN not in (wanted, value.type) and not accepts(wanted, value.type):
        cx.error(
            where,
            "AB206",
            f"the entry promises {wanted} and returns {value.type}",
            f"return {wanted}, or change the annotation",
        )
    elif cx.depends_locally(value) or (cx.control and wanted not in (NONE, UNKNOWN)):
        accesses.warn_local(cx, where, "a local read of partial state reaches the result")


def _raise(cx: Context, node: ast.Raise) -> None:
    error = cause = None
    if node.exc is None and not cx.in_handler:
        cx.error(node, "AB501", "a bare raise outside of except", "name the exception: raise ValueError(...)")
    if node.exc is not None:
        error = expressions.lower(cx, node.exc)
        if not isinstance(error.type, Fault) and error.type != UNKNOWN:
            cx.error(node, "AB206", f"'raise' needs an exception, got {error.type}", "raise ValueError('...')")
    if node.cause is not None:
        cause = expressions.lower(cx, node.cause)
    cx.emit(Raise(error, cause, cx.span(node)))
    cx.env = None


def _assert(cx: Context, node: ast.Assert) -> None:
    test = condition(cx, node.test)
    span = cx.span(node)

    def fail() -> None:
        cx.env = narrowed(cx, cx.env, node.test, False)
        args: tuple[Expr, ...] = () if node.msg is None else (expressions.lower(cx, node.msg),)
        error = Apply("call", (Const(AssertionError, NONE, span), *args), Fault("AssertionError"), span)
        cx.emit(Raise(error, None, span))
        cx.env = None

    def go_on() -> None:
        cx.env = narrowed(cx, cx.env, node.test, True)

    if isinstance(node.test, ast.Constant) and not node.test.value:
        fail()  # assert False: what follows is not reached
        return
    then, orelse = branch(cx, fail, go_on, cx.depends_locally(test))
    negated = Apply("not", (test,), BOOL, span)
    cx.out.append(If(negated, then, orelse, span))
