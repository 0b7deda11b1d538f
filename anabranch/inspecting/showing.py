"""For people: tables on a terminal, aligned text elsewhere, and a bar while files are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any

import pyarrow as pa
from rich import box
from rich.console import Console
from rich.filesize import decimal
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table

from anabranch.inspecting.looking import Held, Inspection
from anabranch.inspecting.migrating import Migration

PARTS = 8
"""Instances of a state that are shown; of more, the smallest and the largest."""

ROWS = 20
"""Of a state that are shown."""

PAUSE = 0.05

Rows = Sequence[tuple[str, ...]]
Watch = Callable[[int, int], None]


@contextmanager
def progress(what: str) -> Iterator[Watch]:
    """To be told how much is done, of how much: a bar if standard error is a terminal, else nothing."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
    task = bar.add_task(what, total=None)
    shown = 0.0

    def watch(done: int, of: int) -> None:
        nonlocal shown
        now = perf_counter()
        if now - shown > PAUSE or done >= of:
            shown = now
            bar.update(task, completed=done, total=of)

    with bar:
        yield watch


def show_inspection(seen: Inspection) -> None:
    out = Console(highlight=False, markup=False, emoji=False)
    say = _sayer(out)
    say(f"{seen.location}: {_several(seen.files, 'file')}, {decimal(seen.bytes)}")
    if not seen.runs:
        say("no checkpoint: no run has begun here")
    elif seen.version is not None:
        begins = next(s for s in seen.snapshots if s.manifest == seen.manifest)
        say(
            f"restores version {seen.version} of {seen.program}: the snapshot of version {begins.version}, then "
            f"{_several(seen.epochs, 'epoch')} of the log"
        )
    elif seen.ok:
        say("nothing to restore: the run that opened it has not begun")
    else:
        say("cannot be restored as it is")
    if seen.states:
        heads = ("state", "declared as", "rows in the snapshot", "bytes")
        _table(out, heads, [row for state in seen.states for row in _state(state)], right=(2, 3))
    if seen.snapshots:
        kept = [
            (str(s.version), str(s.generation), f"{s.rows:,}", decimal(s.bytes), "" if s.counts else "left behind")
            for s in seen.snapshots
        ]
        _table(out, ("version kept", "generation", "rows", "bytes", ""), kept, right=(0, 1, 2, 3))
    if seen.runs:
        runs = [
            (str(r.generation), "-" if r.from_version is None else str(r.from_version), _said(r.said))
            for r in seen.runs[-PARTS:]
        ]
        _table(out, ("generation", "from version", "opened by"), runs, right=(0, 1))
    _gap(out)
    say(f"log: {_several(seen.log_files, 'file')}, {decimal(seen.log_bytes)}")
    for note in seen.notes:
        say(f"note: {note}")
    for file, why in seen.damage.items():
        say(f"DAMAGED {file}: {why}", "bold red")
    if seen.way_on:
        say(seen.way_on)
    elif seen.runs:
        say("every file is what was written" if seen.verified else "not verified: files were not read whole")


def _state(state: Held) -> Rows:
    rows: list[tuple[str, ...]] = [
        (state.name, f"{state.distribution}[{state.type}]", f"{state.rows:,}", decimal(state.bytes))
    ]
    parts, more = state.instances, 0
    if len(parts) < 2:
        return rows
    if len(parts) > PARTS:
        by_size = sorted(parts, key=lambda p: p.rows)
        parts, more = (by_size[-1], by_size[0]), len(parts) - 2
    for part in parts:
        ranges = ", ".join(f"{a}" if a == b else f"{a} to {b}" for a, b in part.buckets)
        where = f"  instance {part.instance}" + (f", buckets {ranges}" if ranges else "")
        rows.append(("", where, f"{part.rows:,}", decimal(part.bytes)))
    if more:
        rows.append(("", f"  and {more} instances between these", "", ""))
    return rows


def show_migration(done: Migration) -> None:
    say = _sayer(Console(highlight=False, markup=False, emoji=False))
    for old, new in done.states.items():
        rows = f", {_several(done.rows[new], 'row')}" if new in done.rows else ""
        say(f"{old} {'is dropped' if new is None else 'stays' if new == old else f'becomes {new}'}{rows}")
    if done.generation is None:
        say(f"{done.location} was not changed: this was a dry run at version {done.version}")
    else:
        say(f"{done.location} now begins with version {done.version} as generation {done.generation}")


def show_rows(table: pa.Table, version: int) -> None:
    out = Console(highlight=False, markup=False, emoji=False)
    first = table.slice(0, ROWS).to_pylist()
    _table(out, table.column_names, [tuple(repr(x) for x in row.values()) for row in first], right=())
    more = f", the first {ROWS} are shown: write --out FILE.arrow for all" if len(table) > ROWS else ""
    _gap(out)
    _sayer(out)(f"{_several(len(table), 'row')} of version {version}{more}")


def write_rows(table: pa.Table, file: Path) -> None:
    """To an Arrow or a Parquet file, by its ending."""
    if file.suffix == ".arrow":
        with pa.OSFile(str(file), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
    elif file.suffix == ".parquet":
        import pyarrow.parquet

        pyarrow.parquet.write_table(table, file)
    else:
        raise ValueError(f"--out is a file that ends in .arrow or .parquet, got {file}")


def _table(out: Console, heads: Sequence[str], rows: Rows, right: Sequence[int]) -> None:
    if out.is_terminal:
        table = Table(box=box.SIMPLE_HEAD)
        for i, head in enumerate(heads):
            table.add_column(head, justify="right" if i in right else "left", overflow="fold")
        for row in rows:
            table.add_row(*row)
        out.print(table)
        return
    lines = [tuple(heads), *rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(heads))]
    print()
    for line in lines:
        cells = [c.rjust(w) if i in right else c.ljust(w) for i, (c, w) in enumerate(zip(line, widths, strict=True))]
        print("  ".join(cells).rstrip())


def _gap(out: Console) -> None:
    """After a table, which on a terminal has one."""
    if not out.is_terminal:
        print()


def _sayer(out: Console) -> Callable[..., None]:
    def say(text: str, style: str | None = None) -> None:
        """A line of text stays one line, unless the terminal folds it."""
        if out.is_terminal:
            out.print(text, soft_wrap=True, style=style)
        else:
            print(text)

    return say


def _said(said: dict[str, Any]) -> str:
    return ", ".join(str(value) if key == "program" else f"{key} {value}" for key, value in said.items()) or "?"


def _several(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"
