"""Where a row goes: bucket -> instance -> worker.

Law: the instance of a bucket and the owner of its keys are one, so work on partial state stays on the worker that has
the key. A routing is a value; a new one has a higher version.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from anabranch.lang.keys import BLOCK as BLOCK
from anabranch.lang.keys import BUCKETS, bucket


@dataclass(frozen=True)
class Routing:
    """
    >>> routing = spread_evenly(2)
    >>> routing.instances, routing.hosted(1), routing.worker_of(routing.owner("a")) in (0, 1)
    (2, (1,), True)
    """

    instance_of_bucket: tuple[int, ...]
    worker_of_instance: tuple[int, ...]
    version: int = 0

    def __post_init__(self) -> None:
        if len(self.instance_of_bucket) != BUCKETS:
            raise ValueError(f"a routing names the instance of {BUCKETS} buckets, got {len(self.instance_of_bucket)}")
        if not set(self.instance_of_bucket) <= set(range(self.instances)):
            raise ValueError(f"a routing of {self.instances} instances names others")

    @cached_property
    def instances(self) -> int:
        return len(self.worker_of_instance)

    @cached_property
    def workers(self) -> int:
        return max(self.worker_of_instance) + 1

    def owner(self, key: Any) -> int:
        """The instance that has a key."""
        if self.instances == 1:
            return 0
        try:
            return self.instance_of_bucket[bucket(key)]
        except ValueError:  # no key at all (a lone surrogate): the access itself says so
            return 0

    def home(self, sequence: int) -> int:
        """The instance of a row that has no key."""
        return self.instance_of_bucket[bucket(sequence // BLOCK)]

    def worker_of(self, instance: int) -> int:
        return self.worker_of_instance[instance]

    def hosted(self, worker: int) -> tuple[int, ...]:
        """The instances of a worker."""
        return tuple(i for i, w in enumerate(self.worker_of_instance) if w == worker)


def spread_evenly(workers: int, instances: int | None = None) -> Routing:
    """Equal numbers of buckets an instance and of instances a worker; without another number one for each worker."""
    count = workers if instances is None else instances
    of_bucket = tuple(b * count // BUCKETS for b in range(BUCKETS))
    return Routing(of_bucket, tuple(i * workers // count for i in range(count)))
