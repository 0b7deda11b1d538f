"""An entry as one Python function, uncut: for where all state is in one address space.

`here`, the instance of partial and replicated state, is where the row starts. A winding entry stays there; a straight
one moves with its tasks, from key to key, but not with the iterations of a fan-out, which come back.
"""

from __future__ import annotations

import ast

from anabranch.graph.code import (
    Access,
    Comprehension,
    Expr,
    For,
    Lambda,
    Local,
    Send,
    While,
    operands,
    target_names,
    walk,
)
from anabranch.graph.nodes import Entry, Graph
from anabranch.graph.verify import BrokenGraph
from anabranch.kernels.expressions import Scope, attribute, call, expression, item, load, store
from anabranch.kernels.functions import copied, definition, named, part_name
from anabranch.kernels.names import PRIVATE, identifier
from anabranch.kernels.owners import owners
from anabranch.kernels.statements import Statements, assign, read, touch

MEMORY, HERE, OWNER, PART = f"{PRIVATE}memory", f"{PRIVATE}here", f"{PRIVATE}owner", f"{PRIVATE}part"


def multi_names(expr: Expr) -> list[str]:
    """The multi-valued variables that an expression reads, each once."""
    match expr:
        case Local(name, multi=True):
            return [name]
        case Lambda(params, body):
            return [n for n in multi_names(body) if n not in params]
    own = {n for c in expr.clauses for n in target_names(c.target)} if isinstance(expr, Comprehension) else set()
    return list({n: None for inner in operands(expr) for n in multi_names(inner) if n not in own})


class InMemory:
    """The place of a whole entry: every instance of every state at hand."""

    def __init__(self, scope: Scope, graph: Graph, entry: Entry) -> None:
        self._scope, self._entry = scope, entry
        self._owners = owners(entry.body)
        self._accesses = [s for s in walk(entry.body) if isinstance(s, Access)]
        local = any(a.key is None and not a.everywhere for a in self._accesses)
        self._moves = entry.straight and local
        flows = [f for f in graph.flows if graph.task(f.source).entry == entry.name]
        inside = {f.target for f in flows if f.each}
        self._coming_back = [s for name in inside for s in walk(graph.task(name).body) if isinstance(s, Access)]
        self._flows = [f for f in flows if f.key is not None and not f.each and f.source not in inside]

    def multi(self, expr: Expr) -> list[str]:
        return multi_names(expr)

    def access(self, stmt: Access) -> list[ast.stmt]:
        scope = self._scope
        args = [expression(scope, a) for a in stmt.args]
        parts = load(part_name(stmt.state))
        if stmt.everywhere:
            names = list({n: None for a in stmt.args for n in multi_names(a)})
            return [self._everywhere(stmt, parts, args, names)]
        if stmt.key is None:
            return [touch(scope, stmt, item(parts, load(HERE)), args)]
        owner = self._owners[id(stmt)]
        name = f"{PRIVATE}o{owner.number}"
        written: list[ast.stmt] = []
        if owner.fresh:
            written.append(named(name, call(load(OWNER), [expression(scope, stmt.key)])))
        if self._moves and not any(a == stmt and a.span == stmt.span for a in self._coming_back):
            written.append(named(HERE, load(name)))
        return [*written, touch(scope, stmt, item(parts, load(name)), args)]

    def _everywhere(self, stmt: Access, parts: ast.expr, args: list[ast.expr], names: list[str]) -> ast.stmt:
        """One value per instance, in the order of their numbers."""
        scope = self._scope
        target: ast.expr = ast.Name(id=PART, ctx=ast.Store())
        if names:
            variables = [ast.Name(id=identifier(n), ctx=ast.Store()) for n in names]
            target = ast.Tuple(elts=[target, *variables], ctx=ast.Store())
            parts = call(scope.fixed(zip), [parts, *(load(identifier(n)) for n in names)])
        clause = ast.comprehension(target=target, iter=parts, ifs=[], is_async=0)
        results = ast.ListComp(elt=read(scope, stmt, load(PART), args), generators=[clause])
        return ast.Expr(value=results) if stmt.target is None else assign(store(stmt.target), results)

    def enter(self, loop: For | While) -> list[ast.stmt]:
        """A loop that belongs to one key as a whole moves the row there, however often it runs."""
        key = next((f.key for f in self._flows if f.span == loop.span), None)
        if not self._moves or key is None:
            return []
        return [named(HERE, call(load(OWNER), [expression(self._scope, key)]))]

    def returns(self, value: ast.expr) -> ast.stmt:
        return ast.Return(value=value)

    def send(self, stmt: Send, fan: bool) -> list[ast.stmt]:
        raise BrokenGraph(f"the uncut body of {self._entry.name} sends on flow {stmt.flow}")

    def prologue(self) -> list[ast.stmt]:
        """Arguments are the row's own; the states it touches have names."""
        scope = self._scope
        found = []
        for parameter in self._entry.parameters:
            given = load(identifier(parameter.name))
            own = copied(scope, parameter.type, given)
            if own is not given:
                found.append(named(identifier(parameter.name), own))
        for state in {a.state: None for a in self._accesses}:
            found.append(named(part_name(state), item(attribute(load(MEMORY), "parts"), ast.Constant(state))))
        if self._owners:
            found.append(named(OWNER, attribute(load(MEMORY), "owner")))
        return found


def write_whole(scope: Scope, graph: Graph, entry: Entry) -> ast.FunctionDef:
    """`f(memory, home, *values)`, as `PythonCode.whole` says."""
    place = InMemory(scope, graph, entry)
    body = Statements(scope, place).body(entry.body)
    names = [MEMORY, HERE, *(identifier(v.name) for v in entry.parameters)]
    return definition(scope, entry.span, entry.name, names, [*place.prologue(), *body])
