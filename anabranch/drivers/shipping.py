"""A program on its way to another process: by the import path of its class, or by its source; its values as values.

Law: what arrives has the class of the same text, the same configuration and the same templates; its graph is that of
the sender, or it does not start.
"""

from __future__ import annotations

import builtins
import dataclasses
import hashlib
import importlib
import inspect
import linecache
import sys
import textwrap
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from anabranch.compiler import compile
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


def fingerprint(graph: Graph) -> str:
    """Of what a program does, and of the version that runs it."""
    text = f"{VERSION}\n{write_graph(graph)}"
    return hashlib.sha256(text.encode()).hexdigest()


def pack_program(program: Program, graph: Graph) -> bytes:
    cls = type(program)
    file = getattr(sys.modules.get(cls.__module__), "__file__", None)
    if file is None:
        raise ProgramError(
            f"{cls.__qualname__} was typed in, and not read from a file: a worker in another process cannot read it; "
            "write it to a file and import it, or run it in this process"
        )
    config = dict(program.__anabranch_config__)
    records = list(dict.fromkeys(_records_in(config)))
    templates = program.__anabranch_templates__
    ours = SimpleNamespace(**{name: state for name, state in templates.items() if is_builtin(state)})
    own = {name: encode(state) for name, state in templates.items() if not is_builtin(state)}
    described = {
        "class": (cls.__module__, cls.__qualname__),
        "file": file,
        "source": "".join(linecache.getlines(file)) or Path(file).read_text(encoding="utf-8"),
        "inner": textwrap.dedent(inspect.getsource(cls)) if "<locals>" in cls.__qualname__ else None,
        "path": [p for p in sys.path if isinstance(p, str)],
        "records": [(r.__module__, r.__qualname__) for r in records],
        "config": Values(records).encode(config),
        "templates": Values(records_of(graph)).encode((encode(ours), own)),
        "fingerprint": fingerprint(graph),
    }
    return Values().encode(described)


def unpack_program(data: bytes | memoryview) -> tuple[Program, Graph]:
    described = Values().decode(data)
    sys.path += [path for path in described["path"] if path not in sys.path]
    cls = _find(described)
    graph = compile(cls)
    if fingerprint(graph) != described["fingerprint"]:
        raise ProgramError(
            f"{cls.__qualname__} is another program here than where the run was started: its source was changed "
            "meanwhile, or another version of anabranch is installed; start the run again"
        )
    records = [_class(sys.modules[cls.__module__], module, name) for module, name in described["records"]]
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


def _find(described: dict[str, Any]) -> type[Program]:
    """The class: of a module that can be imported from the same file, or else of one made from its text."""
    name, qualname = described["class"]
    file, source = described["file"], described["source"]
    module = None
    if name != "__main__":
        try:
            module = importlib.import_module(name)
        except ImportError:  # it is no module of an installed package, or is made by a test
            module = None
    if module is None or getattr(module, "__file__", None) != file:
        module = _made(MAIN if name == "__main__" else name, file, source)
    if described["inner"] is None:
        return _class(module, name, qualname)
    place = f"<{qualname} of {file}>"  # under a name of its own, as the compiler reads its text again
    _execute(described["inner"], place, module)
    return getattr(module, qualname.rpartition(".")[2])  # type: ignore[no-any-return]


def _class(near: ModuleType, module: str, qualname: str) -> type:
    found: Any = near if module in (near.__name__, "__main__") else importlib.import_module(module)
    for part in qualname.split("."):
        found = getattr(found, part)
    return found  # type: ignore[no-any-return]


def _made(name: str, file: str, source: str) -> ModuleType:
    """A module from its text; nothing is read from its file, which may not be here, or may have changed."""
    module = ModuleType(name)
    module.__file__ = file
    sys.modules[name] = module
    _execute(source, file, module)
    return module


def _execute(text: str, place: str, module: ModuleType) -> None:
    linecache.cache[place] = (len(text), None, text.splitlines(True), place)
    exec(builtins.compile(text, place, "exec"), vars(module))
