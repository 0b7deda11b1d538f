"""The state of a lowering in progress: where we are, what is known, what has been written so far."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from anabranch.frontend.read import span_of
from anabranch.frontend.scope import Env, Var, join_vars
from anabranch.frontend.unit import Names, Unit
from anabranch.graph.code import Apply, Assign, Config, Const, Expr, Local, Stmt, operands
from anabranch.graph.span import Span
from anabranch.lang.types import UNKNOWN, Set, Type


@dataclass(frozen=True)
class Frame:
    """The function whose text is being lowered. Inlined helpers prefix their variables."""

    file: str
    names: Names
    self_name: str | None
    prefix: str
    locals: frozenset[str]
    kind: str  # "entry", "helper" (inlined, with state), "function" (without state), "init"
    same: Mapping[str, str] = field(default_factory=dict)  # parameters of a helper that are variables of its caller

    def binding(self, names: Iterable[str]) -> Frame:
        """The frame inside a lambda or comprehension that has variables of its own."""
        bound = set(names)
        same = {name: variable for name, variable in self.same.items() if name not in bound}
        return replace(self, locals=self.locals | bound, same=same)


@dataclass
class Loop:
    """Environments that leave a loop, or reach its next iteration, from inside."""

    breaks: list[Env] = field(default_factory=list)
    continues: list[Env] = field(default_factory=list)


@dataclass
class Context:
    unit: Unit
    frame: Frame
    env: Env | None
    out: list[Stmt] = field(default_factory=list)
    loops: list[Loop] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    everywhere: int = 0
    control: bool = False  # inside a branch whose condition depends on the number of workers
    left_early: bool = False  # some rows have gone, by such a condition: all that follows depends on it
    in_try: bool = False
    in_handler: bool = False
    results: list[Type] = field(default_factory=list)
    declared: dict[str, Type] = field(default_factory=dict)
    calls: tuple[str, ...] = ()
    watched: list[Env] = field(default_factory=list)
    inlined: list[int] = field(default_factory=lambda: [0])
    returned: list[Env] = field(default_factory=list)  # where an inlined helper returned
    flagged: bool = False  # and must say so
    unnamed: set[str] = field(default_factory=set)  # what was read and has no name of the user's yet

    def span(self, node: ast.AST) -> Span:
        return span_of(self.frame.file, node)

    def error(
        self, node: ast.AST, code: str, message: str, hint: str, *, about: str = "", consequence: bool = False
    ) -> Expr:
        """Report, and give an expression of unknown type so that the reading goes on without echoes.

        `about` names the variable that it is about: in one function the same is told of it once.
        """
        span = self.span(node)
        function = getattr(self.frame.names.function, "__qualname__", "")
        subject = f"{self.frame.file}:{function}:{about}" if about else ""
        self.unit.report.add(code, span, message, hint, subject=subject, consequence=consequence)
        return Const(None, UNKNOWN, span)

    def source(self, span: Span) -> str:
        """What the user wrote there."""
        line = linecache.getline(span.file, span.line)
        shown = line[span.column : span.end_column] if span.line == span.end_line else line[span.column :].rstrip()
        return shown or "this value"

    def text(self, node: ast.AST) -> str:
        return ast.unparse(node)

    def name(self, name: str) -> str:
        return self.frame.same.get(name, self.frame.prefix + name)

    def fresh(self, base: str) -> str:
        """A name that no user can write."""
        number = self.counts[base] = self.counts.get(base, 0) + 1
        if base.endswith("."):
            return f"{base}{number}"
        return base if number == 1 else f"{base}.{number}"

    def emit(self, stmt: Stmt) -> None:
        if self.env is not None:
            self.out.append(stmt)

    def bind(self, base: str, value: Expr) -> Local:
        """Keep a value in a new variable; its evaluation happens here."""
        name = self.fresh(base)
        self.set(name, Var(value.type, is_multi(value), self.depends_locally(value)))
        self.emit(Assign(name, value, value.span))
        return Local(name, value.type, value.span, is_multi(value))

    def set(self, name: str, var: Var) -> None:
        if self.env is not None:
            if self.control and not var.local:
                var = Var(var.type, var.multi, True, var.handle)
            self.env[name] = var
            for watched in self.watched:
                watched[name] = join_vars(name, watched.get(name, var), var)

    def depends_locally(self, expr: Expr) -> bool:
        """Does it depend on a local read of partial state?"""
        if isinstance(expr, Local):
            var = (self.env or {}).get(expr.name)
            return var is not None and var.local
        if isinstance(expr, Apply) and expr.op == "local":
            return False
        return any(map(self.depends_locally, operands(expr)))

    def stable(self, expr: Expr) -> bool:
        """Does it give the same whenever it is evaluated from here on, without failing?"""
        if isinstance(expr, Apply) and expr.op in ("tuple", "list", "dict"):
            return all(map(self.stable, expr.args))
        empty_set = isinstance(expr, Apply) and expr.op == "call" and len(expr.args) == 1 and isinstance(expr.type, Set)
        return isinstance(expr, Const | Local | Config) or empty_set

    @contextmanager
    def writing(self) -> Iterator[list[Stmt]]:
        """Collect the statements written inside apart."""
        kept, self.out = self.out, []
        try:
            yield self.out
        finally:
            self.out = kept

    @contextmanager
    def watching(self) -> Iterator[Env]:
        """Everything assigned inside, each variable with all it was assigned."""
        found: Env = {}
        self.watched.append(found)
        try:
            yield found
        finally:
            self.watched = [w for w in self.watched if w is not found]

    @contextmanager
    def depending(self, local: bool) -> Iterator[None]:
        kept, self.control = self.control, self.control or local
        try:
            yield
        finally:
            self.control = kept or self.left_early


def is_multi(expr: Expr) -> bool:
    if isinstance(expr, Local):
        return expr.multi
    return any(map(is_multi, operands(expr)))
