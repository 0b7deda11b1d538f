"""Dense state that row after row writes: the log is given all of it once, then what rows log goes again behind them.

Each write of an entry is three words of the log, so a pass of a model over its points would leave a log that is longer
than the points. When as much of it has come together as is worth it, all entries are logged as they are. From then on a
row that has gone well can be taken back without what it has logged itself.

Laws: what was before the kernel began, and before the row at hand, can always be brought back from the log; nothing
here needs memory or leaves the kernel. It holds where dense state is all that the rows write.
"""

from __future__ import annotations

from collections.abc import Mapping

from anabranch.graph.code import Access, Body, walk
from anabranch.kernels.native.arrays import ADDRESS, COLUMNS, ROWS
from anabranch.kernels.native.memory import LOG_AT, LOG_END, WORD_RECORD
from anabranch.kernels.native.module import Module
from anabranch.kernels.native.once import INSTANCE
from anabranch.kernels.native.shapes import Shape
from anabranch.lang import DenseMatrix, DenseVector

OFTEN = 4  # times as much as all of the state takes

PROLOGUE = f"begun, whole, all_of_it = load({INSTANCE} + {LOG_AT}), 0, {WORD_RECORD} * ({{words}})\n"
FORGET = f"""\
if whole > 0:
    store({INSTANCE} + {LOG_AT}, whole)
elif load({INSTANCE} + {LOG_AT}) - begun > {OFTEN} * all_of_it:
    if load({INSTANCE} + {LOG_AT}) + all_of_it <= load({INSTANCE} + {LOG_END}):
{{logged}}
        whole = load({INSTANCE} + {LOG_AT})
"""


def forgetting(module: Module, *bodies: Body) -> tuple[str, str]:
    """Lines that stand before the rows of a kernel, and behind each of them; none where rows write other state too."""
    stores = [module.once.store(module.shapes[name]) for name in _dense_states(module.shapes, bodies)]
    if not stores:
        return "", ""
    sizes = [f"load({at.entries} + {ROWS}) * load({at.entries} + {COLUMNS})" for at in stores]
    logged = [
        f"        log_all({INSTANCE}, {at.hdr}, load({at.entries} + {ADDRESS}), {size})"
        for at, size in zip(stores, sizes, strict=True)
    ]
    return PROLOGUE.format(words=" + ".join(sizes)), FORGET.format(logged="\n".join(logged))


def _dense_states(shapes: Mapping[str, Shape], bodies: tuple[Body, ...]) -> list[str]:
    """The states that rows write; none if there are others than dense ones, or other ways to write them."""
    writes = [s for body in bodies for s in walk(body) if isinstance(s, Access) and s.writes]
    if any(s.everywhere or s.method != "__setitem__" for s in writes):
        return []
    if any(shapes[s.state].cls not in (DenseVector, DenseMatrix) for s in writes):
        return []
    return list(dict.fromkeys(s.state for s in writes))
