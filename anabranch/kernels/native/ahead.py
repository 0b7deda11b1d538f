"""Memory that a row will need, asked for some rows before it.

A keyed access to a large state is one or two misses of the cache, longer than all else a row does. Keys that are plain
inputs of the row are known ahead: for the row `FAR` ahead (see `rowio`) the slot of the index is asked for,
for the one `NEAR` ahead, whose slot is here by now, the entry. It changes nothing but time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from anabranch.graph.code import Access, Apply, Body, Const, Expr, Local, free_names, walk
from anabranch.graph.liveness import assigned
from anabranch.graph.nodes import Graph
from anabranch.kernels.native.accesses import hash_of
from anabranch.kernels.native.layout import NotInKernels
from anabranch.kernels.native.memory import RING, RING_ROWS
from anabranch.kernels.native.module import Module
from anabranch.kernels.native.registers import convert
from anabranch.kernels.native.scope import Scope
from anabranch.kernels.native.shapes import Shape
from anabranch.kernels.native.source import Source
from anabranch.lang import Matrix
from anabranch.lang.types import NONE, Record, Tuple, Type

MOST = 4  # keys


def keys_ahead(graph: Graph, shapes: Mapping[str, Shape], body: Body, given: Iterable[str]) -> list[tuple[Shape, Expr]]:
    """The states that a body reaches by keys which are inputs, or items and fields of inputs, and these keys."""
    inputs = set(given) - assigned(body)
    found: list[tuple[Shape, Expr]] = []
    for stmt in walk(body):
        if not isinstance(stmt, Access) or stmt.everywhere or not stmt.args:
            continue
        shape = shapes[stmt.state]
        key: Expr = stmt.args[0]
        if shape.cls is Matrix and isinstance(key, Apply) and key.op == "tuple" and len(key.args) == 2:
            key = key.args[0 if shape.axis == "row" else 1]
        if not shape.fits or shape.key == NONE or not _is_input(key):
            continue
        if free_names(key) and free_names(key) <= inputs and (shape, key) not in found:
            found.append((shape, key))
    return found[:MOST]


def _is_input(key: Expr) -> bool:
    match key:
        case Local() | Const():
            return True
        case Apply("tuple", args):
            return all(map(_is_input, args))
        case Apply("[]", (of, Const())) if isinstance(of.type, Tuple | Record):
            return _is_input(of)
        case Apply(op, (of,)) if op.startswith("attr:"):
            return _is_input(of)
    return False


def write_ahead(
    module: Module,
    keys: list[tuple[Shape, Expr]],
    types: Mapping[str, Type],
    read: Callable[[Scope, set[str]], None],
    instance: str,
    owned: bool = False,
) -> str:
    """`far(c, i, j)` and `near(c, i, j)`, for row i that runs as number j.

    `read` writes how its inputs are read, `instance` gives the address of the instance. With `owned` the rows of other
    instances come by too, and nothing is asked for them. Nothing is written where a key cannot be had.
    """
    far, near = Source(), Source()
    scope = Scope(module, far, dict(types))
    scope.set = set(types)
    try:
        far.line("@compiled")
        with far.block("def far(c, i, j):"):
            far.line("k = load(c + 72)")
            read(scope, {n for _, key in keys for n in free_names(key)})
            for number, (shape, key) in enumerate(keys):
                hashed = far.fresh(hash_of(scope.write.name_words(convert(scope.value(key), shape.key))), "q")
                far.line(f"store(c + {RING + 8 * RING_ROWS * number} + 8 * (j & {RING_ROWS - 1}), {hashed})")
                _write_slot(scope, shape, hashed, instance, owned, False)
            far.line("return 0")
    except NotInKernels:
        return ""
    scope = Scope(module, near, dict(types))
    near.line("@compiled")
    with near.block("def near(c, i, j):"):
        for number, (shape, _) in enumerate(keys):
            hashed = near.fresh(f"load(c + {RING + 8 * RING_ROWS * number} + 8 * (j & {RING_ROWS - 1}))", "q")
            _write_slot(scope, shape, hashed, instance, owned, True)
        near.line("return 0")
    return f"{far}\n\n{near}"


def _write_slot(scope: Scope, shape: Shape, hashed: str, instance: str, owned: bool, close: bool) -> None:
    out = scope.out
    # Where only a part of the key says who owns it, its hash does not tell.
    guard = f"load(load(c + 64) + 8 * ({hashed} & 1023)) == load(c + 120)" if owned and shape.by_key else "True"
    with out.block(f"if {guard}:"):
        hdr = out.fresh(f"load({instance} + {32 + 8 * shape.number})", "h")
        slot = f"load({hdr} + 16) + 4 * (shift_right({hashed}, 10) & load({hdr} + 24))"
        if not close:
            out.line(f"prefetch({slot})")
            return
        entry = out.fresh(f"load_32({slot})", "e")
        with out.block(f"if {entry} >= 0:"):
            out.line(f"prefetch(load({hdr} + 32) + {shape.size} * {entry})")
