"""Rows of what states held, into a memory whose keys may be with other instances.

Restoring from files and growing a successor beside a running app are this, with rows from elsewhere.

Laws: to place all that a memory held gives a memory that holds the same; an entry is with the instance that owns it
now; a partial instance keeps its number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import cycle

import numpy as np
import pyarrow as pa

from anabranch.graph.nodes import Graph, State
from anabranch.lang import DenseMatrix, DenseVector, Program, Table
from anabranch.lang.distribution import Distribution
from anabranch.lang.errors import ProgramError
from anabranch.lang.keys import bucket
from anabranch.lang.marks import copy_state, is_builtin
from anabranch.lang.merges import mean
from anabranch.runtime.balance import balanced
from anabranch.runtime.memory import Memory
from anabranch.runtime.routing import Routing, spread_evenly
from anabranch.state.changes import OwnCodec, apply_rows, rows_of
from anabranch.state.parts import entry_keys, place_of


def routing_for(graph: Graph, instances: int, workers: int) -> Routing:
    """Where keys go with so many workers: instances of partial state stay what they are, and there are more of them
    where there are more workers.
    """
    partial = any(state.distribution is Distribution.PARTIAL for state in graph.states)
    return spread_evenly(workers, max(instances, workers) if partial else workers)


def refuse_what_cannot_move(graph: Graph, spread: Sequence[int], routing: Routing, has: str, way_on: str) -> None:
    """`spread` is the instance of every bucket where the entries are."""
    own = [s.name for s in graph.states if s.distribution is Distribution.PARTITIONED and not is_builtin(s.cls)]
    if own and spread != routing.instance_of_bucket:
        raise ProgramError(
            f"{own[0]} is partitioned, of a type of your own, and {has}: only its own code knows its entries, so they "
            f"cannot be spread over {routing.workers}; {way_on}"
        )


def next_routing(
    graph: Graph,
    now: Routing,
    workers: int,
    wanted: Sequence[float] | None = None,
    weights: Sequence[float] | None = None,
    sizes: Sequence[float] | None = None,
) -> Routing:
    """That of a running app which goes on with so many workers.

    `wanted` is how much of the work each worker should have, `weights` the work of each bucket, both by default the
    same for all; `sizes` is what each worker holds today.
    """
    even = routing_for(graph, now.instances, workers)
    hosted = Counter(even.worker_of_instance)
    shares = [1.0] * workers if wanted is None else wanted
    holds = None
    if sizes is not None:
        worker_of_bucket = [now.worker_of(i) for i in now.instance_of_bucket]
        buckets = Counter(worker_of_bucket)
        holds = [sizes[w] / buckets[w] for w in worker_of_bucket]
    by_instance = [shares[w] / hosted[w] for w in even.worker_of_instance]
    of_bucket = balanced(now.instance_of_bucket, by_instance, weights, holds)
    routing = Routing(of_bucket, even.worker_of_instance, now.version + 1)
    has, way_on = f"is on {now.instances} instances", "start another app with as many workers as you need"
    refuse_what_cannot_move(graph, now.instance_of_bucket, routing, has, way_on)
    return routing


def relieved(now: Routing, leaving: Collection[int]) -> Routing:
    """That under which these workers have nothing: their instances are with the others, or, without any, with one more.

    >>> from anabranch.runtime.routing import spread_evenly
    >>> relieved(spread_evenly(3), {0}).worker_of_instance, relieved(spread_evenly(1), {0}).worker_of_instance
    ((1, 1, 2), (1,))
    """
    turns = cycle([w for w in range(now.workers) if w not in leaving] or [now.workers])
    placed = tuple([next(turns) if w in leaving else w for w in now.worker_of_instance])
    return Routing(now.instance_of_bucket, placed, now.version + 1)


def all_are_needed(graph: Graph, program: Program, before: int, routing: Routing) -> bool:
    """What all instances mean together, which new ones may start from, takes all of them."""
    merges = [program.__anabranch_merges__[s.name] for s in graph.states if s.distribution is Distribution.PARTIAL]
    return before < routing.instances and mean in merges


class Placing:
    """Puts rows into these instances of a memory. `was` is the instance of every bucket where the rows come from."""

    def __init__(
        self,
        graph: Graph,
        program: Program,
        memory: Memory,
        own: OwnCodec,
        was: Sequence[int],
        instances: Sequence[int],
    ) -> None:
        self._graph, self._program, self._memory, self._own = graph, program, memory, own
        self._was, self._instances = was, instances
        self._now = memory.routing.instance_of_bucket
        self.moved = tuple(was) != self._now

    def concerns(self, name: str, instance: int) -> bool:
        """May rows that an instance had be with one that is here?"""
        distribution = self._graph.state(name).distribution
        if distribution is Distribution.REPLICATED or (distribution is Distribution.PARTITIONED and self.moved):
            return True
        return instance in self._instances

    def place(self, name: str, instance: int, rows: pa.RecordBatch, whole: bool, fresh: bool = False) -> None:
        """What an instance had, or what has changed there. With `fresh` none of it is here yet."""
        state = self._graph.state(name)
        moved = self.moved and state.distribution is Distribution.PARTITIONED and is_builtin(state.cls)
        if state.distribution is Distribution.REPLICATED:
            for i in self._instances:
                self.fill(state, i, rows, whole, fresh)
        elif not moved:
            if instance in self._instances:
                self.fill(state, instance, rows, whole, fresh)
        else:
            if whole:
                self._clear(state, instance)
            for i, own in self._placed(state, instance, rows):
                self.fill(state, i, own, False, fresh)

    def _placed(self, state: State, instance: int, rows: pa.RecordBatch) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Rows with the instances that have them now."""
        from anabranch.kernels.native.restoring import owners

        now = owners(state, rows, self._now)
        was = owners(state, rows, self._was)
        for i in self._instances:
            own = np.flatnonzero((now == i) & (was == instance))  # a dense part also has places of others
            if len(own):
                yield i, rows.take(pa.array(own))

    def _clear(self, state: State, instance: int) -> None:
        """Take away what an instance had before keys moved."""
        for i in self._instances:
            part = self._memory.of_instance[i][state.name]
            if isinstance(part, DenseVector | DenseMatrix):
                return
            for key in list(entry_keys(part)):
                if self._was[bucket(place_of(state, key))] == instance:
                    if isinstance(part, Table):
                        del part[key]
                    else:
                        part[key] = 0.0

    def fill(self, state: State, instance: int, rows: pa.RecordBatch, whole: bool, fresh: bool) -> None:
        part = self._memory.of_instance[instance][state.name]
        if hasattr(part, "store"):  # and not by its name: parts that only a merge needs are plain
            from anabranch.kernels.native.restoring import fill

            fill(part, rows, whole, distinct=fresh)
        else:
            apply_rows(state, part, rows, whole, self._own)

    def begin_partial(self, states: Sequence[State], before: int) -> None:
        """Instances that there are more of than before start as those mean together, or from the template."""
        of = self._memory.of_instance
        for state in states:
            if state.distribution is not Distribution.PARTIAL:
                continue
            merge = self._program.__anabranch_merges__[state.name]
            template = self._program.__anabranch_templates__[state.name]
            for i in self._instances:
                if i >= before:
                    earlier = [of[j][state.name] for j in range(before)] if merge is mean else []
                    new = mean([copy_state(p) for p in earlier]) if earlier else copy_state(template)
                    self.fill(state, i, rows_of(state, new, None, self._own), True, False)
