"""Real kills: processes, Python workers and executors of Spark, drivers and whole trees, while clients are at work."""

from __future__ import annotations

import sys
import tempfile
import time
from collections import Counter
from itertools import cycle
from pathlib import Path

from tests.kills.story import Story
from tests.soak.part import Part

WHAT = """Each story runs an app with a checkpoint in a process of its own: three clients send calls and batches with an
`id=`, on Spark also DataFrames and a stream, and every second or two the app goes on with one, two or three workers.
Processes are killed (SIGKILL) after a while, or while the log or a snapshot is written, old files are removed, the
first contents are loaded, state is restored or moved. After each restart, and
at the end, every state and every answer equals the plain run of what was answered; what was in flight is there or not,
and repeated with its id it is there once. Then files are damaged, each in a copy of the location: cut off, or a bit is
another. Each kind of story has the number of its kills; any of them is told again by
`python -m tests.kills --kind KIND --seed SEED --kills 4 --filled FILLED` with 60 or 60000 for FILLED."""
KINDS = """threads worker driver tree spark-worker executor any threads worker spark-driver tree cluster-driver
driver spark-tree worker cluster-tree""".split()
KILLS = 4  # in a story
FILLED = (60, 60_000)  # notes of 400 bytes: files of some kB, or of tens of MB
DAMAGES = 6
TOLD = 5  # refusals that are shown


def soak_kills(first: int, kills: int) -> Part:
    part, start, counts = Part("Kills", WHAT), time.monotonic(), Counter[str]()
    refused: list[str] = []
    seeds: dict[str, list[int]] = {}
    for seed, kind in zip(range(first, first + kills), cycle(KINDS)):
        if counts["kills"] >= kills:
            break
        filled = FILLED[seed // len(KINDS) % 2]
        with tempfile.TemporaryDirectory(prefix="kills-") as folder:
            story = Story(Path(folder), seed, kind, min(KILLS, kills - counts["kills"]), filled, DAMAGES)
            try:
                story.tell()
            except Exception as error:
                told = f"--kind {kind} --seed {seed} --filled {filled}: {type(error).__name__}: {error}"
                print(told, *story.told.steps, sep="\n", file=sys.stderr)
                part.failures.append(told.splitlines()[0])
        counts.update(story.told.counts)
        counts[f"kills of kind {kind}"] += story.told.counts["kills"]
        seeds.setdefault(kind, []).append(seed)
        refused += story.told.refused
    told = "; ".join(f"{kind}: {', '.join(map(str, used))}" for kind, used in seeds.items())
    part.what += f"\n\nThe seeds were {told}.{_shown(refused)}"
    part.counts = {name: counts[name] for name in sorted(counts)}
    part.counts["minutes"] = round((time.monotonic() - start) / 60, 1)
    return part


def _shown(refused: list[str]) -> str:
    """Some of the refusals."""
    if not refused:
        return ""
    return "\n\nSome of what was refused:\n\n" + "\n".join(f"- {said}" for said in refused[:TOLD])
