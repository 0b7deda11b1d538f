"""Changes of expressions: another in its place, other operands, operators, attributes, arguments, or a long chain."""

from __future__ import annotations

import ast

from tests.frontend.material import Material, Region, expression_of, nodes_of, slots
from tests.frontend.snippets_expressions import ATTRIBUTES, CONSTANTS, EXPRESSIONS, FUNCTIONS, KEYWORDS


def replace_by_another(m: Material, region: Region) -> None:
    m.choose(slots(region)).put(m.expression())


def replace_by_template(m: Material, region: Region) -> None:
    slot = m.choose(slots(region))
    slot.put(expression_of(m.fill(m.choose(EXPRESSIONS), f"({ast.unparse(slot.node)})")))


def swap_operands(m: Material, region: Region) -> None:
    match m.choose(nodes_of(region, ast.BinOp, ast.Compare, ast.Call, ast.BoolOp, ast.Subscript, ast.IfExp)):
        case ast.BinOp() as node:
            node.left, node.right = node.right, node.left
        case ast.Compare() as node:
            node.left, node.comparators[0] = node.comparators[0], node.left
        case ast.Call() as node:
            node.args.reverse()
        case ast.BoolOp() as node:
            node.values.reverse()
        case ast.IfExp() as node:
            node.body, node.orelse = node.orelse, node.body
        case ast.Subscript() as node:
            node.value, node.slice = node.slice, node.value


def change_operator(m: Material, region: Region) -> None:
    match m.choose(nodes_of(region, ast.BinOp, ast.AugAssign, ast.UnaryOp, ast.Compare, ast.BoolOp)):
        case ast.BinOp() | ast.AugAssign() as node:
            node.op = m.choose(ast.operator.__subclasses__())()
        case ast.UnaryOp() as node:
            node.op = m.choose(ast.unaryop.__subclasses__())()
        case ast.BoolOp() as node:
            node.op = m.choose(ast.boolop.__subclasses__())()
        case ast.Compare() as node:
            node.ops[0] = m.choose(ast.cmpop.__subclasses__())()


def change_constant(m: Material, region: Region) -> None:
    m.choose(slots(region, ast.Constant)).put(expression_of(m.choose(CONSTANTS)))


def change_attribute(m: Material, region: Region) -> None:
    m.choose(nodes_of(region, ast.Attribute)).attr = m.choose(ATTRIBUTES)


def change_arguments(m: Material, region: Region) -> None:
    """Add, drop, star or name an argument of a call."""
    call = m.choose(nodes_of(region, ast.Call))
    match m.choices.integer(0, 5):
        case 0:
            call.args.append(m.expression())
        case 1 if call.args:
            call.args.remove(m.choose(call.args))
        case 2 if call.args:
            call.args[0] = ast.Starred(value=call.args[0], ctx=ast.Load())
        case 3 if call.args:
            call.keywords.append(ast.keyword(arg=m.choose(KEYWORDS), value=call.args.pop()))
        case 4:
            call.keywords.append(ast.keyword(arg=m.choose((None, *KEYWORDS)), value=m.expression()))
        case _:
            call.args = []


def change_function(m: Material, region: Region) -> None:
    m.choose(nodes_of(region, ast.Call)).func = expression_of(m.fill(m.choose(FUNCTIONS)))


def lengthen(m: Material, region: Region) -> None:
    """Long chains are deep trees."""
    slot = m.choose(slots(region))
    text, times = f"({ast.unparse(slot.node)})", m.choose((30, 60, 90, 150, 300))
    match m.choices.integer(0, 5):
        case 0:
            text = " + ".join([text] * times)
        case 1:
            text = f"{'-' * min(times, 90)}{text}"
        case 2:
            text = text + ".strip()" * min(times, 90)
        case 3:
            text = text + "[0]" * min(times, 90)
        case 4:
            text = f"{'[' * min(times, 60)}{text}{']' * min(times, 60)}"
        case _:
            text = " else ".join([f"{text} if {text}"] * min(times, 60)) + " else 0"
    slot.put(expression_of(text))
