"""What every test may use: hypothesis profiles and golden files."""

from __future__ import annotations

import difflib
import gc
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Examples are derived from the test itself and no database is read, so a run depends on nothing but the sources.
settings.register_profile(
    "default",
    derandomize=True,
    database=None,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
# For long runs: new examples each time, many of them. Chosen with --hypothesis-profile=soak.
settings.register_profile(
    "soak",
    derandomize=False,
    database=None,
    deadline=None,
    max_examples=5_000,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("default")

Golden = Callable[[str | Path, str], None]


def pytest_configure() -> None:
    """What a shell starts in the background ignores SIGINT, and so would all it starts: tests of Ctrl-C need it."""
    # Kernels that tests compile are no business of the user's, and the next run of the tests is glad of them.
    os.environ.setdefault("ANABRANCH_CACHE", str(Path(__file__).parent.parent / ".kernel_cache"))
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish() -> None:
    """Thousands of collected tests stay to the end: without this every full collection looks at them again."""
    gc.collect()
    gc.freeze()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite golden files instead of comparing with them")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """`golden(path, text)`: `text` must equal the file; a relative path starts at the folder of the test.

    The file holds the text with exactly one newline at its end. A missing file is a failure, so that a golden
    test cannot pass by never having been written.
    """
    update: bool = request.config.getoption("--update-golden")
    folder = request.path.parent

    def compare(path: str | Path, text: str) -> None:
        __tracebackhide__ = True
        file = folder / path
        actual = text.rstrip("\n") + "\n"
        expected = file.read_text(encoding="utf-8") if file.exists() else None
        if actual == expected:
            return
        if update:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(actual, encoding="utf-8")
        elif expected is None:
            pytest.fail(f"golden file {file} does not exist; do: pytest {request.path} --update-golden\n{actual}")
        else:
            diff = difflib.unified_diff(expected.splitlines(), actual.splitlines(), "golden", "now", lineterm="")
            lines = "\n".join(diff)
            pytest.fail(f"{file} differs; if the new text is right: pytest {request.path} --update-golden\n{lines}")

    return compare
