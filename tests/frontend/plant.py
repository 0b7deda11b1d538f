"""Programs with one mistake in them: a good program, and every place where a mistake of some kind can stand."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from typing import NamedTuple


class Planted(NamedTuple):
    """A source with a mistake, and the line that the mistake is on."""

    source: str
    line: int


def _methods(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    for program in _programs(tree):
        yield from (n for n in program.body if isinstance(n, ast.FunctionDef) and n.name != "__init__")


def _programs(tree: ast.Module) -> Iterator[ast.ClassDef]:
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and any(ast.unparse(b).endswith("Program") for b in node.bases):
            yield node


def _states(tree: ast.Module) -> set[str]:
    return {
        n.target.id
        for p in _programs(tree)
        for n in p.body
        if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)
    }


def _is_state(tree: ast.Module, node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
        and node.attr in _states(tree)
    )


def _body_nodes(tree: ast.Module) -> Iterator[ast.AST]:
    for method in _methods(tree):
        for stmt in method.body:
            yield from ast.walk(stmt)


def misspelt_states(tree: ast.Module) -> Iterator[ast.AST]:
    for node in _body_nodes(tree):
        if _is_state(tree, node):
            node.attr += "x"
            yield node
            node.attr = node.attr[:-1]


def misspelt_methods(tree: ast.Module) -> Iterator[ast.AST]:
    for node in _body_nodes(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr.isidentifier():
            node.func.attr += "x"
            yield node
            node.func.attr = node.func.attr[:-1]


def misspelt_names(tree: ast.Module) -> Iterator[ast.AST]:
    for node in _body_nodes(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id not in ("self", "ab"):
            node.id += "x"
            yield node
            node.id = node.id[:-1]


def unknown_values(tree: ast.Module) -> Iterator[ast.AST]:
    for node in _body_nodes(tree):
        if isinstance(node, ast.Assign):
            kept, node.value = node.value, ast.copy_location(ast.Name("unheard_of", ast.Load()), node.value)
            yield node.value
            node.value = kept


def refused_values(tree: ast.Module) -> Iterator[ast.AST]:
    for node in _body_nodes(tree):
        if isinstance(node, ast.Assign):
            call = ast.parse("open('x').read()", mode="eval").body
            kept, node.value = node.value, ast.copy_location(call, node.value)
            yield node.value
            node.value = kept


def unknown_parameter_types(tree: ast.Module) -> Iterator[ast.AST]:
    for method in _methods(tree):
        if method.name.startswith("_"):
            continue
        for parameter in method.args.args[1:]:
            if parameter.annotation is not None:
                kept, parameter.annotation = parameter.annotation, _nope(parameter.annotation)
                yield parameter
                parameter.annotation = kept


def unknown_result_types(tree: ast.Module) -> Iterator[ast.AST]:
    for method in _methods(tree):
        if not method.name.startswith("_") and method.returns is not None:
            kept, method.returns = method.returns, _nope(method.returns)
            yield method.returns
            method.returns = kept


def unknown_state_types(tree: ast.Module) -> Iterator[ast.AST]:
    for program in _programs(tree):
        for node in program.body:
            if isinstance(node, ast.AnnAssign) and isinstance(node.annotation, ast.Subscript):
                kept, node.annotation.slice = node.annotation.slice, _nope(node.annotation.slice)
                yield node
                node.annotation.slice = kept


def unknown_annotations(tree: ast.Module) -> Iterator[ast.AST]:
    for node in _body_nodes(tree):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            kept, node.annotation = node.annotation, _nope(node.annotation)
            yield node
            node.annotation = kept


def wrong_operands(tree: ast.Module) -> Iterator[ast.AST]:
    for node in _body_nodes(tree):
        if isinstance(node, ast.BinOp):
            kept, node.right = node.right, ast.copy_location(ast.parse("{1: 2}", mode="eval").body, node.right)
            yield node
            node.right = kept


def deleted_assignments(tree: ast.Module) -> Iterator[ast.AST]:
    for block, at in _statements(tree, ast.Assign):
        kept = block[at]
        if isinstance(kept, ast.Assign) and isinstance(kept.targets[0], ast.Name):
            block[at] = ast.copy_location(ast.Pass(), kept)
            yield block[at]
            block[at] = kept


def deleted_guards(tree: ast.Module) -> Iterator[ast.AST]:
    """`if x is None: return` is gone."""
    for block, at in _statements(tree, ast.If):
        kept = block[at]
        if isinstance(kept, ast.If) and "None" in ast.unparse(kept.test) and not kept.orelse:
            block[at] = ast.copy_location(ast.Pass(), kept)
            yield block[at]
            block[at] = kept


def missing_arguments(tree: ast.Module) -> Iterator[ast.AST]:
    for node in _body_nodes(tree):
        if isinstance(node, ast.Call) and node.args:
            kept = node.args.pop()
            yield node
            node.args.append(kept)


def extra_arguments(tree: ast.Module) -> Iterator[ast.AST]:
    for node in _body_nodes(tree):
        if isinstance(node, ast.Call):
            node.args.append(ast.copy_location(ast.Constant("extra"), node))
            yield node
            node.args.pop()


def wrong_constants(tree: ast.Module) -> Iterator[ast.AST]:
    for node in _body_nodes(tree):
        if isinstance(node, ast.Constant) and type(node.value) in (int, float):
            kept, node.value = node.value, b"wrong"
            yield node
            node.value = kept


def wrong_keys(tree: ast.Module) -> Iterator[ast.AST]:
    for node in _body_nodes(tree):
        if isinstance(node, ast.Subscript) and _is_state(tree, node.value):
            kept, node.slice = node.slice, ast.copy_location(ast.Constant(1.5), node.slice)
            yield node
            node.slice = kept


def opened_contexts(tree: ast.Module) -> Iterator[ast.AST]:
    for block, at in _statements(tree, ast.Assign, ast.If, ast.For):
        kept = block[at]
        opened = ast.withitem(context_expr=ast.copy_location(ast.Constant(1), kept), optional_vars=None)
        block[at] = ast.copy_location(ast.With(items=[opened], body=[kept]), kept)
        yield block[at]
        block[at] = kept


def _statements(tree: ast.Module, *kinds: type[ast.stmt]) -> Iterator[tuple[list[ast.stmt], int]]:
    for method in _methods(tree):
        for node in ast.walk(method):
            for name in ("body", "orelse"):
                block = getattr(node, name, None)
                if isinstance(block, list):
                    yield from ((block, i) for i, stmt in enumerate(block) if isinstance(stmt, kinds))


def _nope(at: ast.expr) -> ast.expr:
    return ast.copy_location(ast.Name("Nope", ast.Load()), at)


KINDS: dict[str, Callable[[ast.Module], Iterator[ast.AST]]] = {
    function.__name__: function
    for function in (
        misspelt_states,
        misspelt_methods,
        misspelt_names,
        unknown_values,
        refused_values,
        unknown_parameter_types,
        unknown_result_types,
        unknown_state_types,
        unknown_annotations,
        wrong_operands,
        deleted_assignments,
        deleted_guards,
        missing_arguments,
        extra_arguments,
        wrong_constants,
        wrong_keys,
        opened_contexts,
    )
}


def planted(source: str, kind: str) -> Iterator[Planted]:
    """The source with a mistake of this kind at each place in turn."""
    tree = ast.parse(ast.unparse(ast.parse(source)))  # each statement on one line
    for node in KINDS[kind](tree):
        text = ast.unparse(ast.fix_missing_locations(copy.deepcopy(tree)))
        yield Planted(text, node.lineno)
