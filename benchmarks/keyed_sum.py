"""Sums by key: a row is one addition, so this is the price of reaching state.

    python benchmarks/keyed_sum.py [--json] [--rounds N] [--scale F]

Ten million rows of a million keys, fed as Arrow batches of a million rows. Beside the plain version (lists, a
`defaultdict`) there are loops by hand over a hash table: what compiled tasks can reach at best. The one with the undo
log does what an app must do too: it keeps what it would need to take a batch back, and looks whether it has room.
"""

from __future__ import annotations

from bare import bare_way, logged_way, threads_name, threads_way
from harness import PLAIN, Bench, app_name, main
from sums import app_way, plain_way, uniform_rows


def measure(bench: Bench) -> None:
    rows, keys = bench.size("rows", 10_000_000), bench.size("keys", 1_000_000)
    batches = uniform_rows(rows, keys, bench.size("rows a batch", 1_000_000))
    ways = [
        plain_way(batches),
        bare_way(batches, keys),
        logged_way(batches, keys),
        threads_way(batches, keys, 2),
        app_way(bench, batches, 1),
        app_way(bench, batches, 2),
    ]
    times = bench.time(ways, rows)
    one, two = app_name(1), app_name(2)
    bench.figure(f"{one} / bare loop", times.ratio(one, "bare loop"), at_least=0.6)
    bench.figure(f"{one} / bare loop with undo log", times.ratio(one, "bare loop with undo log"))
    bench.figure(f"{two} / {threads_name(2)}", times.ratio(two, threads_name(2)), at_least=0.6)
    bench.figure(f"{two} / {one}", times.ratio(two, one))
    bench.figure(f"{one} / plain", times.ratio(one, PLAIN), at_least=5)


if __name__ == "__main__":
    main(measure, __doc__)
