"""Which tier an entry runs on, and the change from one to the other.

A program starts as Python. An entry whose kernel is on disk, or that has had enough rows to be worth a second of
compiling, gets its kernel; its states move into flat memory between two epochs. Calls never wait for a compiler: it
works beside them. Law: what an entry gives does not depend on its tier.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from time import perf_counter
from typing import Any

from anabranch.drivers.callers import Stopped
from anabranch.drivers.interrupts import HoldBack
from anabranch.drivers.kernels import Kernels
from anabranch.engines.embedded.progress import compiling
from anabranch.lang.columns import in_kind, results_of
from anabranch.lang.errors import MemoryFull
from anabranch.lang.spec import EntrySpec
from anabranch.runtime.messages import Boxed

log = logging.getLogger(__name__)

TIERS = ("auto", "python", "compiled")
AT_ONCE = 10_000  # a batch of so many rows is worth waiting for a compiler
SOON = 2_000  # an entry that has had so many rows is worth compiling beside it
ON_DISK = 64  # the same where the kernel is on disk


class Tiers:
    """Decides for one app. `install` brings the kernels of an entry into use, wherever its state is."""

    def __init__(
        self,
        kernels: Kernels,
        tier: str,
        small: int,
        install: Callable[[str, Any], None],
        refuse_from_within: Callable[[], None],
    ) -> None:
        """A batch of at most `small` rows is not worth columns."""
        self.tier, self._small = tier, small
        self._install, self._refuse_from_within = install, refuse_from_within
        self.switch(kernels)
        self._paused = False
        self.full: dict[str, str] = {}  # by entry: why its states could not be laid out
        self._rows: dict[str, int] = {}
        self._settled = {e.name for e in kernels.graph.entries if tier == "python" or kernels.is_fast(e.name)}
        self._running: set[str] = set()
        self._lock = threading.Lock()

    def start(self) -> None:
        """With `compiled` all that can be compiled is, before the first request."""
        if self.tier == "compiled":
            for entry in self._kernels.graph.entries:
                self._compile(entry.name, True)

    def switch(self, kernels: Kernels) -> None:
        """Others are in use, for the same entries."""
        self._kernels, self.is_fast, self.fallback = kernels, kernels.is_fast, kernels.fallback

    @contextmanager
    def as_they_are(self) -> Iterator[None]:
        """No entry changes its tier inside the block; nobody waits for that."""
        with self._lock:
            self._paused = True
        try:
            yield
        finally:
            self._paused = False

    @contextmanager
    def still(self) -> Iterator[None]:
        """Nobody compiles for this app inside the block."""
        with self._lock, self._kernels.still():
            yield

    # -- asked by everyone --------------------------------------------------------------------------------------------

    def expect(self, entry: str, rows: int) -> bool:
        """So many rows are about to come; gives whether they find a kernel."""
        if entry in self._settled:  # most calls end here
            return self.is_fast(entry)
        seen = self._rows[entry] = self._rows.get(entry, 0) + rows
        if seen < ON_DISK or entry in self._running or self._paused:
            return False
        self._refuse_from_within()  # else the entry at work and the change of tiers wait for each other
        # Neither a compiler nor the import of one is made to be cut off in the middle: Ctrl-C comes when it is done.
        with HoldBack():
            if rows >= AT_ONCE or self.fallback(entry) is not None or self._kernels.code.is_kept(entry):
                self._compile(entry, rows >= AT_ONCE)
            elif seen >= SOON:
                self._running.add(entry)
                beside = threading.Thread(target=self._compile_beside, args=(entry,), daemon=True)
                beside.name = "anabranch-compiler"
                beside.start()
        return self.is_fast(entry)

    def block(self, spec: EntrySpec, data: Any) -> Any:
        """A batch as columns of words, if its entry has a kernel, or gets one now, and they can be read so."""
        if spec.name in self._settled and not self.is_fast(spec.name):
            return None
        if not isinstance(data, list) and (rows := size_of_batch(data)) > self._small:
            if not self.expect(spec.name, rows):
                return None
            from anabranch.kernels.native.inputs import read_block

            return read_block(spec, data)
        return None

    def block_of_rows(self, spec: EntrySpec, rows: list[Any]) -> Any:
        """The same of rows that were read one by one."""
        if not self.expect(spec.name, len(rows)) or len(rows) <= self._small:
            return None
        from anabranch.kernels.native.blocks import block_of

        return block_of(tuple(p.type for p in self._kernels.graph.entry(spec.name).parameters), rows)

    def in_kind(self, spec: EntrySpec, data: Any, results: Any) -> Any:
        """The results of a batch in the form in which it came."""
        from anabranch.kernels.native.blocks import Results
        from anabranch.kernels.native.outputs import result_arrow, result_dict

        if isinstance(results, Boxed):
            from anabranch.kernels.native.stages import gathered

            assert spec.result is not None
            results = gathered(spec.result, results.first, len(results), results.boxes)
        if not isinstance(results, Results) or isinstance(data, list):
            return results_of(spec, data)(list(results))
        return result_dict(spec, results) if isinstance(data, Mapping) else in_kind(data, result_arrow(spec, results))

    # -- the change ---------------------------------------------------------------------------------------------------

    def _compile_beside(self, entry: str) -> None:
        with suppress(Stopped):  # then nobody waits for it any more
            self._compile(entry, False)

    def _compile(self, entry: str, shown: bool) -> None:
        with self._lock:
            if self._paused:
                self._running.discard(entry)
                return
            if entry in self._settled or self.fallback(entry) is not None:
                self._settled.add(entry)
                return
            start = perf_counter()
            with compiling(entry) if shown and not self._kernels.code.is_kept(entry) else nullcontext():
                made = self._made(entry)
            self._settled.add(entry)
            if made is None:
                return
            try:
                self._install(entry, made)
            except MemoryFull as error:
                self.full[entry] = str(error)
                log.warning("%s goes on as Python: there is no memory to lay out its states: %s", entry, error)
            else:
                log.info("%s: kernel in use after %.2f s", entry, perf_counter() - start)

    def _made(self, entry: str) -> tuple[Any, Any] | None:
        """The kernels of an entry. That one cannot be compiled is a mistake of ours, and no reason not to run."""
        try:
            return self._kernels.prepare(entry)
        except Exception:
            log.exception("%s could not be compiled: it goes on as Python", entry)
            return None


def size_of_batch(data: Any) -> int:
    """How many rows a batch has, roughly: it is read later."""
    try:
        if isinstance(data, Mapping):
            return max((len(column) for column in data.values()), default=0)
        return int(getattr(data, "num_rows", -1)) if hasattr(data, "num_rows") else len(data)
    except TypeError:
        return 0
