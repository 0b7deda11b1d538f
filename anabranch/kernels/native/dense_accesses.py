"""Accesses to dense state: its array is where the entry of its store says."""

from __future__ import annotations

from collections.abc import Sequence

from anabranch.graph.code import Access, Apply, Expr
from anabranch.kernels.native import vectors
from anabranch.kernels.native.arrays import ADDRESS, COLUMNS, ROWS
from anabranch.kernels.native.layout import NotInKernels
from anabranch.kernels.native.once import Where
from anabranch.kernels.native.registers import Value, convert, items_of
from anabranch.kernels.native.scope import Scope
from anabranch.lang import DenseVector
from anabranch.lang.types import DENSE_VECTOR, FLOAT, INT, Tuple

_WHOLE = ("dot", "sum", "norm", "tolist", "copy")


def dense_access(scope: Scope, stmt: Access, cls: type, where: Where) -> Value | None:
    out, method = scope.out, stmt.method
    rows, columns = f"load({where.entries} + {ROWS})", f"load({where.entries} + {COLUMNS})"
    data = f"load({where.entries} + {ADDRESS})"
    if method in ("__getitem__", "__setitem__"):
        index = _index(scope, stmt.args[0])
        at = out.fresh(_place(index, data, rows, columns))
        if method == "__getitem__":
            return Value(FLOAT, (out.fresh(f"load_float({at})"),))
        stored = out.fresh(convert(scope.value(stmt.args[1]), FLOAT).word)
        out.line(f"log_word(c, {where.instance}, {where.hdr}, {at})")
        out.line(f"store_float({at}, {stored})")
        return None
    if method == "__len__":
        return Value(INT, (out.fresh(rows),))
    if method in _WHOLE and cls is DenseVector:
        head = Value(DENSE_VECTOR, (out.fresh(f"list_head(c, {data}, {rows})"),))
        return scope.write.name_words(vectors.method(scope, method, head, scope.write.named_values(stmt.args)))
    if method == "row" and len(stmt.args) == 1 and cls is not DenseVector:
        (row,) = _index(scope, stmt.args[0])
        first = out.fresh(f"dense_row({data}, {rows}, {columns}, {row.word})")
        return Value(DENSE_VECTOR, (out.fresh(f"frozen(dense_copy(c, list_head(c, {first}, {columns})))"),))
    raise NotInKernels(f"{method} of a dense state is not in the kernels' table")


def _index(scope: Scope, expr: Expr) -> Sequence[Value]:
    exprs = expr.args if isinstance(expr, Apply) and expr.op == "tuple" else (expr,)
    found = scope.write.named_values(exprs)
    if len(found) == 1 and isinstance(found[0].type, Tuple):  # of `m[i, j] += x`, which is worked out once
        found = items_of(found[0])
    if any(v.type != INT for v in found):
        raise NotInKernels(f"an index of type {expr.type}")
    return found


def _place(index: Sequence[Value], data: str, rows: str, columns: str) -> str:
    if len(index) == 1:
        return f"dense_row({data}, {rows}, 1, {index[0].word})"
    return f"dense_cell({data}, {rows}, {columns}, {index[0].word}, {index[1].word})"
