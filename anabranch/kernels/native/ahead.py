"""Memory that a row will need, asked for some rows before it.

A keyed access to a large state is one or two misses of the cache, longer than all else a row does. Keys that are plain
inputs of the row are known ahead: for the row `FAR` ahead (see `rowio`) the key is hashed and the slot of the index is
asked for; for the one `NEAR` ahead, whose slot is here by now, the entry is found by its tag and asked for; for the one
`CLOSE` ahead the text of its key, if it has some. Hash and entry are kept in a ring for the row itself, which has but
to look whether it is the right one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from anabranch.graph.code import free_names
from anabranch.kernels.native.keys import Ahead, entry_ahead, hash_ahead, hash_of
from anabranch.kernels.native.layout import NotInKernels, texts
from anabranch.kernels.native.module import Module
from anabranch.kernels.native.once import ARGS
from anabranch.kernels.native.registers import convert
from anabranch.kernels.native.scope import Scope
from anabranch.kernels.native.source import Source
from anabranch.lang.types import Type

LINE = 64  # bytes of a line of the cache
MOST = 4  # lines of an entry that are asked for


def write_ahead(
    module: Module,
    keys: Sequence[Ahead],
    types: Mapping[str, Type],
    read: Callable[[Scope, set[str]], None],
    owned: bool = False,
) -> str:
    """`far(c, i, j)`, `near(c, j)` and `close(c, j)`, for row i that runs as number j.

    `read` writes how its inputs are read. With `owned` the rows of other instances come by too, and nothing is asked
    for them. Nothing is written where a key cannot be had.
    """
    if not keys:
        return ""
    far, near = Source(), Source()
    scope = Scope(module, far, dict(types))
    scope.set = set(types)
    try:
        far.line("@compiled")
        with far.block(f"def far(c, i, j{ARGS}):"):
            far.line("k = load(c + 72)")
            read(scope, {n for ahead in keys for n in free_names(ahead.key)})
            for number, ahead in enumerate(keys):
                key = scope.write.name_words(convert(scope.value(ahead.key), ahead.shape.key))
                hashed = far.fresh(hash_of(key), "q")
                far.line(f"store({hash_ahead(number)}, {hashed})")
                where = module.once.store(ahead.shape)
                slot = far.fresh(f"slot_of({hashed}, {where.mask}, {where.chunks}, {where.low}, {where.secret})", "s")
                far.line(f"store({entry_ahead(number)}, {slot})")
                far.line(f"prefetch({where.index} + 4 * {slot})")
            far.line("return 0")
    except NotInKernels:
        return ""
    near.line("@compiled")
    with near.block(f"def near(c, j{ARGS}):"):
        for number, ahead in enumerate(keys):
            _write_near(module, near, number, ahead, owned)
        near.line("return 0")
    close = Source()
    close.line("@compiled")
    with close.block(f"def close(c, j{ARGS}):"):
        for number, ahead in enumerate(keys):
            _write_close(module, close, number, ahead)
        close.line("return 0")
    return f"{far}\n\n{near}\n\n{close}"


def _write_near(module: Module, out: Source, number: int, ahead: Ahead, owned: bool) -> None:
    where = module.once.store(ahead.shape)
    hashed = out.fresh(f"load({hash_ahead(number)})", "q")
    entry = out.fresh("-1", "e")
    # Where only a part of the key says who owns it, its hash does not tell.
    mine = f"load(load(c + 64) + 8 * ({hashed} & 1023)) == load(c + 120)" if owned and ahead.shape.by_key else "True"
    with out.block(f"if {mine}:"):
        slot = f"load({entry_ahead(number)})"
        out.line(f"{entry} = entry_by_tag({where.index}, {slot}, {where.mask}, {where.numbers}, {hashed})")
        with out.block(f"if {entry} >= 0:"):
            address = out.fresh(where.entry(ahead.shape, entry), "a")
            ends = min(ahead.shape.size, MOST * LINE) - 8
            for offset in [*range(0, ends, LINE), ends]:  # an entry may begin anywhere in a line
                out.line(f"prefetch({address} + {offset})")
    out.line(f"store({entry_ahead(number)}, {entry})")


def _write_close(module: Module, out: Source, number: int, ahead: Ahead) -> None:
    found = texts(ahead.shape.key)
    if found:
        first = (found & -found).bit_length() - 1  # of the words of the key
        entry = out.fresh(f"load({entry_ahead(number)})", "e")
        with out.block(f"if {entry} >= 0:"):
            address = module.once.store(ahead.shape).entry(ahead.shape, entry)
            out.line(f"prefetch(load({address} + {8 + 8 * first}))")
