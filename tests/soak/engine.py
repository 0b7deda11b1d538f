"""Callers on worker threads for minutes: no one waits for ever, memory stays flat, nothing is lost or done twice.

One app takes calls and batches of all kinds from several threads throughout; what it must hold in the end follows from
what each thread was told. Beside it apps live for a few seconds each, and are compared with the oracle in full.
"""

from __future__ import annotations

import gc
import threading
import time
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import anabranch as ab
from anabranch.engines.embedded import App
from tests.engines import test_embedded_threads as threads
from tests.soak.part import Part

ACCOUNTS = 500
CALLERS = 4
PATIENCE = 60.0  # seconds without an answer that count as waiting for ever
WHAT = f"""{CALLERS} threads send calls and batches to one app with two workers: straight, winding, fan-outs,
everywhere, replicated writes, some of which raise. In the end its state is what their answers add up to. Beside it
short-lived apps are compared with the oracle, answer by answer and instance by instance. Memory is the resident size of
the process, in MiB, as the mean over the second and the last quarter of the time."""


class Ledger(ab.Program):
    """Whatever the order of payments is, the final balances follow from those that were carried out."""

    balance: ab.Partitioned[ab.Table[int, int]] = ab.Table(default=0)
    words: ab.Partitioned[ab.Table[str, int]] = ab.Table(default=0)
    seen: ab.Partial[ab.Vector]
    limit: ab.Replicated[ab.Value[int]]

    def __init__(self) -> None:
        self.limit = ab.Value(50)

    def put(self, account: int, cents: int) -> int:
        if cents > self.limit.value:
            raise ValueError("above the limit", cents)
        self.balance[account] += cents
        return self.balance[account]

    def move(self, source: int, target: int, cents: int) -> None:
        self.balance[source] -= cents
        self.balance[target] += cents
        if self.balance[source] % 7 == 3:
            raise ArithmeticError("bad luck")

    def read(self, line: str) -> int:
        for word in line.split():
            self.words[word] += 1
        return len(line)

    def mark(self, place: int) -> None:
        self.seen[place] += 1.0

    def marks(self) -> float:
        return sum(ab.gather(ab.everywhere(self.seen).sum()))

    def allow(self, cents: int) -> None:
        ab.everywhere(self.limit).value = cents


class Caller:
    """One thread's requests, and what they must have done."""

    def __init__(self, app: App, number: int) -> None:
        self.app, self.rng = app, Random(number)
        self.balance: Counter[int] = Counter()
        self.words: Counter[str] = Counter()
        self.seen: Counter[int] = Counter()
        self.answered = self.raised = 0
        self.last = time.monotonic()
        self.error: BaseException | None = None

    def run(self, until: float) -> None:
        try:
            while time.monotonic() < until:
                self.ask()
                self.answered += 1
                self.last = time.monotonic()
        except BaseException as error:
            self.error = error

    def ask(self) -> None:
        rng, size = self.rng, self.rng.choice((1, 1, 1, 5, 100, 1000))
        try:
            match rng.randrange(7):
                case 0 | 1:
                    rows = [(rng.randrange(ACCOUNTS), rng.randrange(45 if size > 5 else 80)) for _ in range(size)]
                    self.app.put(*rows[0]) if size == 1 else self.app.put.many(rows)
                    for account, cents in rows:
                        self.balance[account] += cents
                case 2:
                    moves = [(rng.randrange(ACCOUNTS), rng.randrange(ACCOUNTS), 3) for _ in range(min(size, 5))]
                    self.app.move.many(moves)
                    for source, target, cents in moves:
                        self.balance[source] -= cents
                        self.balance[target] += cents
                case 3:
                    lines = [" ".join(rng.choice("abcdefgh") for _ in range(4)) for _ in range(size)]
                    self.app.read.many({"line": lines})
                    self.words.update(word for line in lines for word in line.split())
                case 4:
                    places = [rng.randrange(20) for _ in range(size)]
                    self.app.mark.many({"place": places})
                    self.seen.update(places)
                case 5:
                    before = float(self.seen.total())
                    assert self.app.marks() >= before, "older than what was answered before"
                case 6:
                    self.app.allow(rng.randrange(45, 80))
        except (ValueError, ArithmeticError):
            self.raised += 1


def soak_engine(seconds: float) -> Part:
    part = Part("Callers on worker threads", WHAT)
    memory: list[float] = []
    rounds = 0
    with ab.run(Ledger(), workers=2) as app:
        callers = [Caller(app, n) for n in range(CALLERS)]
        start = time.monotonic()
        running = [threading.Thread(target=c.run, args=(start + seconds,), daemon=True) for c in callers]
        for thread in running:
            thread.start()
        while any(t.is_alive() for t in running) and not part.failures:
            rounds += _compare_with_the_oracle(part, rounds)
            gc.collect()
            memory.append(_resident())
            for number, caller in enumerate(callers):
                if running[number].is_alive() and time.monotonic() - caller.last > PATIENCE:
                    part.failures.append(f"caller {number} has waited for {PATIENCE:g} s")
            time.sleep(min(2.0, seconds / 40))
        part.failures += [f"{type(c.error).__name__}: {c.error}" for c in callers if c.error is not None]
        if not part.failures:
            _compare_with_what_was_told(part, app, callers)
            metrics = app.metrics()
            part.counts = {"requests": metrics.requests, "rows": metrics.rows, "epochs": metrics.epochs}
    quarter = max(1, len(memory) // 4)
    early, late = _mean(memory[quarter : 2 * quarter]), _mean(memory[-quarter:])
    if late > early * 1.05 + 8:
        part.failures.append(f"memory grows: {early:.0f} MiB in the second quarter, {late:.0f} MiB in the last")
    part.counts |= {
        "requests that raised": sum(c.raised for c in callers),
        "short-lived apps compared": rounds,
        "MiB, second quarter": round(early, 1),
        "MiB, last quarter": round(late, 1),
        "minutes": round((time.monotonic() - start) / 60, 1),
    }
    return part


def _compare_with_the_oracle(part: Part, number: int) -> int:
    way, workers = list(threads.WAYS)[number % len(threads.WAYS)], 1 + number % 3
    try:
        threads.test_winding_failing_and_replicated_requests_at_once(way, workers)
        threads.test_rate_and_recommend_interleaved(way, workers)
    except Exception as error:
        part.failures.append(f"{way}, {workers} workers: {type(error).__name__}: {error}")
    return 1


def _compare_with_what_was_told(part: Part, app: App, callers: list[Caller]) -> None:
    told: dict[str, Counter[Any]] = {name: Counter() for name in ("balance", "words", "seen")}
    for caller in callers:
        for name, total in told.items():
            total.update(getattr(caller, name))
    for name, wanted in told.items():
        found = dict(app.state[name].scan())
        if {k: v for k, v in found.items() if v} != {k: v for k, v in wanted.items() if v}:
            part.failures.append(f"{name} is not what the answers add up to")


def _resident() -> float:
    """MiB of this process; 0 where the system does not tell."""
    status = Path("/proc/self/status")
    if not status.exists():
        return 0.0
    line = next(line for line in status.read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)
