"""Stories of kills, each from its seed: `python -m tests.kills --seed 7 --kind executor [--kills 3] [--filled 100]`."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.kills.kinds import KINDS
from tests.kills.story import Story


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.kills", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--kind", choices=KINDS, required=True)
    parser.add_argument("--kills", type=int, default=3)
    parser.add_argument("--filled", type=int, default=100, help="notes of 400 bytes that are there first")
    parser.add_argument("--damages", type=int, default=4, help="files to damage in the end, each in a copy")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kills-") as folder:
        story = Story(Path(folder), options.seed, options.kind, options.kills, options.filled, options.damages)
        try:
            told = story.tell()
        finally:
            print("\n".join(story.told.steps))
    print(*(f"{name}: {count}" for name, count in sorted(told.counts.items())), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
