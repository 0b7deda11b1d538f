"""An entry as one kernel, uncut: for where all state is in one address space.

With one instance (`single`) nothing is asked about owners. Else `here`, the instance of partial and replicated state,
is where the row starts; a winding entry stays there, a straight one moves with its tasks from key to key, but not with
the iterations of a fan-out, which come back. What is done everywhere is done at one instance after the other, in the
order of their numbers; a value that each gives is a list of them, and with one instance that value itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext

from anabranch.graph.code import Access, Assign, Body, Expr, For, Gather, Send, Stmt, Target, While, walk
from anabranch.graph.liveness import assigned
from anabranch.graph.nodes import Dispatch, Entry, Graph
from anabranch.kernels.native import containers
from anabranch.kernels.native.accesses import Accesses, written_in
from anabranch.kernels.native.ahead import write_ahead
from anabranch.kernels.native.dense_log import forgetting
from anabranch.kernels.native.keys import Ahead, hash_of, keys_ahead
from anabranch.kernels.native.layout import NotInKernels
from anabranch.kernels.native.loops import Look
from anabranch.kernels.native.module import Module, settled
from anabranch.kernels.native.once import ALONE, ARGS, INSTANCE
from anabranch.kernels.native.registers import Value, convert, registers, width
from anabranch.kernels.native.rowio import parameters, put_result, write_loop
from anabranch.kernels.native.scope import Scope
from anabranch.kernels.native.source import Source
from anabranch.kernels.native.statements import Statements, variable_types
from anabranch.kernels.whole import multi_names
from anabranch.lang.keys import BLOCK
from anabranch.lang.types import INT, NONE, List, Type, thaw

SINGLE = """\
store(c, i)
store(c + 80, scratch)
store(marks, load(n0 + 8))
row(c, i, i{args})
"""
SEVERAL = """\
store(c, i)
store(c + 80, scratch)
for m in range(count):
    store(marks + 8 * m, load(load(instances + 8 * m) + 8))
row(c, i, i{args})"""


class WholeStatements(Statements):
    """Statements that know of values of which there is one for each instance: a list, where there are several."""

    def __init__(self, scope: Scope, place: InMemory) -> None:
        super().__init__(scope, place)
        self._in_memory = place

    def _stmt(self, stmt: Stmt) -> bool:
        scope, of_each = self.scope, self._in_memory.of_each
        match stmt:
            case Gather(target, source, t) if scope.alone:
                scope.assign(target, containers.list_of(scope, [scope.value(source)], t))
            case Gather(target, source, t):
                scope.assign(target, of_each([source], lambda _: scope.value(source), t))
            case Assign(target, value) if multi_names(value) and not scope.alone:
                scope.assign(target, of_each([value], lambda _: scope.value(value), List(value.type)))
            case _:
                return super()._stmt(stmt)
        return True


class InMemory:
    """The place of a whole entry: every instance of every state at hand."""

    def __init__(self, scope: Scope, graph: Graph, entry: Entry, ahead: Sequence[Ahead], single: bool) -> None:
        self.scope, self.out, self._graph, self._entry, self._single = scope, scope.out, graph, entry, single
        self._accesses = Accesses(scope, scope.module.shapes, ahead)
        everything = [s for s in walk(entry.body) if isinstance(s, Access)]
        self._order = {id(s): i for i, s in enumerate(everything)}
        self._all = everything
        local = any(a.key is None and not a.everywhere for a in everything)
        self.moves = entry.straight and local and not single
        self.needs_here = local and not single
        flows = [f for f in graph.flows if graph.task(f.source).entry == entry.name]
        inside = {f.target for f in flows if f.each}
        self._coming_back = [s for name in inside for s in walk(graph.task(name).body) if isinstance(s, Access)]
        self._flows = [f for f in flows if f.key is not None and not f.each and f.source not in inside]
        self.bodies: list[Body] = []
        self._instances: dict[str, str] = {}

    def access(self, stmt: Access) -> None:
        state, borrow = self._graph.state(stmt.state), self._borrow(stmt)
        if not stmt.everywhere or self._single:
            self._accesses.write(stmt, state, self._instance(stmt), borrow)
            return
        known = self._accesses.branch()

        def value(at: str) -> Value:
            instance = self.out.fresh(f"load(load(c + 40) + 8 * {at})", "n")
            return self._accesses.value(stmt, state, instance, borrow)

        found = self.of_each(stmt.args, value, List(stmt.type))
        self._accesses.join(known)
        self._accesses.forget(written_in((stmt,)), set())
        if stmt.target is not None:
            self.scope.assign(stmt.target, found)

    def of_each(self, exprs: Sequence[Expr], value: Callable[[str], Value], t: Type) -> Value:
        """A list of what `value` writes for each instance, where multi-valued variables have the value of that one."""
        out, scope = self.out, self.scope
        spread = {
            n: scope.write.name_words(scope.read(n)) for n in dict.fromkeys(n for e in exprs for n in multi_names(e))
        }
        made, at = containers.list_of(scope, [], t), out.fresh("0", "m")
        with out.block(f"while {at} < load(c + 56):"), scope.binding():
            for name, values in spread.items():
                of = containers.item_type(values)
                item = out.fresh(f"load({values.word}) + {8 * width(of)} * {at}")
                scope.bind(name, scope.write.fresh_words(scope.load_words(of, item)))
            containers.append(scope, made, value(at))
            out.line(f"{at} += 1")
        return made

    def _instance(self, stmt: Access) -> str:
        if self._single:
            return INSTANCE
        out = self.out
        if stmt.key is None:
            return out.let("load(load(c + 40) + 8 * here)", "n")
        key = self.scope.write.named(stmt.key)
        owner = out.let(f"load(load(c + 64) + 8 * ({hash_of(key)} & 1023))", "o")
        if self.moves and not any(a == stmt and a.span == stmt.span for a in self._coming_back):
            out.line(f"here = {owner}")
        return out.let(f"load(load(c + 40) + 8 * {owner})", "n")

    def _borrow(self, stmt: Access) -> bool:
        """May what is read stay where it is, because nothing writes the state afterwards?"""
        at = self._order.get(id(stmt), -1)
        later = any(s.writes and s.state == stmt.state for s in self._all[at + 1 :])
        return not later and not any(stmt.state in written_in(body) for body in self.bodies)

    def returns(self, value: Value) -> None:
        put_result(self.scope, convert(value, self._entry.result), "i")
        self.out.line("return 0")

    def send(self, stmt: Send) -> None:
        raise NotInKernels("a whole entry sends")

    def enter(self, loop: For | While) -> None:
        key = next((f.key for f in self._flows if f.span == loop.span), None)
        if self.moves and key is not None:
            self.out.line(f"here = load(load(c + 64) + 8 * ({hash_of(self.scope.write.named(key))} & 1023))")

    def looking_ahead(self, target: Target, body: Body) -> AbstractContextManager[Look | None]:
        return self._accesses.looking_ahead(target, body) if self._single else nullcontext()

    def branch(self) -> object:
        return self._accesses.branch()

    def join(self, before: object) -> None:
        assert isinstance(before, dict)
        self._accesses.join(before)

    def forget(self, body: Body, names: Iterable[str] = ()) -> None:
        self._accesses.forget(written_in(body), assigned(body) | set(names))


def write_whole(module: Module, graph: Graph, entry: Entry, single: bool) -> str:
    """`kernel(context)`: runs rows of the entry."""
    given = {p.name: p.type for p in entry.parameters}
    registers(thaw(entry.result))
    keys: list[Ahead] = []
    ahead = ""
    if single:
        module.once.let(INSTANCE, ALONE)
        keys = keys_ahead(module.shapes, entry.body, given)
        ahead = write_ahead(module, keys, given, lambda scope, names: _read(scope, given, names))

    def write(flagged: set[str]) -> tuple[Source, Scope]:
        out = Source()
        scope = Scope(module, out, variable_types(entry.body, given, not single), flagged)
        scope.set, scope.alone = set(given), single
        place = InMemory(scope, graph, entry, keys if ahead else (), single)
        out.line("@compiled")
        with out.block(f"def row(c, i, j{ARGS}):"):
            out.line("k = load(c + 72)")
            start = len(out.lines)
            parameters(scope, given, "i")
            if place.needs_here:
                _write_here(scope, entry)
            if WholeStatements(scope, place).body(entry.body):
                place.returns(Value(NONE, ()))
            read = {w for p in given for w in scope.variable(p).words}
            out.lines[start:start] = [f"    {line}" for line in scope.initial() if line.split(" = ")[0] not in read]
        return out, scope

    row = str(settled(write))
    prologue, body, begin = "count, instances, marks = load(c + 56), load(c + 40), load(c + 48)", SEVERAL, ""
    if single:
        begin, behind = forgetting(module, entry.body)
        prologue, body = "marks = load(c + 48)", SINGLE + behind
    loop = write_loop(prologue, body.replace("{args}", ARGS), "{}" if ahead else "", begin)
    return "\n\n".join([row, ahead, loop])


def _read(scope: Scope, given: dict[str, Type], names: set[str]) -> None:
    parameters(scope, {n: given[n] for n in given if n in names}, "i", list(given.items()), False)


def _write_here(scope: Scope, entry: Entry) -> None:
    """The instance at which the row starts."""
    if entry.dispatch is Dispatch.BY_KEY and entry.key is not None:
        hashed = hash_of(scope.write.named(entry.key))
    else:
        hashed = hash_of(Value(INT, (f"((load(c + 104) + i) // {BLOCK})",)))
    scope.out.line(f"here = load(load(c + 64) + 8 * ({hashed} & 1023))")
