"""Steps that an app and the plain program take alike, and what they hold then."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import anabranch as ab
from anabranch.drivers.durable.settings import Saving
from anabranch.drivers.processes import Processes
from anabranch.engines.connected import RemoteApp
from anabranch.engines.embedded import App
from tests.conformance.engines import nursery
from tests.drivers.processes.tools import SHORT
from tests.engines.checkpoint.bank import Bank

KEYS = 30


def step(chance: random.Random, program: Bank, app: Any) -> None:
    """One request to both; their answers are the same."""
    match chance.randrange(12):
        case 0 | 1:
            k, n = chance.randrange(KEYS), chance.randrange(100)
            assert app.pay(k, n) == program.pay(k, n)
        case 2 | 3:
            ks = [chance.randrange(KEYS) for _ in range(chance.choice((5, 200)))]
            ns = [chance.randrange(100) for _ in ks]
            assert app.pay.many({"k": ks, "n": ns})["result"] == [program.pay(*row) for row in zip(ks, ns, strict=True)]
        case 4:
            a, b, n = chance.randrange(KEYS), chance.randrange(KEYS), chance.randrange(10)
            assert app.transfer(a, b, n) == program.transfer(a, b, n)
        case 5:
            k = chance.randrange(KEYS)
            assert app.close(k) == program.close(k)
        case 6:
            word = chance.choice(["", "a", "é", "long" * 9])
            for it in (program, app):
                it.name(word, word * 2, 0.5)
        case 7:
            i, j, x = chance.randrange(5), chance.randrange(5), chance.choice([0.0, 1.5, -2.0])
            assert app.mark(i, j, x) == program.mark(i, j, x)
        case 8:
            k, n = chance.randrange(4), chance.randrange(9)
            for it in (program, app):
                it.rule(k, n)
        case 9:
            what = chance.choice(["wipe", "bound", "load"])
            if what == "load":
                table = {"key": [1, 2, chance.randrange(KEYS)], "value": [5, 6, chance.randrange(9)]}
                app.state.accounts.load(table)
                for key, value in zip(*table.values(), strict=True):
                    program.accounts[key] = value
            else:
                n = chance.randrange(9)
                for it in (program, app):
                    it.wipe() if what == "wipe" else it.bound(n)
        case 10:
            k = chance.randrange(5)
            for it in (program, app):
                it.count(k)
        case 11:
            failing = {"k": [1, 2, 3], "n": [1, -1, 1]}
            try:
                app.pay.many(failing)
            except ValueError:
                return
            raise AssertionError("a payment below zero went through")


def assert_alike(program: Bank, app: Any) -> None:
    for name in ("accounts", "names", "grid", "seen", "rules", "limit"):
        found, wanted = app.state[name].copy(), getattr(program, name)
        assert found == wanted, name
    if isinstance(app, RemoteApp):  # where the code of an own type is not
        return
    assert sum(tally.total() for tally in app.state.tally.instances()) == program.tally.total()


def run(folder: Path, workers: int = 2, hosts: str = "threads", **options: Any) -> Any:
    """As `ab.run`; worker processes come from a nursery that all tests share."""
    if hosts == "threads":
        return ab.run(Bank(), workers=workers, checkpoint=folder, **options)
    names = {"snapshot_every": "every", "snapshot_mode": "mode"}
    saving = Saving(folder, **{names.get(name, name): x for name, x in options.items() if name != "tier"})
    tier = options.get("tier", "python")
    return App(Bank(), workers, tier=tier, hosts=Processes(workers, nursery()), saving=saving, patience=SHORT)
