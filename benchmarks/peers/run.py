"""anabranch beside the systems people would use instead: same data, same machine, same run.

    python benchmarks/peers/run.py NAME ... [--against PEER,PEER] [--rounds N] [--scale F] [--json]
                                   [--plots FOLDER] [--report FILE] [--envs FOLDER]

Each round runs every contender once, each in a process of its own, and none always first; medians of the rounds count,
and ratios are those of one round. What a contender gives in the first round must be what numpy gives, else the
benchmark ends with an error. One that cannot run is listed with the reason. `all` are all workloads.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(HERE.parent), str(ROOT)]

import pyarrow as pa  # noqa: E402
from environments import Missing, default_folder, find_java, python_of, server  # noqa: E402
from evidence import Found, Row, page, plots_of, text_of, write_into  # noqa: E402
from registry import ON_SPARK, OURS, PEERS, Contender  # noqa: E402
from report import Figure, Timing, describe_machine  # noqa: E402
from workloads import WORKLOADS, Feed, Point, Sizes, Workload, Wrong  # noqa: E402

LIMIT = 900  # seconds that one run of a contender may take
OK, FAILED, USAGE = 0, 1, 2


@dataclass(slots=True)
class Run:
    """The rounds of one workload."""

    workload: Workload
    options: argparse.Namespace
    contenders: dict[str, Contender]
    folder: Path
    pythons: dict[str, str] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)
    seconds: dict[tuple[Point, str], list[float]] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    feeds: dict[tuple[Point, Sizes], tuple[Feed, list[str], list[str]]] = field(default_factory=dict)

    def measure(self) -> None:
        for name, contender in self.contenders.items():
            if self.workload.name in contender.cannot:
                self.absent[name] = f"cannot do it: {contender.cannot[self.workload.name]}"
                continue
            try:
                self.pythons[name] = python_of(contender, self.options.envs)
            except Missing as error:
                self.absent[name] = str(error)
        for number in range(self.options.rounds):
            for point in self.workload.points:
                names = list(self.pythons)
                first = number % len(names)  # nobody always comes first
                for name in names[first:] + names[:first]:
                    self.once(number, point, self.contenders[name])

    def once(self, number: int, point: Point, contender: Contender) -> None:
        """One run of a contender; one that fails is not run again, and the report says why."""
        label = f"round {number + 1} of {self.options.rounds}, {self.workload.name} {point.name}: {contender.title}"
        print(label, file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory(dir=self.folder) as scratch:  # a contender may leave there what it likes
            self.ask_in(Path(scratch), number, point, contender)

    def ask_in(self, scratch: Path, number: int, point: Point, contender: Contender) -> None:
        feed, before, counted = self.feed(point, contender.does[self.workload.name])
        out = scratch / "result.arrow"
        try:
            with server(contender.server) as address:
                spec = {
                    "workload": self.workload.name,
                    "before": before,
                    "counted": counted,
                    "parameters": dict(point.parameters),
                    "options": {**contender.options, **address},
                    "out": str(out),
                    "check": number == 0,
                }
                told = ask(self.pythons[contender.name], contender, spec, scratch)
        except Missing as error:
            self.absent[contender.name] = f"{point.name or self.workload.name}: {error}"
            self.pythons.pop(contender.name)
            return
        if number == 0:
            try:
                self.workload.check(point, feed, pa.ipc.open_file(out).read_all())
            except Wrong as error:
                raise Wrong(f"{contender.title}, {self.workload.name} {point.name}: {error}") from None
        self.seconds.setdefault((point, contender.name), []).append(float(told["seconds"]))
        self.versions.update(told["versions"])

    def feed(self, point: Point, sizes: Sizes) -> tuple[Feed, list[str], list[str]]:
        if (point, sizes) not in self.feeds:
            feed = self.workload.feed(point, self.options.scale, sizes)
            self.feeds[point, sizes] = (feed, *feed.write(self.folder / f"feed-{len(self.feeds)}"))
        return self.feeds[point, sizes]

    def rows(self) -> list[Row]:
        """A row of the table for each contender that came through all rounds, at each point."""
        rows = []
        for point in self.workload.points:
            times = {n: t for (p, n), t in self.seconds.items() if p == point and len(t) == self.options.rounds}
            work = {n: self.workload.work(point, self.feed(point, self.sizes_of(n))[0]) for n in times}
            rates = {n: [work[n] / second for second in seconds] for n, seconds in times.items()}
            middle = {n: Timing.of(point.name, n, work[n], times[n]) for n in times}
            embedded = [n for n in times if n.startswith("embedded")]
            best = max(embedded, key=lambda n: median(rates[n]), default=None)
            for name in (n for n in self.contenders if n in times):
                peer, figures = self.contenders[name], []
                if best is not None and peer not in OURS:
                    figures.append(ratio("embedded", rates[best], rates[name], peer.at_least))
                if "on-spark" in times and peer.spark and peer not in OURS:
                    figures.append(ratio("on Spark", rates["on-spark"], rates[name], ON_SPARK))
                rows.append(Row(point, peer.title, middle[name], rates[name], figures, name == best))
        return rows

    def sizes_of(self, name: str) -> Sizes:
        return self.contenders[name].does[self.workload.name]


def ratio(what: str, ours: Sequence[float], theirs: Sequence[float], at_least: float) -> Figure:
    """How many times as fast we are, round by round."""
    return Figure.of(what, "", [a / b for a, b in zip(ours, theirs, strict=True)], at_least, None)


def ask(python: str, contender: Contender, spec: dict[str, Any], folder: Path) -> Any:
    """The JSON that a contender prints."""
    file = folder / "spec.json"
    file.write_text(json.dumps(spec), encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)} if contender.packages is None else dict(os.environ)
    if contender.packages is not None:
        environment.pop("PYTHONPATH", None)
    if contender.java:
        environment["JAVA_HOME"] = find_java()
    command = [python, str(HERE / contender.script), str(file)]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, env=environment, stdout=pipe, stderr=pipe, text=True, cwd=folder, start_new_session=True
    ) as process:
        try:
            told, errors = process.communicate(timeout=LIMIT)
        except BaseException as error:  # with what it has started itself
            os.killpg(process.pid, signal.SIGKILL)
            if isinstance(error, subprocess.TimeoutExpired):
                raise Missing(f"did not end within {LIMIT} s") from None
            raise
    lines = [line for line in told.splitlines() if line.startswith('{"seconds"')]
    if process.returncode or not lines:
        raise Missing(f"failed: {last_error(errors) or f'exit code {process.returncode}'}")
    return json.loads(lines[-1])


def last_error(text: str) -> str:
    """The line of a traceback that says what went wrong."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    named = [line for line in lines if line.partition(":")[0].endswith(("Error", "Exception", "error"))]
    return (named or lines or [""])[-1][:300]


def chosen(against: str | None) -> dict[str, Contender]:
    """anabranch and the peers that were named; on Spark only where a peer is."""
    known = {peer.name: peer for peer in PEERS}
    names = list(known) if against is None else [name.strip() for name in against.split(",") if name.strip()]
    if unknown := [name for name in names if name not in known]:
        raise ValueError(f"there is no peer {unknown[0]!r}: there are {', '.join(known)}")
    peers = [known[name] for name in names]
    ours = [each for each in OURS if not each.spark or any(peer.spark for peer in peers)]
    return {each.name: each for each in [*ours, *peers]}


def measure(workload: Workload, options: argparse.Namespace, command: str) -> Found:
    contenders, machine = chosen(options.against), describe_machine()
    with tempfile.TemporaryDirectory() as folder:
        run = Run(workload, options, contenders, Path(folder))
        run.measure()
        titles = {contenders[name].title: reason for name, reason in run.absent.items()}
        return Found(workload, command, options.rounds, options.scale, run.rows(), titles, run.versions, machine)


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="anabranch bench", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(WORKLOADS)}, or all; none: list them")
    parser.add_argument("--against", metavar="PEER,PEER", help=f"of {','.join(p.name for p in PEERS)} (default: all)")
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="timed rounds (default: 5)")
    parser.add_argument("--scale", type=float, default=1.0, metavar="F", help="multiplies all sizes (default: 1)")
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")
    parser.add_argument("--plots", type=Path, metavar="FOLDER", help="where plots go")
    parser.add_argument("--report", type=Path, metavar="FILE", help="a page to write the tables into")
    parser.add_argument("--envs", type=Path, default=default_folder(), metavar="FOLDER", help="environments of peers")
    return parser.parse_args(arguments)


def listed() -> dict[str, Any]:
    return {
        "benchmarks": {name: workload.about for name, workload in WORKLOADS.items()},
        "peers": {p.name: {"title": p.title, "packages": p.packages, "cannot": dict(p.cannot)} for p in PEERS},
    }


def show_list(as_json: bool) -> None:
    if as_json:
        print(json.dumps(listed()))
        return
    for name, workload in WORKLOADS.items():
        print(f"{name:<12} {workload.about}")
    print()
    for peer in PEERS:
        print(f"{peer.name:<12} {peer.title} ({', '.join(peer.does)})")


def main(arguments: Sequence[str]) -> int:
    options = parse(arguments)
    if not options.names:
        show_list(options.json)
        return OK
    names = list(WORKLOADS) if options.names == ["all"] else options.names
    try:
        if unknown := [name for name in names if name not in WORKLOADS]:
            raise ValueError(f"there is no benchmark {unknown[0]!r}: there are {', '.join(WORKLOADS)}")
        if options.rounds < 1 or options.scale <= 0:
            raise ValueError("--rounds and --scale are above zero")
        chosen(options.against)
    except ValueError as error:
        print(json.dumps({"error": str(error)}) if options.json else f"anabranch: {error}", file=sys.stderr)
        return USAGE
    every = []
    for name in names:
        try:
            found = measure(WORKLOADS[name], options, command_of(name, options))
        except Wrong as error:
            print(f"anabranch: a wrong result: {error}", file=sys.stderr)
            return FAILED
        every.append(found)
        if not options.json:
            print(text_of(found), flush=True)
        if options.plots:
            plots_of(found, options.plots)
        if options.report:
            write_into(options.report, page(found, options.plots, options.report))
    if options.json:
        print(json.dumps({"benchmarks": [found.to_dict() for found in every]}))
    return OK


def command_of(name: str, options: argparse.Namespace) -> str:
    """What does the same again."""
    against = f" --against {options.against}" if options.against else ""
    return f"anabranch bench {name}{against} --rounds {options.rounds} --scale {options.scale:g}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
