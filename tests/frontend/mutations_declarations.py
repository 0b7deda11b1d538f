"""Changes of what a program declares: names, types, signatures, decorators, and the class itself."""

from __future__ import annotations

import ast

from tests.frontend.material import Material, Region, expression_of, nodes_of, places, statements_of
from tests.frontend.snippets_declarations import (
    BASES,
    CLASS_DECORATORS,
    CLASS_LINES,
    CLASS_NAMES,
    DECORATORS,
    DEFAULTS,
    METHOD_NAMES,
    MIXIN,
    PARAMETER_NAMES,
    STATES,
    TAKEN_NAMES,
    TYPES,
)


def rename(m: Material, region: Region) -> None:
    """All uses of a name in a method, or one of them."""
    found = nodes_of(region, ast.Name, ast.arg)
    node = m.choose(found)
    old, new = _name(node), m.choose((m.name(), m.name(), *TAKEN_NAMES))
    for each in [n for n in found if _name(n) == old] if m.choices.chance(60) else [node]:
        if isinstance(each, ast.Name):
            each.id = new
        else:
            each.arg = new


def _name(node: ast.Name | ast.arg) -> str:
    return node.id if isinstance(node, ast.Name) else node.arg


def change_annotation(m: Material, region: Region) -> None:
    node = m.choose(nodes_of(region, ast.arg, ast.AnnAssign, ast.FunctionDef, ast.AsyncFunctionDef))
    declares = isinstance(node, ast.AnnAssign) and isinstance(region, ast.ClassDef)
    annotation = expression_of(m.choose(STATES if declares and m.choices.chance(70) else TYPES))
    if isinstance(node, ast.AnnAssign):
        node.annotation = annotation
        if m.choices.chance(30):
            node.value = None if node.value else m.expression()
    elif isinstance(node, ast.arg):
        node.annotation = None if m.choices.chance(15) else annotation
    else:
        node.returns = None if m.choices.chance(15) else annotation


def annotate(m: Material, region: Region) -> None:
    """An assignment gets an annotation."""
    block, i = m.choose(places(region, ast.Assign))
    old = block[i]
    assert isinstance(old, ast.Assign)
    target, simple = old.targets[0], int(isinstance(old.targets[0], ast.Name))
    annotation = expression_of(m.choose(TYPES))
    value = None if m.choices.chance(20) else old.value
    block[i] = ast.AnnAssign(target=target, annotation=annotation, value=value, simple=simple)  # type: ignore[arg-type]


def change_signature(m: Material, region: Region) -> None:
    node = m.choose(nodes_of(region, ast.FunctionDef, ast.AsyncFunctionDef))
    args = node.args
    extra = ast.arg(arg=m.choose(("fresh", "a", "value")), annotation=expression_of(m.choose(TYPES)))
    match m.choices.integer(0, 9):
        case 0 if args.args:
            args.args.pop(0)  # often self
            args.defaults = args.defaults[-len(args.args) :] if args.args else []
        case 1:
            args.args.append(extra)
            args.defaults.append(expression_of(m.choose(DEFAULTS)))
        case 2:
            args.kwonlyargs.append(extra)
            args.kw_defaults.append(None if m.choices.chance(50) else expression_of(m.choose(DEFAULTS)))
        case 3:
            args.vararg = extra
        case 4:
            args.kwarg = extra
        case 5 if args.args:
            args.posonlyargs.append(args.args.pop(0))
        case 6 if args.defaults:
            args.defaults[-1] = expression_of(m.choose(DEFAULTS))
        case 7 if args.args:
            m.choose(args.args).arg = m.choose(PARAMETER_NAMES)
        case 8:
            node.name = m.choose(METHOD_NAMES)
        case _:
            args.args.append(extra)


def decorate(m: Material, region: Region) -> None:
    node = m.choose(nodes_of(region, ast.FunctionDef, ast.AsyncFunctionDef))
    node.decorator_list.append(expression_of(m.choose(DECORATORS)))


def change_class(m: Material, _region: Region) -> None:
    """The bases, first line, decorators or name of a program."""
    node = m.choose(m.programs)
    match m.choices.integer(0, 3):
        case 0:
            node.bases.append(expression_of(m.choose(BASES)))
            at = m.tree.body.index(node)
            m.tree.body[at:at] = statements_of(MIXIN)
        case 1:
            node.body[0:0] = statements_of(m.choose(CLASS_LINES))
        case 2:
            node.decorator_list.append(expression_of(m.choose(CLASS_DECORATORS)))
        case _:
            node.name = m.choose(CLASS_NAMES)
