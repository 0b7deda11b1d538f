"""The Python tier: a graph's functions as Python functions, built as syntax trees and compiled.

Laws: an emitted function gives what the graph says, in Python's own order of evaluation; it is compiled under the
user's file name with the user's line numbers, so that a traceback shows the user's own lines.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from threading import RLock
from types import CodeType, FunctionType
from typing import Any, TypeVar

from anabranch.graph.code import Function
from anabranch.graph.nodes import Graph
from anabranch.kernels.allowance import Allowance
from anabranch.kernels.expressions import Scope, expression
from anabranch.kernels.functions import checks, definition, write_function, write_guard
from anabranch.kernels.limits import Limits, foreign
from anabranch.kernels.lines import Lines
from anabranch.kernels.names import Pool, identifier
from anabranch.kernels.tasks import write_task
from anabranch.kernels.whole import write_whole
from anabranch.lang import Program
from anabranch.lang.spec import describe

F = TypeVar("F", bound=Callable[..., Any])
OURS = "<anabranch>"  # no file of a user: what fails here belongs to the caller's line


class PythonCode:
    """The functions of a program's graph, as Python. Each is compiled when it is first asked for.

    With an `allowance` they end when it is spent; see `limits`.
    """

    def __init__(self, graph: Graph, program: Program, allowance: Allowance | None = None) -> None:
        self.graph, self.program, self.allowance = graph, program, allowance
        self._foreign = allowance is not None and foreign(graph)
        self._pool, self._lines, self._lock = Pool(), Lines(), RLock()
        self._tasks: dict[str, Callable[..., tuple[int, Any, Any]]] = {}
        self._wholes: dict[str, Callable[..., Any]] = {}
        self._keys: dict[str, Callable[..., Any]] = {}
        self._functions: dict[str, Callable[..., Any]] = {}

    def task(self, name: str) -> Callable[..., tuple[int, Any, Any]]:
        """`f(parts, out, *values)`: a task on one instance.

        `parts` maps the name of a state to its object, `values` are in the order of the task's inputs. It gives
        (flow number, key or None, values) where a send ends the task, (DONE, None, result) where the entry ends. A
        send of an iteration of a fan-out appends such a triple to `out` and goes on.

        The values of a send stand in the order of the target's inputs, UNSET where the flow brings none: the variable
        of a helper that has none, or the list of a gather over iterations. A gather over instances has this instance's
        value in the place of its list. The values of one iteration for a gather over iterations are those that the
        flow carries, in its order. Values that can be changed in place are copied.
        """

        def write() -> Callable[..., tuple[int, Any, Any]]:
            task = self.graph.task(name)
            scope = self._scope(self.graph.entry(task.entry).span.file)
            return self._outermost(self._compiled(scope, write_task(scope, self.graph, task)))

        return self._once(self._tasks, name, write)

    def whole(self, name: str) -> Callable[..., Any]:
        """`f(memory, home, *values)`: an entry from its start to its result, on all instances.

        `memory.parts[state]` is the list of a state's instances, `memory.owner(key)` the number of the one that owns
        a key, `home` that of the instance at which the row starts.
        """

        def write() -> Callable[..., Any]:
            entry = self.graph.entry(name)
            scope = self._scope(entry.span.file)
            return self._outermost(self._compiled(scope, write_whole(scope, self.graph, entry)))

        return self._once(self._wholes, name, write)

    def start_key(self, entry: str) -> Callable[..., Any]:
        """`f(*values)`: the key at which a row starts, of an entry that is dispatched by key."""

        def write() -> Callable[..., Any]:
            node = self.graph.entry(entry)
            if node.key is None:
                raise LookupError(f"{entry} starts {node.dispatch.value}: it has no key")
            scope = self._scope(node.span.file)
            names = [identifier(p.name) for p in node.parameters]
            body: list[ast.stmt] = [ast.Return(value=expression(scope, node.key))]
            return self._compiled(scope, definition(scope, node.span, entry, names, body))

        return self._once(self._keys, entry, write)

    def limited(self, allowance: Allowance) -> PythonCode:
        """The same functions, which end when the allowance is spent."""
        return PythonCode(self.graph, self.program, allowance)

    def place(self, entry: str, error: BaseException) -> tuple[str, int]:
        """File and line of the user's code for the note on an error, as a plain run of the entry gives them."""
        described = describe(type(self.program))
        functions = [*described.helpers.values(), *(e.function for e in described.entries.values())]
        files = {f.__code__.co_filename for f in functions if hasattr(f, "__code__")}
        code = described.entries[entry].function.__code__
        place = code.co_filename, code.co_firstlineno
        trace = error.__traceback__
        while trace is not None:
            at = trace.tb_frame.f_code.co_filename, trace.tb_lineno
            if trace.tb_frame.f_globals is self._pool.globals:
                at = self._lines.decode(*at)
            if at[0] in files:
                place = at
            trace = trace.tb_next
        return place

    def _function(self, name: str) -> Callable[..., Any]:
        return self._once(self._functions, name, lambda: self._written(self.graph.function(name)))

    def _once(self, known: dict[str, F], name: str, write: Callable[[], F]) -> F:
        found = known.get(name)
        if found is None:
            with self._lock:  # threads of an engine may ask at once
                if name not in known:
                    known[name] = write()
                found = known[name]
        return found

    def _written(self, function: Function) -> Callable[..., Any]:
        scope, first = self._scope(function.span.file), checks(function)
        found = self._compiled(scope, write_function(scope, function, function.body[first:]))
        if first == 0:
            return found
        ours = self._scope(OURS)
        return self._compiled(ours, write_guard(ours, function, ours.fixed(found)))

    def _scope(self, file: str) -> Scope:
        return Scope(file, self._pool, self._lines, self.program, self._function)

    def _outermost(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return self.allowance.traced(function) if self.allowance is not None and self._foreign else function

    def _compiled(self, scope: Scope, written: ast.FunctionDef) -> Callable[..., Any]:
        if self.allowance is not None:
            written = Limits(self.allowance, scope.fixed, self._pool.globals).visit(written)
        # optimize=0: an assertion that is in the graph is made, also under python -O.
        tree = ast.Module(body=[written], type_ignores=[])
        module = compile(tree, scope.file, "exec", dont_inherit=True, optimize=0)
        code = next(c for c in module.co_consts if isinstance(c, CodeType))
        return FunctionType(code, self._pool.globals)
