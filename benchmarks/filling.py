"""Tables and pictures of a benchmark, written into a document between the marks that it has for them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from harness import Bench
from report import Figure, describe_machine, shown, verdict


def marks_of(part: str) -> tuple[str, str]:
    return f"<!-- {part}: what follows is written by the benchmark -->", f"<!-- end of {part} -->"


def fill_in(document: Path, part: str, bench: Bench, figures: Sequence[Figure], pictures: Sequence[str]) -> None:
    """Put what was found in place of what stands between the marks of a part."""
    put_in(document, part, lines_of(document, part, bench, figures, pictures))


def put_in(document: Path, part: str, lines: Iterable[str]) -> None:
    """Put these lines in place of what stands between the marks of a part."""
    text = document.read_text(encoding="utf-8")
    begin, end = marks_of(part)
    before, found, rest = text.partition(begin)
    _, ended, after = rest.partition(end)
    if not (found and ended):
        raise ValueError(f"{document} has no place for {part}: write the lines {begin} and {end} where it should be")
    told = "\n".join(lines)
    document.write_text(f"{before}{begin}\n{told}\n{end}{after}", encoding="utf-8")


def lines_of(
    document: Path, part: str, bench: Bench, figures: Sequence[Figure], pictures: Sequence[str]
) -> Iterator[str]:
    machine = describe_machine()
    for picture in pictures:
        where = Path(os.path.relpath(bench.options.plots / picture, document.parent)).as_posix()
        yield from ("", f"![{picture.removesuffix('.svg').replace('_', ' ')}]({where})")
    size = "" if bench.options.scale == 1 else f", --scale {bench.options.scale}"
    yield from ("", f"{len(bench.rounds)} rounds{size}, {machine['cores']} cores of {machine['cpu']}.", "")
    yield from ("| figure | median | quartiles | target | met |", "|---|---:|---:|---:|---|")
    for figure in figures:
        name = figure.what.removeprefix(f"{part}, ")
        unit = f" ({figure.unit})" if figure.unit else ""
        median, low, high = (shown(value) for value in (figure.spread.median, figure.spread.low, figure.spread.high))
        yield f"| {name}{unit} | {median} | {low} .. {high} | {figure.target} | {verdict(figure.met)} |"
    yield ""
