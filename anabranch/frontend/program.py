"""From a class to its states and the typed bodies of its entries. What is wrong with the class is reported here."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from anabranch import lang
from anabranch.frontend import resolve
from anabranch.frontend.configuration import configuration
from anabranch.frontend.context import Context, Frame
from anabranch.frontend.diagnostics import Report
from anabranch.frontend.read import NoSource, Source, head_of, plain_function, read_class, span_of
from anabranch.frontend.scope import Var
from anabranch.frontend.statements import lower_body
from anabranch.frontend.unit import MISSING, Definition, Names, Unit, assigned_names, self_name
from anabranch.graph.code import Body, Function
from anabranch.graph.nodes import State
from anabranch.graph.span import Span
from anabranch.lang.distribution import Distribution
from anabranch.lang.spec import EntrySpec, ProgramSpec, StateSpec, describe
from anabranch.lang.types import NONE, UNKNOWN, Tuple, Type, freeze


@dataclass(frozen=True)
class Lowered:
    """An entry as typed code, before it is cut."""

    spec: EntrySpec
    body: Body
    span: Span


@dataclass(frozen=True)
class Reading:
    """All that was read of a class."""

    unit: Unit
    entries: tuple[Lowered, ...]
    span: Span

    @property
    def functions(self) -> tuple[Function, ...]:
        return tuple(self.unit.functions.values())


def read_program(cls: Any, report: Report) -> Reading | None:
    """Read a class; None if there is nothing to read."""
    if not (isinstance(cls, type) and issubclass(cls, lang.Program)) or cls is lang.Program:
        if isinstance(cls, type):
            got, do = f"the class {cls.__name__}", f"write class {cls.__name__}(ab.Program)"
        else:
            got, do = repr(cls), "pass the class"
        raise TypeError(f"a program is a class that derives from ab.Program, got {got}: {do}")
    try:
        source = read_class(cls)
    except NoSource as error:
        report.add(
            "AB101",
            Span("<unknown>", 1, 0, 1, 0),
            f"the source of {cls.__name__} cannot be read: {error}",
            "write the class in a file or a notebook cell",
        )
        return None
    spec = describe(cls)
    span = head_of(source.file, source.node)
    _check_class(cls, source, span, report)
    _report_problems(spec, source, report)
    states = _states(spec, source, report)
    broken = frozenset(p.where.partition(":")[2] for p in spec.problems if p.where.startswith(("state:", "config:")))
    unit = Unit(spec, source, report, states, {}, source.methods(), broken)
    unit.config.update({name: freeze(kind) for name, kind in configuration(unit).items()})
    entries = tuple(_entries(unit))
    _check_use(unit, entries, span)
    return Reading(unit, entries, span)


def _check_class(cls: type, source: Source, span: Span, report: Report) -> None:
    programs = [b for b in cls.__bases__ if b is not lang.Program]
    if programs:
        report.add(
            "AB103",
            span,
            f"{cls.__name__} inherits from {', '.join(b.__name__ for b in programs)}",
            "derive from ab.Program alone, and share code through functions of the module",
        )
    for node in source.node.body:
        if isinstance(node, ast.ClassDef):
            report.add(
                "AB102",
                head_of(source.file, node),
                f"the class {node.name} stands inside a program",
                "define it beside the program",
            )
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            _check_method(source, node, report)


_DESCRIPTORS = ("property", "staticmethod", "classmethod", "cached_property")


def _check_method(source: Source, node: Definition, report: Report) -> None:
    head = head_of(source.file, node)
    if isinstance(node, ast.AsyncFunctionDef):
        report.add("AB501", head, f"'{node.name}' is async", "write an ordinary method: def " + node.name)
    for decorator in node.decorator_list:
        text = ast.unparse(decorator)
        name = text.split("(")[0].rpartition(".")[2]
        span = span_of(source.file, decorator)
        if name in _DESCRIPTORS or name in ("setter", "deleter"):
            report.add(
                "AB112",
                span,
                f"'{node.name}' is a {name}",
                "write an entry with parameters, or a helper: def _name(self, ...)",
            )
        elif name == "every":
            report.add(
                "AB901",
                span,
                "ab.every is reserved: not yet available",
                "call the entry from outside, with the time as a parameter",
            )
        else:
            report.add(
                "AB104", span, f"'{node.name}' has the decorator {text}", "call the function inside the entry instead"
            )
    if self_name(node) is None:
        report.add("AB108", head, f"'{node.name}' has no self", f"write def {node.name}(self, ...)")


def _report_problems(spec: ProgramSpec, source: Source, report: Report) -> None:
    for problem in spec.problems:
        if problem.code == "AB112" or "ab.every" in problem.message:
            continue  # told at the decorator, by _check_method
        span = _where(problem.where, spec, source)
        report.add(problem.code, span, problem.message, problem.hint)


def _where(where: str, spec: ProgramSpec, source: Source) -> Span:
    kind, _, rest = where.partition(":")
    if kind == "state" or kind == "config":
        for node in source.node.body:
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id == rest:
                return span_of(source.file, node)
            if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == rest for t in node.targets):
                return span_of(source.file, node)
    if kind == "entry":
        name, _, part = rest.partition(":")
        method = source.methods().get(name)
        if method is not None:
            if part == "return" and method.returns is not None:
                return span_of(source.file, method.returns)
            for parameter in ast.walk(method.args):
                if isinstance(parameter, ast.arg) and parameter.arg == part:
                    return span_of(source.file, parameter)
            return head_of(source.file, method)
    return head_of(source.file, source.node)


def _states(spec: ProgramSpec, source: Source, report: Report) -> Mapping[str, State]:
    uses = _axes(spec, source)
    found = {}
    for name, each in spec.states.items():
        span = _where(f"state:{name}", spec, source)
        axis = None
        if each.distribution is Distribution.PARTITIONED:
            axis = _axis(each.cls, each.key, uses.get(name, {}), name, report)
        found[name] = State(name, each.distribution, each.type_text, each.cls, each.key, each.value, axis, span)
        if _needs_template(each.cls) and not _has_template(source, name):
            report.add(
                "AB210",
                span,
                f"'{name}' needs a template: nothing says what {each.cls.__name__} it starts from",
                f"set it in __init__: self.{name} = {_template_hint(each)}",
            )
    return found


_TEMPLATES = {lang.Value: "({})", lang.DenseVector: ".zeros(8)", lang.DenseMatrix: ".zeros(8, 8)"}
_EXAMPLES = {"int": "0", "float": "0.0", "str": "''", "bool": "False", "bytes": "b''"}


def _template_hint(spec: StateSpec) -> str:
    prefix = "ab." if spec.cls in _TEMPLATES else ""
    text = _TEMPLATES.get(spec.cls, "(...)").replace("{}", _EXAMPLES.get(str(spec.value), "..."))
    return f"{prefix}{spec.cls.__name__}{text}"


def _needs_template(cls: type) -> bool:
    if cls in _TEMPLATES:
        return True
    if cls in (lang.Table, lang.Vector, lang.Matrix):
        return False
    try:
        parameters = list(inspect.signature(cls).parameters.values())
    except (TypeError, ValueError):
        return True
    return any(p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters)


def _has_template(source: Source, name: str) -> bool:
    """Is the state given a value in the class body, or mentioned in `__init__`?"""
    for node in source.node.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id == name:
            if node.value is not None:
                return True
        elif isinstance(node, ast.FunctionDef) and node.name == "__init__":
            return any(isinstance(n, ast.Attribute) and n.attr == name for n in ast.walk(node))
    return False


def _axes(spec: ProgramSpec, source: Source) -> dict[str, dict[str, Span]]:
    """For each state, which of `row` and `column` its accesses use, and where first."""
    found: dict[str, dict[str, Span]] = {}
    for node in ast.walk(source.node):
        if not (isinstance(node, ast.Attribute) and node.attr in ("row", "column", "set_row")):
            continue
        owner = node.value
        if isinstance(owner, ast.Attribute) and isinstance(owner.value, ast.Name) and owner.attr in spec.states:
            kind = "column" if node.attr == "column" else "row"
            found.setdefault(owner.attr, {}).setdefault(kind, span_of(source.file, node))
    return found


def _axis(cls: type, key: Type | None, uses: Mapping[str, Span], name: str, report: Report) -> str:
    if "row" in uses and "column" in uses:
        later = max(uses.values())
        report.add(
            "AB209",
            later,
            f"'{name}' is accessed by row and by column: it can be partitioned by one of them only",
            "keep a second matrix for the other direction, or make it ab.Partial",
        )
    if cls is lang.Table:
        return "row" if "row" in uses and isinstance(key, Tuple) else "key"
    if cls in (lang.Matrix, lang.DenseMatrix):
        return "column" if "column" in uses else "row"
    return "key"


def _entries(unit: Unit) -> Iterator[Lowered]:
    spec = unit.spec
    for name, entry in spec.entries.items():
        definition = unit.methods.get(name)
        if definition is None and name in vars(spec.cls):
            unit.report.add(
                "AB501",
                head_of(unit.source.file, unit.source.node),
                f"the entry '{name}' is not written as a method of the class",
                f"write def {name}(self, ...) in the body of the class",
            )
        if not isinstance(definition, ast.FunctionDef):
            continue
        span = head_of(unit.source.file, definition)
        if _yields(unit, definition):
            continue
        function = plain_function(vars(spec.cls).get(name))
        written = [a.arg for a in ast.walk(definition.args) if isinstance(a, ast.arg)][1:]
        own = frozenset((*written, *assigned_names(definition.body)))
        frame = Frame(unit.source.file, Names(function, spec.namespace), self_name(definition), "", own, "entry")
        env = {name: Var(UNKNOWN) for name in written}
        env |= {p.name: Var(p.type or UNKNOWN) for p in entry.parameters}
        cx = Context(unit, frame, env)
        cx.calls = (name,)
        cx.declared["return"] = entry.result or UNKNOWN
        _check_shadows(cx, definition, entry)
        lower_body(cx, definition.body)
        if cx.env is not None and entry.result not in (NONE, None):
            unit.report.add(
                "AB212",
                span,
                f"'{name}' promises {entry.result}, but its end can be reached without return",
                "return a value on every path, or annotate -> None",
            )
        yield Lowered(entry, tuple(cx.out), span)
    for name in spec.helpers:
        helper = unit.methods.get(name)
        if helper is not None:
            _yields(unit, helper)


def _yields(unit: Unit, definition: Definition) -> bool:
    for node in ast.walk(definition):
        if isinstance(node, ast.Yield | ast.YieldFrom):
            unit.report.add(
                "AB901", span_of(unit.source.file, node), "yield is reserved: not yet", "return a list of the rows"
            )
            return True
    return False


def _check_shadows(cx: Context, definition: ast.FunctionDef, entry: EntrySpec) -> None:
    for parameter in definition.args.args[1:]:
        value = cx.frame.names.find(parameter.arg)
        if getattr(value, "__name__", None) == "anabranch" or (value is not MISSING and id(value) in resolve.our_ids()):
            cx.error(
                parameter, "AB110", f"the parameter '{parameter.arg}' hides a name that the program needs", "rename it"
            )


def _check_use(unit: Unit, entries: tuple[Lowered, ...], span: Span) -> None:
    if not unit.spec.entries:
        unit.report.add(
            "AB114", span, f"{unit.spec.cls.__name__} has no entry", "write a public method with annotations"
        )
        return
    used = {
        node.attr
        for node in ast.walk(unit.source.node)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    }
    outside = {
        n.attr
        for d in unit.methods.values()
        if d.name != "__init__"
        for n in ast.walk(d)
        if isinstance(n, ast.Attribute)
    }
    if unit.report.failed:
        return  # what uses it may be what is wrong
    for name, state in unit.states.items():
        if name not in used or name not in outside:
            unit.report.add("AB114", state.span, f"no entry uses the state '{name}'", "use it or remove it")
