"""Starts an app, feeds a batch, asks once, and prints when; runs in the processes that second_start.py starts."""

from time import monotonic

BEGUN = monotonic()

import json  # noqa: E402

import pyarrow as pa  # noqa: E402
from programs import Sums  # noqa: E402

import anabranch as ab  # noqa: E402

ROWS, KEYS = 100_000, 1000


def main() -> None:
    moments = {"interpreter": BEGUN, "imports": monotonic()}
    batch = pa.table({"key": [n % KEYS for n in range(ROWS)], "value": [1.0] * ROWS})
    with ab.run(Sums(), workers=2) as app:
        moments["start"] = monotonic()
        app.add.many(batch)
        moments["first many"] = monotonic()
        total = app.total(7)
        moments["first call"] = monotonic()
    if total != ROWS / KEYS:
        raise AssertionError(f"app and plain differ: {total} and {ROWS / KEYS}")
    print(json.dumps(moments))


if __name__ == "__main__":
    main()
