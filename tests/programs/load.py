"""Finds, imports and reads the programs of the corpus: `good` ones (with those of examples/) and `broken` ones."""

from __future__ import annotations

import importlib.util
import io
import re
import sys
import tokenize
from hashlib import sha1
from pathlib import Path
from types import ModuleType

import anabranch as ab

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parents[1] / "examples"
MARK = "#!"
CODE = re.compile(r"\bAB\d{3}\b")


def good() -> list[Path]:
    """Programs that obey the rules, ordered by name: the corpus and the examples users see."""
    return sorted([*(HERE / "good").glob("*.py"), *EXAMPLES.glob("*.py")], key=lambda path: path.stem)


def broken() -> list[Path]:
    """Programs with one or two mistakes each, ordered by name."""
    return sorted((HERE / "broken").glob("*.py"))


def load(path: Path) -> ModuleType:
    """Import a file under a name of its own, registered so that `inspect.getsource` finds its classes.

    Loading a path again gives the module of the first time, so that its classes stay one class each.
    """
    path = path.resolve()
    name = f"anabranch_program_{path.stem}_{sha1(str(path).encode()).hexdigest()[:8]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None, path
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def program_of(module: ModuleType) -> type[ab.Program]:
    """The one program a file is about: the last in the chain if it defines a program and its parent."""
    programs = [
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, ab.Program) and value.__module__ == module.__name__
    ]
    leaves = [p for p in programs if not any(issubclass(q, p) and q is not p for q in programs)]
    if len(leaves) != 1:
        raise LookupError(f"{module.__file__} defines {len(leaves)} programs; a file of the corpus defines one")
    return leaves[0]


def expected_codes(path: Path) -> dict[int, list[str]]:
    """Line number -> codes, from comments such as `#! AB302 AB206`; read from tokens, so strings do not count."""
    codes: dict[int, list[str]] = {}
    for token in tokenize.generate_tokens(io.StringIO(path.read_text(encoding="utf-8")).readline):
        if token.type == tokenize.COMMENT and token.string.startswith(MARK):
            codes[token.start[0]] = CODE.findall(token.string)
    return codes
