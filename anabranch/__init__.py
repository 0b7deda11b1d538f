"""Anabranch: stateful algorithms in plain Python, run on all cores or on a Spark cluster.

The layers, in the order of the pipeline; each may import only those before it:

    lang/       what users write: Program, Partitioned, Partial, everywhere, gather, state types in plain Python
    frontend/   class -> graph: read, types, fields, access, cut, liveness, diagnostics
    graph/      the graph as values: nodes, verify, text, draw
    passes/     graph -> graph, one file each, one ordered list
    state/      columnar state elements, snapshots, checkpoint files
    kernels/    stages -> functions: the primitive table, the numba tier and its Python twin
    runtime/    pure machines: worker, coordinator, routing, events, commands
    drivers/    run the machines: threads, channels, Flight, log
    engines/    sequential (the oracle), embedded, spark
    testing/    public kit for users' own tests
"""

from typing import Any

from anabranch.lang import (
    BadInput,
    DenseMatrix,
    DenseVector,
    Feed,
    FrozenError,
    InputOverflow,
    Matrix,
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
    stale,
    writes,
)

__version__ = "0.1.0"

__all__ = [
    "BadInput", "DenseMatrix", "DenseVector", "Feed", "FrozenError", "InputOverflow", "Matrix", "Partial",
    "Partitioned", "Program", "ProgramError", "Replicated", "Table", "Time", "Timeline", "UTCDateTime", "Value",
    "Vector", "Vertex", "__version__", "add", "every", "everywhere", "gather", "largest", "local", "mean", "partial",
    "pure", "random", "reads", "smallest", "stale", "writes",
]  # fmt: skip

# name -> module that defines it: imported when first used, so that `import anabranch` stays light.
_LAZY: dict[str, str] = {
    "CompileError": "anabranch.frontend.diagnostics",
    "Diagnostic": "anabranch.frontend.diagnostics",
    "Graph": "anabranch.graph.nodes",
    "check": "anabranch.compiler",
    "compile": "anabranch.compiler",
}
_RESERVED = ("submit", "aio")


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        from importlib import import_module

        return getattr(import_module(_LAZY[name]), name)
    if name in _RESERVED:
        raise AttributeError(f"ab.{name} is reserved: not yet available")
    raise AttributeError(f"module 'anabranch' has no attribute {name!r}")
