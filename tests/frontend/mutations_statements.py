"""Changes of statements: gone, twice, elsewhere, wrapped, unwrapped, new, asynchronous, or reaching state."""

from __future__ import annotations

import ast
import copy

from tests.frontend.material import Material, Region, blocks, expression_of, nodes_of, places, statements_of
from tests.frontend.snippets_declarations import MEMBERS
from tests.frontend.snippets_expressions import ACCESSES, TARGETS
from tests.frontend.snippets_statements import STATEMENTS, WRAPPERS

ASYNC = {ast.FunctionDef: ast.AsyncFunctionDef, ast.For: ast.AsyncFor, ast.With: ast.AsyncWith}


def delete_statement(m: Material, region: Region) -> None:
    block = m.choose(blocks(region))
    block.pop(m.choices.integer(0, len(block) - 1))
    if not block:
        block.append(ast.Pass())


def duplicate_statement(m: Material, region: Region) -> None:
    block = m.choose(blocks(region))
    _insert(m, block, [copy.deepcopy(m.choose(block))])


def move_statement(m: Material, region: Region) -> None:
    """A copy of a statement from anywhere in the program."""
    origin = m.choose(blocks(m.choose(m.programs) if m.programs else region))
    _insert(m, m.choose(blocks(region)), [copy.deepcopy(m.choose(origin))])


def swap_statements(m: Material, region: Region) -> None:
    block = m.choose([b for b in blocks(region) if len(b) > 1])
    i = m.choices.integer(0, len(block) - 2)
    block[i], block[i + 1] = block[i + 1], block[i]


def wrap_statements(m: Material, region: Region) -> None:
    block = m.choose(blocks(region))
    first = m.choices.integer(0, len(block) - 1)
    last = m.choices.integer(first, len(block) - 1)
    wrapped = statements_of(m.fill(m.choose(WRAPPERS)))
    inner = block[first : last + 1]
    for each in [b for w in wrapped for b in blocks(w)]:
        at = next((i for i, s in enumerate(each) if isinstance(s, ast.Expr) and ast.unparse(s) == "BODY"), None)
        if at is not None:
            each[at : at + 1] = copy.deepcopy(inner)
    block[first : last + 1] = wrapped


def unwrap_statement(m: Material, region: Region) -> None:
    """A compound statement's body in its place."""
    block, i = m.choose(places(region, ast.If, ast.For, ast.While, ast.Try))
    block[i : i + 1] = block[i].body  # type: ignore[attr-defined]


def insert_statement(m: Material, region: Region) -> None:
    if isinstance(region, ast.ClassDef) and m.choices.chance(70):
        _insert(m, region.body, statements_of(m.fill(m.choose(MEMBERS))))
    else:
        _insert(m, m.choose(blocks(region)), statements_of(m.fill(m.choose(STATEMENTS))))


def make_async(m: Material, _region: Region) -> None:
    block, i = m.choose(places(m.tree, *ASYNC))
    old = block[i]
    block[i] = ast.copy_location(ASYNC[type(old)](**dict(ast.iter_fields(old))), old)


def use_state_in(m: Material, region: Region) -> None:
    """A condition, loop source, value or target that reaches state."""
    access = expression_of(m.fill(m.choose(ACCESSES)))
    match m.choose(nodes_of(region, ast.If, ast.While, ast.For, ast.Assign, ast.Return, ast.AugAssign)):
        case ast.If() | ast.While() as node:
            node.test = access
        case ast.For() as node if m.choices.chance(60):
            node.iter = access
        case ast.Return() as node:
            node.value = access
        case ast.Assign() | ast.AugAssign() as node if m.choices.chance(50):
            node.value = access
        case ast.Assign() as node:
            node.targets = [*_targets(m), *(node.targets if m.choices.chance(20) else [])]
        case ast.For() | ast.AugAssign() as node:
            node.target = _targets(m)[0]  # type: ignore[assignment]


def _insert(m: Material, block: list[ast.stmt], new: list[ast.stmt]) -> None:
    at = m.choices.integer(0, len(block))
    block[at:at] = new


def _targets(m: Material) -> list[ast.expr]:
    (assign,) = statements_of(f"{m.fill(m.choose(TARGETS))} = 0")
    assert isinstance(assign, ast.Assign)
    return assign.targets
