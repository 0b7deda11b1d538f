"""A bar for long batches, on a terminal only."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from time import perf_counter

ROWS = 2_000  # shorter batches are not worth a bar
PATIENCE = 1.0  # seconds before there is one


@contextmanager
def progress(entry: str, rows: int) -> Iterator[Callable[[float], None] | None]:
    """What to tell how much of a batch is done, from 0 to 1; None where nobody would see it."""
    if rows < ROWS or not _is_terminal():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn(entry), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    task = bar.add_task(entry, total=rows)
    start, shown = perf_counter(), False

    def watch(share: float) -> None:
        nonlocal shown
        if not shown and perf_counter() - start > PATIENCE:
            shown = True  # first: Ctrl-C in the middle of the start must not leave half a bar
            with suppress(OSError):  # the terminal is gone; the batch goes on
                bar.start()
        bar.update(task, completed=round(share * rows))

    try:
        yield watch
    finally:
        if shown:
            with suppress(OSError):
                bar.stop()


def _is_terminal() -> bool:
    """A process may have no stderr, or may have closed it."""
    return sys.stderr is not None and not getattr(sys.stderr, "closed", False) and sys.stderr.isatty()


@contextmanager
def compiling(entry: str) -> Iterator[None]:
    """A sign that a compiler is at work, on a terminal only."""
    if not _is_terminal():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(f"compiling {entry} (once: it is kept on disk)"):
        yield
