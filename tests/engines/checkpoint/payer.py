"""A process that pays until it is killed, and says what was done: `payer.py FOLDER WORKERS HOSTS EVERY TIER`."""

from __future__ import annotations

import random
import sys

import anabranch as ab
from tests.engines.checkpoint.bank import Bank


def main() -> None:
    folder, workers, hosts, every, tier = sys.argv[1:]
    app = ab.run(Bank(), workers=int(workers), hosts=hosts, checkpoint=folder, snapshot_every=float(every), tier=tier)
    done = int(app.sight()) // 10
    print("start", done, flush=True)
    while True:
        chance = random.Random(done)
        ks = [chance.randrange(1000) for _ in range(10)]
        app.pay.many({"k": ks, "n": [1] * 10})
        done += 1
        print("done", done, flush=True)


if __name__ == "__main__":
    main()
