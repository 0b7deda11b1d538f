"""What users write: programs, state types, and the words for distribution. Runs as plain Python."""

from anabranch.lang.dense import DenseVector
from anabranch.lang.dense_matrix import DenseMatrix
from anabranch.lang.distribution import Distribution, Partial, Partitioned, Replicated, everywhere, gather, local, pure
from anabranch.lang.entry import Entry
from anabranch.lang.errors import BadInput, FrozenError, InputOverflow, MemoryFull, ProgramError
from anabranch.lang.hashing import stable_hash
from anabranch.lang.later import Feed, Time, Timeline, Vertex, every, random, stale
from anabranch.lang.marks import reads, writes
from anabranch.lang.matrix import Matrix
from anabranch.lang.merges import add, largest, mean, partial, smallest
from anabranch.lang.program import Program
from anabranch.lang.spec import describe
from anabranch.lang.table import Table
from anabranch.lang.types import UTCDateTime
from anabranch.lang.value import Value
from anabranch.lang.vector import Vector

__all__ = [
    "BadInput", "DenseMatrix", "DenseVector", "Distribution", "Entry", "Feed", "FrozenError", "InputOverflow", "Matrix",
    "MemoryFull", "Partial", "Partitioned", "Program", "ProgramError", "Replicated", "Table", "Time", "Timeline",
    "UTCDateTime", "Value", "Vector", "Vertex", "add", "describe", "every", "everywhere", "gather", "largest", "local",
    "mean", "partial", "pure", "random", "reads", "smallest", "stable_hash", "stale", "writes",
]  # fmt: skip
