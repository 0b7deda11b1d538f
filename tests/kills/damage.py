"""After a stop: a file is cut off, or a bit of it is another. What is restored is right, or it is refused and says why.

Each damage is done to a copy of the location. A file that is cut off looks as after a crash where it is the log that
was being written: then what is restored is a prefix of what was answered, and nothing else.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import anabranch as ab
from anabranch.state.checkpoint.errors import Damaged
from anabranch.state.checkpoint.frames import FRAME
from tests.kills.client import Wrong
from tests.kills.oracle import batches_in, compare, expected, recall
from tests.kills.plan import Plan
from tests.kills.requests import BATCHES
from tests.kills.store import Store

RIGHT, CUT_OFF = "restored all", "restored all but the end that was cut off"
REFUSED, REFUSED_ALL = "refused, then restored with to_version", "refused, then restored from a copy of the file"


@dataclass(frozen=True, slots=True)
class Damage:
    file: str
    how: str
    outcome: str
    refusal: str = ""

    def __str__(self) -> str:
        return f"{self.file}, {self.how}: {self.outcome}"


def damage_files(plan: Plan, chance: Random, number: int) -> Iterator[Damage]:
    copy = plan.home / "damaged"
    for _ in range(number):
        shutil.copytree(plan.location, copy, copy_function=os.link)  # files are never changed, so copies can share them
        try:
            yield damage_one(plan, copy, chance)
        finally:
            shutil.rmtree(copy)


def damage_one(plan: Plan, copy: Path, chance: Random) -> Damage:
    file = choose(copy, chance)
    name, whole = file.relative_to(copy).as_posix(), file.read_bytes()
    if chance.random() < 0.5:
        at = chance.randrange(len(whole))
        how, data = f"cut off at byte {at} of {len(whole)}", whole[:at]
    else:
        at, bit = chance.randrange(len(whole)), chance.randrange(8)
        how, data = f"bit {bit} of byte {at} of {len(whole)}", bytearray(whole)
        data[at] ^= 1 << bit
    file.unlink()
    file.write_bytes(data)
    workers = chance.randrange(1, 4)
    try:
        with opened(copy, workers) as app:
            if is_whole(app, plan):
                return Damage(name, how, RIGHT)
            if not how.startswith("cut") or not is_last_of_its_log(copy, file):
                raise Wrong(f"{name}, {how}: something of what was answered is missing, and it was not refused")
            return Damage(name, how, CUT_OFF)
    except Damaged as error:
        refusal = error
    if refusal.file != name:
        raise Wrong(f"{name}, {how}: refused, but because of {refusal.file}: {refusal}")
    if refusal.last_good is not None:
        with opened(copy, workers, to_version=refusal.last_good[0]) as app:
            if app.recovery.version != refusal.last_good[0]:
                raise Wrong(f"{app.recovery}, and not {refusal.last_good[0]}: {refusal}")
            is_whole(app, plan)
        return Damage(name, how, REFUSED, str(refusal))
    file.write_bytes(whole)
    with opened(copy, workers) as app:
        if not is_whole(app, plan):
            raise Wrong(f"{name}, {how}: it was put back, and something is missing")
    return Damage(name, how, REFUSED_ALL, str(refusal))


def choose(location: Path, chance: Random) -> Path:
    """First what sort of file, as there are many of some; then one of the last, or any: old ones may not be needed."""
    sorts = [[f for f in folder.rglob("*") if f.is_file() and f.stat().st_size] for folder in folders(location)]
    files = sorted(chance.choice([files for files in sorts if files]), key=lambda f: (f.stat().st_mtime_ns, f.name))
    return chance.choice(files[-3:] if chance.random() < 0.5 else files)


def folders(location: Path) -> list[Path]:
    return sorted(f for f in location.iterdir() if f.is_dir() and f.name != ".partial")


def is_last_of_its_log(location: Path, file: Path) -> bool:
    """Of the coordinator, in the newest generation: the only one of which nothing else says how long it was.

    A next piece may be there that has no frame yet: only the end that is cut off may have said so.
    """
    logs = sorted(location.glob("log/*-c-*"))
    while len(logs) > 1 and FRAME not in logs[-1].read_bytes():
        logs.pop()
    return bool(logs) and file.name >= logs[-1].name and "-c-" in file.name


@contextmanager
def opened(location: Path, workers: int, **options: Any) -> Iterator[Any]:
    with ab.run(Store(), workers=workers, tier="python", checkpoint=location, **options) as app:
        yield app


def is_whole(app: Any, plan: Plan) -> bool:
    """Whether all that was answered is there; `Wrong` if what is there is not what was there once."""
    clients = recall(plan.home, plan.seed, plan.filled, plan.on_spark)
    reached = [app.state.done[client.number] for client in clients]
    then = [client.at(number) for client, number in zip(clients, reached, strict=True)]
    filled = plan.filled if any(reached) or len(app.state.notes.copy()) else 0
    written, done = len(list(plan.files.glob("*.json"))), len(list((plan.stream / "commits").glob("[0-9]*")))
    compare(app, expected(then, plan.seed, filled, batches_in(app, 0, written)))
    missing = [client for client, number in zip(clients, reached, strict=True) if number < client.reached]
    loaded = filled == plan.filled or not plan.is_filled.exists()  # what was in flight may be there or not
    return not missing and loaded and app.state.counts[BATCHES] >= done
