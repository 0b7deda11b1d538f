"""Random changes to the text of programs: what comes out is Python, but seldom a program anybody would write.

Law: `mutate` is a pure function of the text and of the choices, and what it gives compiles. The class of a mutant may
still refuse to be created; then the mutant says nothing about the translator and is skipped.

The kinds of change are in mutations_*.py, the texts that they put in are in snippets_*.py, and what they find in a
program is in material.py.
"""

from __future__ import annotations

import ast
import linecache
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from types import CodeType, ModuleType

import anabranch as ab
from tests.frontend import mutations_declarations as declarations
from tests.frontend import mutations_expressions as expressions
from tests.frontend import mutations_statements as statements
from tests.frontend.material import Material, NothingToChange, Region
from tests.generator.choices import Choices
from tests.generator.programs import generate
from tests.programs.load import broken, good

NAME = "mutated_program"
FILE = f"<{NAME}>"

# How often each kind of change is tried, and what makes it.
MUTATIONS: list[tuple[int, Callable[[Material, Region], None]]] = [
    (14, expressions.replace_by_another),
    (14, expressions.replace_by_template),
    (4, expressions.swap_operands),
    (4, expressions.change_operator),
    (4, expressions.change_constant),
    (3, expressions.change_attribute),
    (4, expressions.change_arguments),
    (4, expressions.change_function),
    (1, expressions.lengthen),
    (5, statements.delete_statement),
    (4, statements.duplicate_statement),
    (7, statements.move_statement),
    (4, statements.swap_statements),
    (10, statements.wrap_statements),
    (14, statements.insert_statement),
    (3, statements.unwrap_statement),
    (8, statements.use_state_in),
    (1, statements.make_async),
    (4, declarations.rename),
    (4, declarations.change_annotation),
    (2, declarations.annotate),
    (3, declarations.change_signature),
    (1, declarations.decorate),
    (1, declarations.change_class),
]

# What a change raises that does not give Python, such as `return` outside a function or an f-string too deep.
NOT_PYTHON = (NothingToChange, SyntaxError, ValueError, TypeError, RecursionError, MemoryError, OverflowError)


@lru_cache(maxsize=1)
def corpus() -> tuple[str, ...]:
    """The texts of the corpus and of the examples."""
    return tuple(path.read_text(encoding="utf-8") for path in (*good(), *broken()))


def mutant(choices: Choices, most: int = 5) -> str | None:
    """A mutated program of the corpus or of the generator; None if no change was possible."""
    source = choices.choose(corpus()) if choices.chance(50) else generate(choices).source
    return mutate(choices, source, 1 + min(choices.integer(0, most - 1), choices.integer(0, most - 1)))


def mutate(choices: Choices, source: str, changes: int = 1) -> str | None:
    """The text after some changes; None if none of those tried gave Python."""
    made, tree = 0, ast.parse(source)
    for _ in range(4 * changes):
        changed = _change(choices, tree)
        if changed is None or changed.strip() == source.strip():
            tree = ast.parse(source)  # a change that fails leaves the tree half changed
            continue
        source, made = changed, made + 1
        if made == changes:
            break
    return source if made else None


def _change(choices: Choices, tree: ast.Module) -> str | None:
    """Change the tree once; its text, or None if that is not Python."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(20 * limit)  # long chains are deep trees, and unparsing them is not what is tested
    try:
        material = Material(choices, tree)
        region = material.region()
        choices.weighted(MUTATIONS)(material, region)
        text = ast.unparse(tree) + "\n"
        _code(text)
    except NOT_PYTHON:
        return None
    finally:
        sys.setrecursionlimit(limit)
    return text


@lru_cache(maxsize=2)
def _code(source: str) -> CodeType:
    """Kept for `programs_in`, which mostly runs what was just made."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return compile(source, FILE, "exec", dont_inherit=True)


@contextmanager
def programs_in(source: str) -> Iterator[list[type[ab.Program]]]:
    """The program classes that a text defines, while it counts as a module. Raises what running the text raises."""
    module = ModuleType(NAME)
    module.__file__ = FILE
    linecache.cache[FILE] = (len(source), None, source.splitlines(keepends=True), FILE)
    sys.modules[NAME] = module
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(_code(source), module.__dict__)
        yield [
            value
            for value in vars(module).values()
            if isinstance(value, type) and issubclass(value, ab.Program) and value.__module__ == NAME
        ]
    finally:
        sys.modules.pop(NAME, None)
        linecache.cache.pop(FILE, None)
