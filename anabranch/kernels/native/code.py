"""Which entries of a program compile, and their kernels.

Law: what is said here of an entry depends on the graph and the number of instances alone, never on data; a kernel and
the Python tier give the same, on the same memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from threading import RLock
from typing import Any, TypeVar

import numpy as np

from anabranch.graph.nodes import Graph
from anabranch.graph.span import Span
from anabranch.kernels.native.columns import Words
from anabranch.kernels.native.constants import encode_constant
from anabranch.kernels.native.layout import NotInKernels
from anabranch.kernels.native.module import Module
from anabranch.kernels.native.shapes import Shape, shapes
from anabranch.kernels.native.staged import write_stage
from anabranch.kernels.native.wholes import write_whole
from anabranch.lang.types import Type

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Fallback:
    """Why something runs as Python, and the user's line for it; `others` are further reasons."""

    why: str
    span: Span | None
    others: tuple[Fallback, ...] = ()

    @property
    def reasons(self) -> tuple[Fallback, ...]:
        return (self, *self.others)


@dataclass(frozen=True, slots=True)
class Written:
    """The text of a kernel and the constants it reads."""

    text: str
    constants: tuple[tuple[str | None, Any, Type], ...]
    states: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Kernel:
    """Machine code for rows of an entry; `constants` are its words, `kept` is what they refer to."""

    entry: str
    function: Any
    constants: Words
    kept: Any
    types: tuple[Type, ...]
    result: Type
    from_disk: bool


def write_kernel(graph: Graph, shaped: Mapping[str, Shape], entry: str, single: bool) -> Written:
    """The kernel of a whole entry; `NotInKernels` with the user's span where there is none."""
    node = graph.entry(entry)
    module = Module(graph, dict(shaped))
    text = module.text([_all_or_nothing(module, lambda: write_whole(module, graph, node, single))])
    states = {s for t in graph.tasks if t.entry == entry for s in t.states}
    return Written(text, tuple(module.constants), tuple(sorted(states)))


def write_stage_kernel(
    graph: Graph, shaped: Mapping[str, Shape], entry: str, stage_of: Mapping[str, int], stage: int
) -> Written:
    module = Module(graph, dict(shaped))
    node = graph.entry(entry)
    text = module.text([_all_or_nothing(module, lambda: write_stage(module, graph, node, stage_of, stage))])
    return Written(text, tuple(module.constants), ())


def _all_or_nothing(module: Module, write: Callable[[], T]) -> T:
    """What `write` gives; `NotInKernels` with all that kernels lack, if they lack anything."""
    try:
        written = write()
    except NotInKernels as error:
        module.refused.append(error)
    if not module.refused:
        return written
    first, *others = module.refused
    first.others = tuple(others)  # type: ignore[attr-defined]
    raise first


def fallback_of(error: NotInKernels) -> Fallback:
    first, *others = dict.fromkeys(
        Fallback(str(each), getattr(each, "span", None)) for each in (error, *getattr(error, "others", ()))
    )
    return Fallback(first.why, first.span, tuple(others))


def explain_tiers(graph: Graph) -> dict[str, Fallback | None]:
    """For each entry why it runs as Python, None where it compiles; on one worker."""
    found: dict[str, Fallback | None] = {}
    shaped = shapes(graph)
    for entry in graph.entries:
        try:
            write_kernel(graph, shaped, entry.name, True)
            found[entry.name] = None
        except NotInKernels as error:
            found[entry.name] = fallback_of(error)
    return found


@contextmanager
def nobody_compiles() -> Iterator[None]:
    """In this process, inside the block."""
    from numba.core.compiler_lock import global_compiler_lock

    with global_compiler_lock:
        yield


class NativeCode:
    """The kernels of a program that runs on so many instances. Each is written and compiled when it is asked for."""

    def __init__(
        self, graph: Graph, program: Any, instances: int, plan_of: Callable[[str], Any] = lambda entry: None
    ) -> None:
        """`plan_of` gives the stages of an entry alone, see `anabranch.runtime.plan`."""
        self.graph, self.program, self.instances, self.plan_of = graph, program, instances, plan_of
        self.shapes = shapes(graph, dict(program.__anabranch_states__))
        self._written: dict[str, Written | Fallback] = {}
        self._kernels: dict[str, Kernel] = {}
        self._stages: dict[str, list[Kernel]] = {}
        self._lock = RLock()

    @contextmanager
    def still(self) -> Iterator[None]:
        """Nobody writes or looks up a kernel inside the block."""
        with self._lock:
            yield

    def written(self, entry: str) -> Written | Fallback:
        with self._lock:
            if entry not in self._written:
                try:
                    written = write_kernel(self.graph, self.shapes, entry, self.instances == 1)
                    self._constants(written)  # configuration that was never set fails here
                    self._written[entry] = written
                except NotInKernels as error:
                    self._written[entry] = fallback_of(error)
            return self._written[entry]

    def is_kept(self, entry: str) -> bool:
        """Was it compiled before, by this or another process?"""
        from anabranch.kernels.native.cache import fingerprint, is_kept

        written = self.written(entry)
        return isinstance(written, Written) and is_kept("kernel", fingerprint(written.text))

    def ready(self, entry: str) -> Kernel | None:
        """The kernel that is installed."""
        return self._kernels.get(entry)

    def prepare(self, entry: str) -> Kernel:
        """Machine code; takes about half a second of a core where it is not on disk."""
        from anabranch.kernels.native.cache import build
        from anabranch.kernels.native.driver import rebuild_index, split_chunks, undo

        written = self.written(entry)
        assert isinstance(written, Written), written
        for needed in (rebuild_index, split_chunks, undo):  # as soon as anything grows
            needed.machine  # noqa: B018
        return self._built(entry, written, build)

    def _built(self, entry: str, written: Written, build: Any) -> Kernel:
        function, from_disk = build(written.text)
        constants, kept = self._constants(written)
        node = self.graph.entry(entry)
        types = tuple(p.type for p in node.parameters)
        return Kernel(entry, function, constants, kept, types, node.result, from_disk)

    def written_stages(self, entry: str) -> list[Written] | Fallback:
        """The kernels of the stages of a straight entry, for more than one instance."""
        if self.instances == 1:
            return Fallback("there is one instance", None)
        plan = self.plan_of(entry)
        if plan is None:
            return Fallback("it is winding", None)
        try:
            found = [write_stage_kernel(self.graph, self.shapes, entry, plan.stage_of, s) for s in range(plan.stages)]
            for written in found:
                self._constants(written)
            return found
        except NotInKernels as error:
            return fallback_of(error)

    def prepare_stages(self, entry: str) -> list[Kernel] | None:
        from anabranch.kernels.native.cache import build

        written = self.written_stages(entry)
        return None if isinstance(written, Fallback) else [self._built(entry, w, build) for w in written]

    def install(self, entry: str, kernel: Kernel, stages: list[Kernel] | None = None) -> None:
        """From here on the entry runs on it: its states are in flat memory."""
        self._kernels[entry] = kernel
        if stages is not None:
            self._stages[entry] = stages

    def stages(self, entry: str) -> list[Kernel] | None:
        """The kernels of its stages that are installed."""
        return self._stages.get(entry)

    def _constants(self, written: Written) -> tuple[Words, Any]:
        columns: list[Words] = []
        kept = []
        for name, value, t in written.constants:
            if name is not None:
                if not hasattr(self.program, name):
                    raise NotInKernels(f"{name} was never set")
                value = getattr(self.program, name)
            found = encode_constant(name or "a constant", t, value)
            columns += [c.view(np.int64) for c in found.columns]
            kept.append(found.kept)
        return np.concatenate([*columns, np.zeros(1, dtype=np.int64)]), kept
