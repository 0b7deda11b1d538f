"""Anabranch: stateful algorithms in plain Python, translated to dataflow graphs.

The layers, lowest first; each may import only those before it:

    lang/        what users write: Program, Partitioned, Partial, everywhere, gather, state types in plain Python
    graph/       the graph as values: nodes, code inside tasks, verify, text, drawings
    frontend/    class -> graph: read, types, accesses, cut, diagnostics
    passes/      graph -> graph, one file each, one ordered list (frontend and passes do not see each other)
    compiler.py  compile: frontend, then passes
    state/       a state as numbered parts
    kernels/     the tasks of a graph as functions: emitted Python
    runtime/     pure machines: worker, coordinator, routing, stages
    drivers/     hosts of the machines: threads
    engines/     what runs programs: sequential, the oracle; embedded, behind run; connected, behind connect
    checking.py  check: what the compiler found, and which entries kernels cannot run
    testing/     the kit with which users test their own programs
    inspecting/  what a checkpoint location holds: look at it, read it, migrate it, without the program
    cli.py       the command line, with demo/
"""

from typing import TYPE_CHECKING, Any

from anabranch.lang import (
    BadInput,
    DenseMatrix,
    DenseVector,
    Feed,
    FrozenError,
    InputOverflow,
    Matrix,
    MemoryFull,
    Partial,
    Partitioned,
    Program,
    ProgramError,
    Replicated,
    Table,
    Time,
    Timeline,
    UTCDateTime,
    Value,
    Vector,
    Vertex,
    add,
    every,
    everywhere,
    gather,
    largest,
    local,
    mean,
    partial,
    pure,
    random,
    reads,
    smallest,
    stable_hash,
    stale,
    writes,
)
from anabranch.lang.release import VERSION
from anabranch.lang.similar import with_question

if TYPE_CHECKING:
    from anabranch.checking import check as check
    from anabranch.compiler import compile as compile
    from anabranch.drivers.callers import ForkLost as ForkLost
    from anabranch.drivers.callers import StateLost as StateLost
    from anabranch.drivers.callers import Stopped as Stopped
    from anabranch.drivers.carried import RemoteError as RemoteError
    from anabranch.drivers.tls import Tls as Tls
    from anabranch.engines.connected import AnswerLost as AnswerLost
    from anabranch.engines.connected import connect as connect
    from anabranch.engines.embedded import run as run
    from anabranch.frontend.diagnostics import CompileError as CompileError
    from anabranch.frontend.diagnostics import Diagnostic as Diagnostic
    from anabranch.graph.nodes import Graph as Graph
    from anabranch.inspecting import read_checkpoint as read_checkpoint
    from anabranch.runtime.elastic import Autoscale as Autoscale

__version__ = VERSION

__all__ = [
    "BadInput", "DenseMatrix", "DenseVector", "Feed", "FrozenError", "InputOverflow", "Matrix", "MemoryFull", "Partial",
    "Partitioned", "Program", "ProgramError", "Replicated", "Table", "Time", "Timeline", "UTCDateTime", "Value",
    "Vector", "Vertex", "__version__", "add", "every", "everywhere", "gather", "largest", "local", "mean", "partial",
    "pure", "random", "reads", "smallest", "stable_hash", "stale", "writes",
]  # fmt: skip

# name -> module that defines it: imported when first used, so that `import anabranch` stays light.
_LAZY: dict[str, str] = {
    "AnswerLost": "anabranch.engines.connected",
    "Autoscale": "anabranch.runtime.elastic",
    "CompileError": "anabranch.frontend.diagnostics",
    "Diagnostic": "anabranch.frontend.diagnostics",
    "Graph": "anabranch.graph.nodes",
    "RemoteError": "anabranch.drivers.carried",
    "ForkLost": "anabranch.drivers.callers",
    "StateLost": "anabranch.drivers.callers",
    "Stopped": "anabranch.drivers.callers",
    "Tls": "anabranch.drivers.tls",
    "check": "anabranch.checking",
    "compile": "anabranch.compiler",
    "connect": "anabranch.engines.connected",
    "read_checkpoint": "anabranch.inspecting",
    "run": "anabranch.engines.embedded",
}
_RESERVED = ("submit", "aio")


def __dir__() -> list[str]:
    return sorted({*__all__, *_LAZY})


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        from importlib import import_module

        return getattr(import_module(_LAZY[name]), name)
    if name in _RESERVED:
        raise AttributeError(f"ab.{name} is reserved: not yet available")
    raise AttributeError(with_question(f"module 'anabranch' has no attribute {name!r}", name, __dir__()))
