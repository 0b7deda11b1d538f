"""A process that is told Ctrl-C at any moment, and has worker processes; see `tests.engines.embedded.interrupted`.

`python -m tests.drivers.processes.interrupted SCENARIO ROUNDS SEED`
"""

from __future__ import annotations

import faulthandler
import random
import sys
import threading

import anabranch as ab
from tests.engines.embedded.interrupted import (
    PATIENCE,
    SCENARIOS,
    behind,
    beside,
    check,
    check_history,
    reads,
    until_interrupt,
    wake,
)
from tests.engines.embedded.till import Till


def main(scenario: str, rounds: int, seed: int) -> None:
    threading.Thread(target=wake, daemon=True).start()
    random.seed(seed)
    work = SCENARIOS[scenario]
    app = ab.run(Till(), workers=2, history=True, hosts="processes", tier="python")
    for number in range(rounds):
        faulthandler.dump_traceback_later(PATIENCE, exit=True)
        if work is behind:
            with beside(app):
                until_interrupt(work, app)
        else:
            until_interrupt(work, app)
        answer = app.both(50)
        assert answer == number + 1, f"{answer} is not {number + 1}"
        check(app)
    faulthandler.dump_traceback_later(5 * PATIENCE, exit=True)
    check_history(app, work is reads)
    app.stop()
    print("done", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
