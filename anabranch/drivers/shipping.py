"""A program on its way to another process: by the import path of its class, or by its source; its values as values.

Law: what arrives has the class of the same text, the same configuration and the same templates; its graph is that of
the sender, or it does not start.
"""

from __future__ import annotations

import ast
import builtins
import dataclasses
import hashlib
import importlib
import inspect
import linecache
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import CodeType, FunctionType, ModuleType, SimpleNamespace
from typing import Any

from anabranch.compiler import compile
from anabranch.drivers.scopes import LOCALS, Scope, define, definitions
from anabranch.drivers.values import Values, records_of
from anabranch.graph.nodes import Graph
from anabranch.graph.text import write_graph
from anabranch.lang import Program
from anabranch.lang.errors import ProgramError
from anabranch.lang.marks import is_builtin
from anabranch.lang.program import seal
from anabranch.lang.release import VERSION
from anabranch.state.own import decode, encode

MAIN = "__anabranch_main__"  # what a script is called in a worker, so that it does not start anything
REWRITTEN = "@py"  # begins names that pytest puts into code whose assertions it has rewritten


def fingerprint(graph: Graph) -> str:
    """Of what a program does, and of the version that runs it."""
    text = f"{VERSION}\n{write_graph(graph)}"
    return hashlib.sha256(text.encode()).hexdigest()


# -- there ------------------------------------------------------------------------------------------------------------


def pack_program(program: Program, graph: Graph) -> bytes:
    cls = type(program)
    config = dict(program.__anabranch_config__)
    records = list(dict.fromkeys(_records_in(config)))
    own_types = [s.cls for s in graph.states if not is_builtin(s.cls)]
    bases = [base for base in cls.__mro__ if issubclass(base, Program) and not _is_ours(base)]
    texts = {name: _text_of(name, classes) for name, classes in _by_module([*bases, *own_types, *records]).items()}
    scope = Scope(cls, texts[cls.__module__]["source"]) if LOCALS in cls.__qualname__ else None
    for local in (c for c in [*own_types, *records] if LOCALS in c.__qualname__):
        if scope is None:
            raise ProgramError(
                f"{cls.__qualname__} uses {local.__qualname__}, which is defined in a function: a worker in another "
                "process cannot find it; define it where a module begins"
            )
        scope.add(local)
    templates = program.__anabranch_templates__
    ours = SimpleNamespace(**{name: state for name, state in templates.items() if is_builtin(state)})
    own = {name: encode(state) for name, state in templates.items() if not is_builtin(state)}
    described = {
        "class": (cls.__module__, cls.__qualname__),
        "texts": texts,
        "local": scope and (scope.definitions, scope.imports, _sent(cls, scope.values, records)),
        "path": [p or str(Path.cwd()) for p in sys.path if isinstance(p, str)],
        "records": [(r.__module__, r.__qualname__) for r in records],
        "config": _sent(cls, config, records),
        "templates": Values(records_of(graph)).encode((encode(ours), own)),
        "fingerprint": fingerprint(graph),
    }
    return Values().encode(described)


def _sent(cls: type, values: Mapping[str, Any], records: list[type]) -> bytes:
    try:
        return Values(records).encode(dict(values))
    except TypeError as error:
        raise ProgramError(f"{cls.__name__} cannot be sent to a worker in another process: {error}") from None


def _is_ours(cls: type) -> bool:
    return cls.__module__.partition(".")[0] == "anabranch" and "__anabranch_root__" in vars(cls)


def _by_module(classes: Iterable[type]) -> dict[str, list[type]]:
    found: dict[str, list[type]] = {}
    for cls in classes:
        found.setdefault(cls.__module__, []).append(cls)
    return found


def _text_of(name: str, classes: list[type]) -> dict[str, Any]:
    """The text of a module, if these classes have been made from it."""
    module = sys.modules.get(name)
    file = getattr(module, "__file__", None)
    named = classes[0].__qualname__
    if module is None or file is None:
        raise ProgramError(_typed_in(named))
    text = "".join(linecache.getlines(file)) or Path(file).read_text(encoding="utf-8")
    try:
        tree = ast.parse(text)
    except SyntaxError:
        raise ProgramError(_changed(named, file)) from None
    there = {qualname for qualname, _ in definitions(tree)}
    for cls in classes:
        if cls.__qualname__ not in there:
            raise ProgramError(_typed_in(cls.__qualname__))
    known = set(_codes(builtins.compile(text, file, "exec", dont_inherit=True)))
    holders: list[Mapping[str, Any]] = [vars(module), *map(vars, classes)]
    for function in (f for holder in holders for f in _functions(holder, name)):
        code = function.__code__
        rewritten = any(n.startswith(REWRITTEN) for n in (*code.co_names, *code.co_varnames))
        if code.co_filename == file and code not in known and not rewritten:
            raise ProgramError(_changed(named, file))
    spec = getattr(module, "__spec__", None)
    package = getattr(module, "__package__", None) or (spec.parent if spec is not None else "")
    return {"file": file, "source": text, "package": package}


def _functions(holder: Mapping[str, Any], module: str) -> Iterator[FunctionType]:
    for member in list(holder.values()):
        while isinstance(member, staticmethod | classmethod):
            member = member.__func__
        member = inspect.unwrap(member) if callable(member) and hasattr(member, "__wrapped__") else member
        if isinstance(member, FunctionType) and member.__module__ == module:
            yield member


def _codes(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _codes(constant)


def _typed_in(name: str) -> str:
    return (
        f"{name} was typed in, and not read from a file: a worker in another process cannot read it; "
        "write it to a file and import it, or run it in this process"
    )


def _changed(name: str, file: str) -> str:
    return (
        f"{file}, from which {name} was read, has changed since: a worker in another process would run another "
        "program than this one; start this process again, or reload the module"
    )


def _records_in(value: Any) -> Iterable[type]:
    """The record classes in a value of a configuration."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from (*_records_in(key), *_records_in(item))
    elif isinstance(value, list | tuple | set):
        for item in value:
            yield from _records_in(item)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        yield type(value)
        for f in dataclasses.fields(value):
            yield from _records_in(getattr(value, f.name))
    elif isinstance(value, tuple) and type(value) is not tuple:
        yield type(value)


# -- here -------------------------------------------------------------------------------------------------------------


def unpack_program(data: bytes | memoryview) -> tuple[Program, Graph]:
    described = Values().decode(data)
    # In this order: a name means the same there and here.
    sys.path[:] = [*described["path"], *(path for path in sys.path if path not in described["path"])]
    found = _Found(described)
    cls: Any = found.get(*described["class"])
    graph = compile(cls)
    if fingerprint(graph) != described["fingerprint"]:
        raise ProgramError(
            f"{cls.__qualname__} is another program here than where the run was started: its source was changed "
            "meanwhile, or another version of anabranch is installed; start the run again"
        )
    records = [found.get(module, name) for module, name in described["records"]]
    config = Values(records).decode(described["config"])
    ours, own = Values(records_of(graph)).decode(described["templates"])
    program = cls.__new__(cls)
    for name, value in (config | decode(ours)).items():
        setattr(program, name, value)
    for name, attributes in own.items():
        state: Any = object.__new__(graph.state(name).cls)
        vars(state).update(decode(attributes))
        setattr(program, name, state)
    seal(program)
    return program, graph


class _Found:
    """The classes of a program, by module and qualified name."""

    def __init__(self, described: dict[str, Any]) -> None:
        self._texts = described["texts"]
        self._modules: dict[str, ModuleType] = {}
        name, qualname = described["class"]
        # The others first: the module of the program may import them.
        for other in [*(n for n in self._texts if n != name), name]:
            text = self._texts[other]
            self._modules[other] = _module(other, text["file"], text["source"], text["package"])
        self._local: dict[str, type] = {}
        if described["local"] is not None:
            wanted, imports, values = described["local"]
            given = {alias: _imported(*path) for alias, path in imports.items()}
            records = [self.get(*r) for r in described["records"] if LOCALS not in r[1]]
            given |= Values(records).decode(values)
            text = self._texts[name]
            self._local = define(text["source"], text["file"], self._modules[name], qualname, wanted, given)

    def get(self, module: str, qualname: str) -> type:
        if qualname in self._local:
            return self._local[qualname]
        found: Any = self._modules[module]
        for part in qualname.split("."):
            found = getattr(found, part, None)
        if not isinstance(found, type):
            raise ProgramError(
                f"{module} has no class {qualname} here: define it where the module begins, whoever imports it"
            )
        return found


def _imported(module: str, qualname: str) -> Any:
    found: Any = importlib.import_module(module)
    for part in filter(None, qualname.split(".")):
        found = getattr(found, part)
    return found


def _module(name: str, file: str, source: str, package: str) -> ModuleType:
    """One that can be imported from the same text, or else one made from it."""
    if name != "__main__":
        try:
            module = importlib.import_module(name)
        except ImportError:  # it is no module of an installed package, or is made by a test
            module = None
        if module is not None and module.__file__ == file and "".join(linecache.getlines(file)) == source:
            return module
    return _made(MAIN if name == "__main__" else name, file, source, package)


def _made(name: str, file: str, source: str, package: str) -> ModuleType:
    """A module from its text; nothing is read from its file, which may not be here, or may have changed."""
    module = ModuleType(name)
    module.__file__, module.__package__ = file, package
    sys.modules[name] = module
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    exec(builtins.compile(source, file, "exec", dont_inherit=True), vars(module))
    return module
