"""Which buckets an instance has, so that each has as much to do as it can take.

Laws: every bucket has one instance; a bucket moves only from an instance that has too much, or is no more; where all
weigh the same and nobody is crowded, no instance ends with one bucket too much.
"""

from __future__ import annotations

from collections.abc import Sequence

CROWDED = 2.0  # times an even share of all that is held
SLACK = 1e-9


def balanced(
    now: Sequence[int],
    wanted: Sequence[float],
    weights: Sequence[float] | None = None,
    holds: Sequence[float] | None = None,
) -> tuple[int, ...]:
    """The instance of every bucket, from that of today.

    `wanted` is how much of the work each instance should have, in any unit; there may be more of them than today, or
    fewer. `weights` is the work of each bucket, by default the same for all. `holds` is what each has in memory: an
    instance that is crowded gets no more, as long as another can take it.

    >>> before = [0] * 6 + [1] * 2
    >>> balanced(before, [1, 1])
    (0, 0, 0, 0, 1, 1, 1, 1)
    >>> balanced(before, [1, 1], [5, 1, 1, 1, 1, 1, 1, 1])  # the first is hot
    (0, 0, 1, 1, 1, 1, 1, 1)
    >>> balanced(before, [1])
    (0, 0, 0, 0, 0, 0, 0, 0)
    """
    buckets = range(len(now))
    weights = [1.0] * len(now) if weights is None else weights
    holds = [1.0] * len(now) if holds is None else holds
    scale = sum(weights) / sum(wanted)
    room = [share * scale for share in wanted]  # what each should have and has not, below zero what it has too much
    held = [0.0] * len(wanted)
    for b in buckets:
        if now[b] < len(wanted):
            room[now[b]] -= weights[b]
            held[now[b]] += holds[b]
    heavy = sorted(buckets, key=lambda b: (weights[b], b), reverse=True)
    free = {b for b in buckets if now[b] >= len(wanted)}
    for part in (1.0, 0.5):  # first what is not too much, then what leaves less of a difference than there was
        for b in heavy if part == 1.0 else reversed(heavy):
            i = now[b]
            if b not in free and room[i] < 0 and weights[b] * part < SLACK - room[i]:
                free.add(b)
                room[i] += weights[b]
                held[i] -= holds[b]
    placed = list(now)
    crowded = CROWDED * sum(holds) / len(wanted)
    for b in sorted(free, key=lambda b: (-weights[b], b)):
        able = [i for i in range(len(wanted)) if held[i] + holds[b] <= crowded] or range(len(wanted))
        i = max(able, key=lambda i: (room[i], -i))
        placed[b] = i
        room[i] -= weights[b]
        held[i] += holds[b]
    return tuple(placed)
