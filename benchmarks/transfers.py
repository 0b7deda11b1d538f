"""Transfers between accounts: a winding entry, which reads and writes two keys of one state.

    python benchmarks/transfers.py [--json] [--rounds N] [--scale F]

A million transfers between 100 thousand accounts, fed as Arrow batches of 100 thousand; a transfer that the source
cannot pay gives False. The plain version loops over lists and keeps a dict.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from harness import PLAIN, Bench, Way, app_name, as_lists, dict_table, in_batches, main

import anabranch as ab

FUNDS = 1000


class Bank(ab.Program):
    accounts: ab.Partitioned[ab.Table[int, int]] = ab.Table(default=0)

    def transfer(self, source: int, target: int, cents: int) -> bool:
        available = self.accounts[source]
        held = self.accounts[target]
        if source == target or available < cents:
            return False
        self.accounts[source] = available - cents
        self.accounts[target] = held + cents
        return True


def plain_way(batches: list[pa.RecordBatch], accounts: int) -> Way:
    lists = as_lists(batches)

    def run(balances: dict[int, int]) -> list[bool]:
        answers = []
        for columns in lists:
            for source, target, cents in zip(*columns, strict=True):
                available = balances[source]
                held = balances[target]
                if source == target or available < cents:
                    answers.append(False)
                    continue
                balances[source] = available - cents
                balances[target] = held + cents
                answers.append(True)
        return answers

    start = dict.fromkeys(range(accounts), FUNDS).copy
    return Way(PLAIN, start, run, lambda balances, answers: (dict_table(balances), answers))


def measure(bench: Bench) -> None:
    rows, accounts = bench.size("transfers", 1_000_000), bench.size("accounts", 100_000)
    rng = np.random.default_rng(7)
    columns = {
        "source": rng.integers(0, accounts, rows),
        "target": rng.integers(0, accounts, rows),
        "cents": rng.integers(1, FUNDS, rows),
    }
    batches = in_batches(columns, bench.size("transfers a batch", 100_000))
    funds = pa.table({"key": np.arange(accounts), "value": np.full(accounts, FUNDS)})

    def app_way(workers: int) -> Way:
        return bench.app_way(Bank, "transfer", batches, "accounts", workers, lambda app: app.state.accounts.load(funds))

    times = bench.time([plain_way(batches, accounts), app_way(1), app_way(2)], rows)
    bench.figure(f"{app_name(1)} / plain", times.ratio(app_name(1), PLAIN), at_least=15)
    bench.figure(f"{app_name(2)} / plain", times.ratio(app_name(2), PLAIN))


if __name__ == "__main__":
    main(measure, __doc__)
