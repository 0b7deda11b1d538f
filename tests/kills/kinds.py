"""What is killed, and whether the app has to go on by itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from tests.kills.plan import CLUSTER, PROCESSES, SPARK, THREADS
from tests.kills.processes import Process, living, of

Choose = Callable[[str, Random], list[Process]]


@dataclass(frozen=True, slots=True)
class Kind:
    """`goes_on`: the run must not end by it. Else it may, or does: it is started again."""

    hosts: str
    choose: Choose
    goes_on: bool = False


def one_of(part: str, below: str = "") -> Choose:
    def choose(token: str, chance: Random) -> list[Process]:
        found = of(token, part, below)
        return [chance.choice(found)] if found else []

    return choose


def everything(token: str, chance: Random) -> list[Process]:
    found = list(living(token).values())
    chance.shuffle(found)
    return found


DRIVER = one_of("tests.kills.driver")
NURSERY, DAEMON, EXECUTOR = "anabranch.drivers.nursery", "pyspark.daemon", "CoarseGrainedExecutorBackend"

KINDS = {
    "threads": Kind(THREADS, DRIVER),
    "worker": Kind(PROCESSES, one_of(NURSERY, below=NURSERY), goes_on=True),
    "any": Kind(PROCESSES, one_of("")),
    "driver": Kind(PROCESSES, DRIVER),
    "tree": Kind(PROCESSES, everything),
    "spark-worker": Kind(SPARK, one_of(DAEMON, below=DAEMON), goes_on=True),
    "spark-any": Kind(SPARK, one_of("")),
    "spark-driver": Kind(SPARK, DRIVER),
    "spark-tree": Kind(SPARK, everything),
    "executor": Kind(CLUSTER, one_of(EXECUTOR), goes_on=True),
    "cluster-any": Kind(CLUSTER, one_of("")),
    "cluster-driver": Kind(CLUSTER, DRIVER),
    "cluster-tree": Kind(CLUSTER, everything),
}
