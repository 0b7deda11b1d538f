"""What the translator believes of state types is what they are."""

from __future__ import annotations

import pytest

from anabranch.frontend.states import _RULES, Misuse, Use, use
from anabranch.graph.nodes import State
from anabranch.graph.span import Span
from anabranch.lang import DenseMatrix, DenseVector, Matrix, Table, Value, Vector
from anabranch.lang.distribution import Distribution
from anabranch.lang.types import BOOL, DENSE_VECTOR, FLOAT, INT, STR, VECTOR, Dict, List, Tuple, Type

PAIR = Tuple((INT, INT))
ARGS: dict[str, tuple[Type, ...]] = {
    "__getitem__": (INT,),
    "__setitem__": (INT, FLOAT),
    "__delitem__": (INT,),
    "__contains__": (INT,),
    "get": (INT, FLOAT),
    "pop": (INT,),
    "setdefault": (INT, FLOAT),
    "top": (INT,),
    "value=": (FLOAT,),
}
SPECIAL: dict[tuple[type, str], tuple[Type, ...]] = {
    (Table, "assign"): (Dict(INT, FLOAT),),
    (Vector, "dot"): (VECTOR,),
    (Vector, "assign"): (VECTOR,),
    (Matrix, "__getitem__"): (PAIR,),
    (Matrix, "__setitem__"): (PAIR, FLOAT),
    (Matrix, "__contains__"): (PAIR,),
    (Matrix, "row"): (INT,),
    (Matrix, "column"): (INT,),
    (Matrix, "set_row"): (INT, VECTOR),
    (Matrix, "dot"): (VECTOR,),
    (DenseVector, "dot"): (DENSE_VECTOR,),
    (DenseVector, "assign"): (DENSE_VECTOR,),
    (DenseMatrix, "__getitem__"): (PAIR,),
    (DenseMatrix, "__setitem__"): (PAIR, FLOAT),
    (DenseMatrix, "row"): (INT,),
    (DenseMatrix, "set_row"): (INT, DENSE_VECTOR),
    (DenseMatrix, "dot"): (DENSE_VECTOR,),
    (DenseMatrix, "assign"): (List(List(FLOAT)),),
    (Value, "assign"): (FLOAT,),
}
METHODS = [(cls, name) for cls, rules in _RULES.items() for name in rules]


def state(cls: type, key: Type = INT) -> State:
    return State("s", Distribution.PARTIAL, cls.__name__, cls, key, FLOAT, None, Span("f", 1, 0, 1, 0))


@pytest.mark.parametrize(("cls", "name"), METHODS, ids=lambda x: getattr(x, "__name__", x))
def test_the_table_agrees_with_the_marks_of_the_methods(cls: type, name: str) -> None:
    method = getattr(cls, name.rstrip("="))
    function = method
    if isinstance(method, property):
        function = method.fset if name.endswith("=") else method.fget
    mark = getattr(function, "__anabranch_mark__", None)
    args = SPECIAL.get((cls, name), ARGS.get(name, ()))
    key = Tuple((INT, STR)) if (cls, name) == (Table, "row") else INT
    args = (INT,) if (cls, name) == (Table, "row") else args
    found = use(state(cls, key), name, args)
    assert isinstance(found, Use), (name, found)
    assert mark == ("writes" if found.writes else "reads")


@pytest.mark.parametrize(("cls", "name"), METHODS, ids=lambda x: getattr(x, "__name__", x))
def test_wrong_arguments_are_a_misuse(cls: type, name: str) -> None:
    found = use(state(cls), name, (STR, BOOL, STR, STR))
    assert isinstance(found, Misuse)


def test_a_method_that_does_not_exist_is_none() -> None:
    assert use(state(Table), "frobnicate", ()) is None
