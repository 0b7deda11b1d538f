"""Python statements to statements of the graph, with the types of all variables followed along."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Sequence

from anabranch.frontend import accesses, assignments, comprehensions, exits, expressions, patterns, resolve
from anabranch.frontend.cells import escapes
from anabranch.frontend.context import Context, Loop, is_multi
from anabranch.frontend.narrow import narrowed
from anabranch.frontend.scope import Env, Var, join_envs, join_vars, widen
from anabranch.frontend.unit import MISSING
from anabranch.graph.code import (
    Apply,
    Assign,
    Body,
    Break,
    Const,
    Continue,
    Do,
    Expr,
    For,
    Handler,
    If,
    Local,
    Raise,
    Return,
    Try,
    While,
    walk,
)
from anabranch.lang.types import BOOL, NONE, UNKNOWN, Fault, Type, accepts

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


def lower_body(cx: Context, stmts: Sequence[ast.stmt]) -> None:
    for stmt in stmts:
        if cx.env is None:
            return
        lower_stmt(cx, stmt)


def lower_stmt(cx: Context, node: ast.stmt) -> None:
    match node:
        case ast.Expr():
            _expression(cx, node)
        case ast.Assign() | ast.AnnAssign() | ast.AugAssign() | ast.Delete():
            assignments.lower_assignment(cx, node)
        case ast.If():
            _if(cx, node)
        case ast.For():
            _for(cx, node)
        case ast.While():
            _while(cx, node)
        case ast.Break() | ast.Continue():
            _leave(cx, node)
        case ast.Return():
            _return(cx, node)
        case ast.Raise():
            _raise(cx, node)
        case ast.Assert():
            _assert(cx, node)
        case ast.Try():
            _try(cx, node)
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
        case _:
            message, hint = _UNSUPPORTED.get(
                type(node), (f"programs have no {type(node).__name__}", "write it differently")
            )
            cx.error(node, "AB501", message, hint)


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
    test = expressions.lower_truth(cx, node)
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


def loop_body(cx: Context, head: Callable[[], None], body: Callable[[], None]) -> tuple[Body, Loop, Env | None]:
    """Lower a loop's body until the types of its variables are stable.

    `head` declares what each iteration starts with. Gives the body, what left the loop, and the environment at the
    loop's head, which is also that of its ordinary end.
    """
    start = cx.env
    if start is None:
        return (), Loop(), None
    found = cx.unit.report.take()
    counts = dict(cx.counts)
    at_head = dict(start)
    for _ in range(12):
        cx.unit.report.restore(found)
        cx.counts = dict(counts)
        cx.env = dict(at_head)
        cx.loops.append(Loop())
        with cx.writing() as out:
            head()
            body()
            written = tuple(out)
        loop = cx.loops.pop()
        end: Env | None = cx.env
        for each in loop.continues:
            end = join_envs(end, each)
        again = at_head if end is None else widen(at_head, end)
        if again == at_head:
            break
        at_head = again
    return written, loop, dict(at_head)


def _for(cx: Context, node: ast.For) -> None:
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
        body, loop, at_head = loop_body(cx, head, lambda: lower_body(cx, node.body))
    orelse = _loop_end(cx, at_head, loop, node.orelse)
    if target and at_head is not None:
        cx.out.append(For(target[-1], source, body, orelse, cx.span(node)))  # type: ignore[arg-type]


def _loop_end(cx: Context, at_head: Env | None, loop: Loop, stmts: list[ast.stmt]) -> Body:
    cx.env = at_head
    with cx.writing() as out:
        lower_body(cx, stmts)
        orelse = tuple(out)
    for each in loop.breaks:
        cx.env = join_envs(cx.env, each)
    return orelse


def _while(cx: Context, node: ast.While) -> None:
    if expressions.emits(cx, node.test):
        _while_by_break(cx, node)
        return
    tests: list[Expr] = []
    always = isinstance(node.test, ast.Constant) and bool(node.test.value)

    def head() -> None:
        tests.append(condition(cx, node.test))
        cx.env = narrowed(cx, cx.env, node.test, True)

    local = cx.env is not None and any(
        cx.env[n].local for n in (cx.name(i.id) for i in ast.walk(node.test) if isinstance(i, ast.Name)) if n in cx.env
    )
    with cx.depending(local):
        body, loop, at_head = loop_body(cx, head, lambda: lower_body(cx, node.body))
    if at_head is None:
        return
    after = None if always else narrowed(cx, at_head, node.test, False)
    orelse = _loop_end(cx, after, loop, node.orelse)
    cx.out.append(While(tests[-1], body, orelse, cx.span(node)))


def _while_by_break(cx: Context, node: ast.While) -> None:
    """A test that reaches state is evaluated at the start of each iteration."""
    leave: list[ast.stmt] = [ast.Break()]
    negated = ast.copy_location(ast.UnaryOp(op=ast.Not(), operand=node.test), node.test)
    true = ast.copy_location(ast.Constant(True), node.test)
    if not node.orelse:
        stop = _located(ast.If(test=negated, body=leave, orelse=[]), node.test)
        _while(cx, ast.copy_location(ast.While(test=true, body=[stop, *node.body], orelse=[]), node))
        return
    # `else` belongs to the loops around: it runs after this one, if its test failed.
    flag = cx.fresh("while.")
    frame, cx.frame = cx.frame, cx.frame.binding([flag])
    names = [ast.Name(id=flag, ctx=ast.Store()), ast.Name(id=flag, ctx=ast.Store()), ast.Name(id=flag, ctx=ast.Load())]
    before = ast.Assign(targets=[names[0]], value=ast.Constant(False), type_comment=None)
    ended = ast.Assign(targets=[names[1]], value=ast.Constant(True), type_comment=None)
    stop = _located(ast.If(test=negated, body=[ended, *leave], orelse=[]), node.test)
    loop = ast.copy_location(ast.While(test=true, body=[stop, *node.body], orelse=[]), node)
    after = _located(ast.If(test=names[2], body=node.orelse, orelse=[]), node)
    lower_body(cx, [_located(before, node), loop, after])
    cx.frame = frame


def _leave(cx: Context, node: ast.Break | ast.Continue) -> None:
    if not cx.loops:
        return
    loop = cx.loops[-1]
    if cx.env is not None:
        (loop.breaks if isinstance(node, ast.Break) else loop.continues).append(cx.env)
    kind = Break if isinstance(node, ast.Break) else Continue
    cx.emit(kind(cx.span(node)))
    cx.env = None


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
    elif cx.depends_locally(value) or (cx.control and wanted != NONE):
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

    then, orelse = branch(cx, fail, go_on, cx.depends_locally(test))
    negated = Apply("not", (test,), BOOL, span)
    cx.out.append(If(negated, then, orelse, span))
    if isinstance(node.test, ast.Constant) and not node.test.value:
        cx.env = None


def _try(cx: Context, node: ast.Try) -> None:
    outer, cx.in_try = cx.in_try, True
    before = dict(cx.env or {})
    with cx.watching() as assigned, cx.writing() as out:
        lower_body(cx, node.body)
        body = tuple(out)
    after = dict(cx.env) if cx.env is not None else None
    with cx.writing() as out:
        lower_body(cx, node.orelse)
        orelse = tuple(out)
    end = cx.env
    # A handler may start after any statement of the body: with what held before, or with anything it assigned.
    start = join_envs(before, after) or {}
    start |= {name: join_vars(name, start.get(name), var) for name, var in assigned.items()}
    handlers = []
    for each in node.handlers:
        cx.env = dict(start)
        classes = _handled(cx, each)
        name = cx.name(each.name) if each.name else None
        if name is not None:
            cx.set(name, Var(Fault("Exception")))
        inside, cx.in_handler = cx.in_handler, True
        with cx.writing() as out:
            lower_body(cx, each.body)
            handlers.append(Handler(classes, name, tuple(out)))
        cx.in_handler = inside
        if cx.env is not None and name is not None:
            cx.env.pop(name, None)
        end = join_envs(end, cx.env)
    cx.env = join_envs(start, end)
    with cx.watching() as finally_, cx.writing() as out:
        lower_body(cx, node.finalbody)
        final = tuple(out)
    if any(isinstance(s, Return) for s in walk(final)) or any(escapes(final)):
        cx.error(node, "AB501", "return, break or continue inside finally", "leave after the try statement")
    cx.env = None if end is None or cx.env is None else {**end, **{n: cx.env[n] for n in finally_ if n in cx.env}}
    cx.in_try = outer
    cx.out.append(Try(body, tuple(handlers), orelse, final, cx.span(node)))


def _handled(cx: Context, handler: ast.ExceptHandler) -> tuple[type[BaseException], ...]:
    if handler.type is None:
        cx.error(handler, "AB501", "a bare except hides every mistake", "name the exceptions: except ValueError:")
        return (Exception,)
    nodes = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    found = []
    for node in nodes:
        value = resolve.static(cx, node)
        if value is MISSING or not resolve.is_exception(value):
            cx.error(node, "AB206", f"'{cx.text(node)}' is no exception class", "name an exception class")
        else:
            found.append(value)
    return tuple(found)


def comprehension_loop(cx: Context, node: ast.ListComp | ast.SetComp | ast.DictComp) -> Expr:
    """`[self.t[k] for k in keys]` as the loop that it is."""
    number = cx.fresh("comp.") + "."
    out = f"{number}out"
    kind = {ast.ListComp: "list", ast.SetComp: "set", ast.DictComp: "dict"}[type(node)]
    start = {"list": ast.List(elts=[], ctx=ast.Load()), "dict": ast.Dict(keys=[], values=[])}.get(
        kind, ast.Call(func=ast.Name(id="set", ctx=ast.Load()), args=[], keywords=[])
    )
    result = ast.Name(id=out, ctx=ast.Load())
    inner: ast.stmt
    if isinstance(node, ast.DictComp):
        # The key is evaluated before the value, other than in an assignment.
        pair = ast.Tuple(elts=[node.key, node.value], ctx=ast.Load())
        names = [ast.Name(id=f"{number}{part}", ctx=ast.Store()) for part in ("key", "value")]
        unpack = ast.Assign(targets=[ast.Tuple(elts=[*names], ctx=ast.Store())], value=pair, type_comment=None)
        target = ast.Subscript(value=result, slice=ast.Name(id=f"{number}key", ctx=ast.Load()), ctx=ast.Store())
        store = ast.Assign(targets=[target], value=ast.Name(id=f"{number}value", ctx=ast.Load()), type_comment=None)
        inner = ast.If(test=ast.Constant(True), body=[unpack, store], orelse=[])
    else:
        method = ast.Attribute(value=result, attr="append" if kind == "list" else "add", ctx=ast.Load())
        assert not isinstance(node, ast.DictComp)
        inner = ast.Expr(value=ast.Call(func=method, args=[node.elt], keywords=[]))
    for generator in reversed(node.generators):
        for test in reversed(generator.ifs):
            inner = ast.If(test=test, body=[inner], orelse=[])
        inner = ast.For(target=generator.target, iter=generator.iter, body=[inner], orelse=[], type_comment=None)
    first = ast.Assign(targets=[ast.Name(id=out, ctx=ast.Store())], value=start, type_comment=None)
    renamed = _Rename({n.id for g in node.generators for n in ast.walk(g.target) if isinstance(n, ast.Name)}, number)
    loop = renamed.visit(copy.deepcopy(inner))
    loop.iter = node.generators[0].iter  # evaluated outside, where the comprehension's names mean nothing yet
    stmts = [_located(first, node), _located(loop, node)]
    frame = cx.frame
    own = {out, f"{number}key", f"{number}value", *(number + n for n in renamed.names)}
    cx.frame = frame.binding(own)
    lower_body(cx, stmts)
    cx.frame = frame
    var = (cx.env or {}).get(cx.name(out))
    found: Type = UNKNOWN if var is None else var.type
    return Local(cx.name(out), found, cx.span(node), var is not None and var.multi)


class _Rename(ast.NodeTransformer):
    """The variables of a comprehension are its own."""

    def __init__(self, names: set[str], prefix: str) -> None:
        self.names, self.prefix = names, prefix

    def visit_Lambda(self, node: ast.Lambda) -> ast.Lambda:
        own = {a.arg for a in ast.walk(node.args) if isinstance(a, ast.arg)}
        inner = _Rename(self.names - own, self.prefix)
        return ast.copy_location(ast.Lambda(args=node.args, body=inner.visit(node.body)), node)

    def visit_Name(self, node: ast.Name) -> ast.Name:
        if node.id in self.names:
            return ast.copy_location(ast.Name(id=self.prefix + node.id, ctx=node.ctx), node)
        return node


def _located(node: ast.stmt, where: ast.AST) -> ast.stmt:
    for inner in ast.walk(node):
        if not hasattr(inner, "lineno"):
            ast.copy_location(inner, where)
    return ast.fix_missing_locations(node)
