"""Workers in processes of their own, beside workers that are threads: calls, crossings, batches, starts, exchanges.

    python benchmarks/apart.py [PART ...] [--json] [--rounds N] [--scale F] [--plots FOLDER]

Parts (default: all): `calls` asks for one key at a time; `crossings` for one key and then for one that another worker
has; `batches` feeds keyed sums as Arrow tables, a million rows each; `starts` is from `ab.run` to the first answer;
`exchange` feeds rows that visit two keys, of different workers, on 2 to 16 workers, and counts what workers send to
each other. Two workers where nothing else is said. State is there before the timing, and goes on from round to round.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from harness import PLAIN, ROOT, Bench, Way, as_lists, dict_table, in_batches, main
from hosts import PROCESSES, THREADS, links_elsewhere, measure_calls, measure_crossing, measure_starts
from plot import Point, line_plot
from programs import Links
from report import Spread
from sums import app_way, every_key, uniform_rows

COUNTS = (2, 4, 8, 16)
FEW = (2, 4)  # to try it: that many workers take long to start
EPOCHS = 10  # a round
HOSTS = {**THREADS, **PROCESSES}
Lines = dict[str, list[Point]]


def measure_batches(bench: Bench) -> None:
    """Keyed sums. The best of the rounds of each counts: what is in the way of one is not in the way of the other."""
    rows, keys = bench.size("rows of batches", 10_000_000), bench.size("keys of batches", 1_000_000)
    size = bench.size("rows a batch", 1_000_000)
    tables = [pa.Table.from_batches([batch]) for batch in uniform_rows(rows, keys, size)]
    fill = every_key(keys, size)
    for workers in (1, 2):
        names = {host: f"{host}, {workers} worker{'s' * (workers > 1)}" for host in HOSTS}
        ways = [app_way(bench, tables, workers, fill, names[host], **where) for host, where in HOSTS.items()]
        times = bench.time(ways, rows, "keyed sum", keep=True)
        threads, processes = names["threads"], names["processes"]
        best = min(times.seconds[threads]) / min(times.seconds[processes])
        bench.figure(f"keyed sum, {processes} / threads, best rounds", [best], at_least=0.5)
        bench.figure(f"keyed sum, {processes} / threads, same round", times.ratio(processes, threads))


def measure_exchange(bench: Bench) -> None:
    rows, keys = bench.size("rows an epoch", 100_000, least=1000), bench.size("keys of exchanges", 100_000, least=1000)
    rng = np.random.default_rng(7)
    batches = in_batches({"key": rng.integers(0, keys, EPOCHS * rows), "value": rng.random(EPOCHS * rows)}, rows)
    seconds: Lines = {}
    messages: Lines = {}
    sent: Lines = {}
    for workers in COUNTS if bench.options.scale >= 1 else FEW:
        to = links_elsewhere(keys, workers)
        with ExitStack() as stack:
            apps = {name: stack.enter_context(linked(bench, to, workers, where)) for name, where in HOSTS.items()}
            ways = [plain_way(batches, to), *(passing_way(name, app, batches) for name, app in apps.items())]
            times = bench.time(ways, EPOCHS * rows, f"exchange, {workers} workers", keep=True)
            before = traffic(apps["processes"])
            feed(apps["processes"], batches)
            count, size = (traffic(apps["processes"]) - before) / EPOCHS
        for name in HOSTS:
            spent = [1e3 * s / EPOCHS for s in times.seconds[name]]
            bench.figure(f"an epoch of {rows:,} rows that travel, {workers} workers, {name}", spent, "ms")
            add_point(seconds, name, workers, spent)
        bench.figure(f"messages between {workers} workers an epoch", [count])
        bench.figure(f"bytes between {workers} workers a row", [size / rows])
        add_point(messages, "messages", workers, [count])
        add_point(sent, "bytes", workers, [size])
    folder: Path = bench.options.plots
    folder.mkdir(parents=True, exist_ok=True)
    for name, y_name, lines in (
        ("epoch", "milliseconds an epoch", seconds),
        ("messages", "messages between workers an epoch", messages),
        ("bytes", "bytes between workers an epoch", sent),
    ):
        picture = line_plot(f"{rows:,} rows that all travel: more workers", "workers", y_name, lines)
        (folder / f"exchange_{name}.svg").write_text(picture, encoding="utf-8")
    bench.note("the plots are exchange_epoch.svg, exchange_messages.svg and exchange_bytes.svg in --plots")


def linked(bench: Bench, to: np.ndarray[Any, Any], workers: int, where: Any) -> Any:
    """An app in which every key leads to one of another worker."""
    app = bench.run(Links(), workers, **where)
    app.link.many(pa.table({"key": np.arange(len(to)), "to": to}))
    return app


def feed(app: Any, batches: Sequence[pa.RecordBatch]) -> None:
    for batch in batches:
        app.pass_on.many(batch)


def passing_way(name: str, app: Any, batches: Sequence[pa.RecordBatch]) -> Way:
    def outcome(app: Any, _: None) -> tuple[pa.Table, None]:
        return app.state.totals.to_arrow(), None

    return Way(name, lambda: app, lambda app: feed(app, batches), outcome)


def plain_way(batches: Sequence[pa.RecordBatch], to: np.ndarray[Any, Any]) -> Way:
    rows, links = as_lists(batches), dict(enumerate(to.tolist()))

    def run(totals: dict[int, float]) -> None:
        for keys, values in rows:
            for key, value in zip(keys, values, strict=True):
                behind = links[key]
                totals[behind] = totals.get(behind, 0.0) + value

    return Way(PLAIN, dict, run, lambda totals, _: (dict_table(totals), None))


def traffic(app: Any) -> np.ndarray[Any, Any]:
    """Messages and bytes that workers have sent to each other so far."""
    return np.sum([(told.sent, told.sent_bytes) for told in app._engine.driver.report()], axis=0)


def add_point(lines: Lines, name: str, workers: int, values: Sequence[float]) -> None:
    spread = Spread.of(values)
    lines.setdefault(name, []).append(Point(workers, spread.median, spread.low, spread.high))


PARTS: dict[str, Callable[[Bench], None]] = {
    "calls": lambda bench: measure_calls(bench, HOSTS, {}),
    "crossings": lambda bench: measure_crossing(bench, HOSTS, {"processes": 3000}),
    "batches": measure_batches,
    "starts": lambda bench: measure_starts(bench, HOSTS, {}),
    "exchange": measure_exchange,
}


def measure(bench: Bench) -> None:
    for part in bench.options.parts or PARTS:
        PARTS[part](bench)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)} (default: all)")
    folder = ROOT / "docs" / "benchmarks"
    parser.add_argument("--plots", type=Path, default=folder, metavar="FOLDER", help="where the plots go")


if __name__ == "__main__":
    main(measure, __doc__, add_options)
