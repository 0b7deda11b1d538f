"""One call: how long `get` of the key/value store takes, alone and beside batches.

    python benchmarks/one_call.py [--json] [--rounds N] [--scale F]

Ten thousand keys, one thread that calls. Beside it, in the second part, another thread feeds `put.many` with Arrow
batches of ten thousand rows, as fast as it can. The plain version is `dict.get`.
"""

from __future__ import annotations

from collections import defaultdict
from contextlib import ExitStack
from itertools import repeat

import numpy as np
import pyarrow as pa
from harness import PLAIN, Bench, app_name, main, tiers_of, time_calls, time_calls_beside

from examples.kvstore import KeyValueStore


def measure(bench: Bench) -> None:
    data = {f"key-{n}": n for n in range(bench.size("keys", 10_000))}
    names = np.array([*data, "missing"])
    keys = np.random.default_rng(7).choice(names, bench.size("calls a round", 20_000, least=100)).tolist()
    batch = pa.table({"key": list(data), "value": list(data.values())})
    alone, beside, rates = defaultdict(list), defaultdict(list), defaultdict(list)
    with ExitStack() as stack:
        apps = {app_name(n): stack.enter_context(bench.run(KeyValueStore(), n)) for n in (1, 2)}
        for name, app in apps.items():
            app.put.many(batch)
            if [app.get(key) for key in keys] != [data.get(key) for key in keys]:
                raise AssertionError(f"{name} and {PLAIN} differ in what they get")
            bench.tiers["get"] = tiers_of(app, "get")
        for _ in bench.rounds:
            alone[PLAIN].append(time_calls(data.get, keys))
            for name, app in apps.items():
                alone[name].append(time_calls(app.get, keys))
                seconds, rate = time_calls_beside(app.put.many, repeat(batch), app.get, keys)
                beside[name].append(seconds)
                rates[name].append(rate * len(data))
    bench.latencies(f"get, {PLAIN}", alone[PLAIN], None, None)
    for name in apps:
        bench.latencies(f"get, {name}", alone[name], 30, 1000)
        bench.latencies(f"get beside put.many, {name}", beside[name], None, None)
        bench.figure(f"put.many meanwhile, {name}", rates[name], "rows/s")


if __name__ == "__main__":
    main(measure, __doc__)
