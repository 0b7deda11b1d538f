"""Print the program and the inputs of a seed: `python -m tests.generator --seed 7`; `--run` shows what happens."""

from __future__ import annotations

import argparse

from anabranch.testing.outcomes import Failure
from tests.generator.choices import SeededChoices
from tests.generator.inputs import generate_requests
from tests.generator.plain import loaded, run_plain
from tests.generator.seeds import generate_seed


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.generator", description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--run", action="store_true", help="run it as plain Python and show answers and states")
    options = parser.parse_args()
    program = generate_seed(options.seed)
    requests = generate_requests(SeededChoices(f"inputs of {options.seed}"), program)
    print(program.source)
    print(f"# features: {', '.join(sorted(program.features))}")
    if not options.run:
        for request in requests:
            print(f"# {request}")
        return
    with loaded(program.source) as cls:
        outcome = run_plain(cls, requests)
    for request, answer in zip(requests, outcome.answers, strict=True):
        shown = f"{answer.error}{answer.args[1:]}" if isinstance(answer, Failure) else answer.value
        print(f"# {request}\n#     {shown}")
    for name, contents in outcome.states.items():
        print(f"# {name}: {contents}")


if __name__ == "__main__":
    main()
