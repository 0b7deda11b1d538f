"""What is in a location, and whether each file is what was written: for people and for `anabranch inspect`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, TypeVar

from anabranch.state.checkpoint.errors import Damaged
from anabranch.state.checkpoint.finding import find
from anabranch.state.checkpoint.generations import base_name, base_of, claim_name, claimed_by, end_name, end_of, numbers
from anabranch.state.checkpoint.location import Location
from anabranch.state.checkpoint.manifests import Manifest, manifests, read_manifest
from anabranch.state.checkpoint.reading import MISSING, extent, pieces
from anabranch.state.checkpoint.snapshots import check_chunk

OK = "ok"
_T = TypeVar("_T")
Watch = Callable[[str], None]
"""Told the name of each file that was read."""


@dataclass(slots=True)
class Report:
    """`files` says for each file "ok" or what is wrong; `problem` why the location cannot be restored as it is."""

    location: str
    generation: int | None = None
    opened_by: dict[str, Any] = field(default_factory=dict)
    version: int | None = None
    versions: list[int] = field(default_factory=list)
    manifest: str | None = None
    states: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Of the newest whole manifest: rows and bytes of each state."""
    log_bytes: int = 0
    lag: int = 0
    """Epochs committed since the newest whole manifest: what a restore has to apply."""
    files: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    problem: str | None = None
    watch: Watch = field(default=lambda file: None, repr=False, compare=False)

    @property
    def ok(self) -> bool:
        return self.problem is None and all(said.startswith(OK) for said in self.files.values())


def verify(location: Location, watch: Watch = lambda file: None) -> Report:
    """Read everything. Nothing is changed, nothing is raised for what is damaged."""
    report = Report(location.name, watch=watch)
    for number, is_base in sorted(numbers(location)):
        if is_base:
            report.generation = number
            _check(report, base_name(number), base_of, location, number)
            if location.exists(end_name(number)):
                _check(report, end_name(number), end_of, location, number)
        else:
            said = _check(report, claim_name(number), claimed_by, location, number)
            report.opened_by = said if said is not None else {}
    named: set[str] = set()
    for name in manifests(location):
        manifest: Manifest | None = _check(report, name, read_manifest, location, name)
        if manifest is not None:
            report.versions.append(manifest.version)
            for chunk in manifest.chunks:
                named.add(chunk.file)
                _check(report, chunk.file, check_chunk, location, chunk)
    for file in location.list("snapshots"):
        if file not in named:
            report.files[file] = f"{OK}, of no manifest"
    _check_logs(report, location)
    try:
        found = find(location)
        for _ in () if found is None else found.frames():  # each that a commit names is there
            pass
    except Damaged as error:
        report.problem = str(error)
        report.files.setdefault(error.file, _why(error))
        return report
    if found is not None:
        report.version, report.manifest, report.notes = found.version, found.name, found.notes
        report.lag = found.version - (0 if found.manifest is None else found.manifest.version)
        for chunk in () if found.manifest is None else found.manifest.chunks:
            rows, size = report.states.get(chunk.state, (0, 0))
            report.states[chunk.state] = rows + chunk.rows, size + chunk.bytes
    return report


def _check_logs(report: Report, location: Location) -> None:
    there = pieces(location)
    for before, after in pairwise(there):
        if before[:2] == after[:2]:
            for number in range(before.number + 1, after.number):
                report.files[before._replace(number=number).file] = f"byte 0: {MISSING}; {after.file} is there"
    for piece, size in there.items():
        report.log_bytes += size
        last = piece._replace(number=piece.number + 1) not in there
        try:
            found = extent(location, piece, last=last)
        except (Damaged, OSError) as error:
            report.files[piece.file] = _why(error)
        else:
            if found.next is not None and piece._replace(number=found.next) not in there:
                missing = piece._replace(number=found.next).file
                report.files[missing] = f"byte 0: {MISSING}; {piece.file} says that it was begun"
            epochs = f"{OK}, epochs {found.first} to {found.last}" if found.frames else f"{OK}, no epochs"
            report.files[piece.file] = epochs + (f", {found.cut} bytes cut off at the end" if found.cut else "")
        report.watch(piece.file)


def _check(report: Report, name: str, check: Callable[..., _T], *arguments: object) -> _T | None:
    try:
        result = check(*arguments)
    except (Damaged, OSError) as error:
        report.files[name] = _why(error)
        return None
    finally:
        report.watch(name)
    report.files[name] = OK
    return result


def _why(error: Exception) -> str:
    return f"byte {error.offset}: {error.why}" if isinstance(error, Damaged) else str(error)
