"""What the benchmarks of workers elsewhere share: single calls, and how long it takes until there is an answer.

`hosts` are names with what `ab.run` is told of them. All of them are up at once, and each round asks them in turn.
"""

from __future__ import annotations

import gc
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow as pa
from harness import Bench, tiers_of, time_calls
from programs import Links, Sums

from anabranch.runtime.routing import spread_evenly
from examples.kvstore import KeyValueStore

Hosts = Mapping[str, Mapping[str, Any]]
WORKERS = 2
THREADS: Hosts = {"threads": {}}
PROCESSES: Hosts = {"processes": {"hosts": "processes"}}


def workers_of(keys: int, workers: int) -> np.ndarray[Any, Any]:
    """The worker that has each key."""
    routing = spread_evenly(workers)
    return np.array([routing.worker_of(routing.owner(key)) for key in range(keys)])


def links_elsewhere(keys: int, workers: int) -> np.ndarray[Any, Any]:
    """For each key another one, which another worker has, all others equally often."""
    rng = np.random.default_rng(7)
    at = workers_of(keys, workers)
    found = rng.integers(0, keys, keys)
    while len(same := np.flatnonzero(at[found] == at)):
        found[same] = rng.integers(0, keys, len(same))
    return found


def measure_calls(bench: Bench, hosts: Hosts, limits: Mapping[str, float]) -> None:
    """`get` of the key/value store: to the one worker that has the key, and back."""
    keys = {f"key-{n}": n for n in range(bench.size("keys of calls", 10_000, least=100))}
    asked = np.random.default_rng(7).choice([*keys], bench.size("calls a round", 1_000, least=50)).tolist()
    batch = pa.table({"key": [*keys], "value": [*keys.values()]})
    expected = [keys[key] for key in asked]
    _measure(bench, "one call", hosts, limits, KeyValueStore, lambda app: app.put.many(batch), "get", asked, expected)


def measure_crossing(bench: Bench, hosts: Hosts, limits: Mapping[str, float]) -> None:
    """A call that visits a key, and then one that another worker has: from there the result goes back."""
    keys = bench.size("keys of crossings", 10_000, least=100)
    to = links_elsewhere(keys, WORKERS)
    values = np.arange(keys, dtype=float)

    def fill(app: Any) -> None:
        app.link.many(pa.table({"key": np.arange(keys), "to": np.arange(keys)}))
        app.pass_on.many(pa.table({"key": np.arange(keys), "value": values}))
        app.link.many(pa.table({"key": np.arange(keys), "to": to}))

    asked = np.random.default_rng(8).integers(0, keys, bench.size("calls a round", 1_000, least=50)).tolist()
    expected = [float(to[key]) for key in asked]
    _measure(bench, "two workers and back", hosts, limits, Links, fill, "total_behind", asked, expected)


def _measure(
    bench: Bench,
    what: str,
    hosts: Hosts,
    limits: Mapping[str, float],
    program: Callable[[], Any],
    fill: Callable[[Any], object],
    entry: str,
    asked: Sequence[Any],
    expected: Sequence[Any],
) -> None:
    found: dict[str, list[list[float]]] = defaultdict(list)
    with ExitStack() as stack:
        apps = {name: stack.enter_context(bench.run(program(), WORKERS, **where)) for name, where in hosts.items()}
        for name, app in apps.items():
            fill(app)
            if [app.entries[entry](key) for key in asked] != expected:
                raise AssertionError(f"{name} gives other answers than were put in")
            bench.tiers[entry] = tiers_of(app, entry)
        for _ in bench.rounds:
            for name, app in apps.items():
                found[name].append(time_calls(app.entries[entry], asked))
    for name, seconds in found.items():
        bench.latencies(f"{what}, {name}", seconds, limits.get(name), None)


def measure_starts(bench: Bench, hosts: Hosts, limits: Mapping[str, float]) -> None:
    """From `ab.run` to the first answer, and from `stop` to its end. The first time is not like the others."""
    first: dict[str, float] = {}
    starts: dict[str, list[float]] = defaultdict(list)
    stops: dict[str, list[float]] = defaultdict(list)
    for n in range(len(bench.rounds) + 1):
        for name, where in hosts.items():
            gc.collect()
            begun = perf_counter()
            app = bench.run(Sums(), WORKERS, **where)
            app.total(7)
            answered = perf_counter()
            app.stop()
            if n:
                starts[name].append(answered - begun)
                stops[name].append(perf_counter() - answered)
            else:
                first[name] = answered - begun
    for name in hosts:
        bench.figure(f"start to first answer, {name}, the first time", [first[name]], "s")
        bench.figure(f"start to first answer, {name}, later", starts[name], "s", at_most=limits.get(name))
        bench.figure(f"stop, {name}, later", stops[name], "s")
