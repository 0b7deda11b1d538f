"""Forms of vectors as values, and of what is read from them."""

from __future__ import annotations

from tests.generator.forms import exact, expression, form, index, leaf
from tests.generator.valuetypes import BOOL, DENSE, FLOAT, INT, VECTOR, Type, list_of, tuple_of
from tests.generator.writer import Expr, Writer


@form("Vector", weight=3)
def make_vector(w: Writer, type: Type, depth: int) -> Expr | None:
    i, x = index(w), exact(w)
    w.uses("vectors")
    return Expr(f"ab.Vector({{{i.text}: {x.text}}})", VECTOR, exact=True, fresh=True)


@form("Vector", weight=2)
def of_vectors(w: Writer, type: Type, depth: int) -> Expr | None:
    a, b = leaf(w, VECTOR), expression(w, VECTOR, depth)
    w.uses("vectors")
    text = w.choices.choose(("{0} + {1}", "{0} - {1}", "{0} * 2.0", "0.5 * {0}", "-{0}")).format(a.inner, b.inner)
    return Expr(text, VECTOR, atom=False)


@form("DenseVector", weight=2)
def of_dense(w: Writer, type: Type, depth: int) -> Expr | None:
    a, x = leaf(w, DENSE), expression(w, FLOAT, depth)
    w.uses("vectors")
    text = w.choices.choose(("{0} + {0}", "{0} * {1}", "{0} + {1}", "{0} - {0}")).format(a.inner, x.inner)
    return Expr(text, DENSE, atom=False)


@form("float", weight=2)
def of_vector(w: Writer, type: Type, depth: int) -> Expr | None:
    v = w.pick(lambda v: v.type in (VECTOR, DENSE))
    if v is None:
        return None
    w.uses("vectors")
    other = w.pick_type(v.type) or v
    calls = [f"{v.name}.sum()", f"{v.name}.dot({other.name})", f"{v.name}.norm()"]
    if v.type == VECTOR:
        calls += [f"{v.name}[{index(w).text}]", f"{v.name}.get({index(w).text}, 1.0)"]
    else:
        calls.append(f"{v.name}[{index(w, 4).text}]")
    return Expr(w.choices.choose(calls), FLOAT)


@form("bool", weight=1)
def in_vector(w: Writer, type: Type, depth: int) -> Expr | None:
    v = w.pick_type(VECTOR)
    return None if v is None else Expr(f"{index(w).inner} in {v.name}", BOOL, atom=False)


@form("int", weight=1)
def count_vector(w: Writer, type: Type, depth: int) -> Expr | None:
    v = w.pick(lambda v: v.type in (VECTOR, DENSE))
    return None if v is None else Expr(f"len({v.name})", INT, 0, 1000)


@form("list", weight=3)
def list_vector(w: Writer, type: Type, depth: int) -> Expr | None:
    v = w.pick_type(VECTOR)
    if v is not None:
        calls = {list_of(INT): "keys()", list_of(FLOAT): "values()", list_of(tuple_of(INT, FLOAT)): "top(2)"}
        return Expr(f"{v.name}.{calls[type]}", type, size=50) if type in calls else None
    v = w.pick_type(DENSE)
    return Expr(f"{v.name}.tolist()", type, size=4) if v is not None and type == list_of(FLOAT) else None
