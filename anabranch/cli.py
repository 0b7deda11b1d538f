"""The command line: `anabranch check FILE`, `graph FILE`, `demo`, `bench NAME`, `inspect LOCATION`, `migrate ...`."""

from __future__ import annotations

import argparse
import importlib.util
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, TextIO

from anabranch import __version__
from anabranch.checking import check
from anabranch.compiler import compile
from anabranch.frontend.codes import ERROR
from anabranch.frontend.diagnostics import CompileError, Diagnostic
from anabranch.graph.nodes import Graph
from anabranch.lang import Program

OK, FOUND, USAGE, INTERRUPTED = 0, 1, 2, 130
FORMATS: dict[str, Callable[[Graph], str]] = {
    "text": str,
    "drawing": Graph.draw,
    "dot": Graph.to_dot,
    "mermaid": Graph.to_mermaid,
    "svg": Graph.to_svg,
}


class Refused(Exception):
    """The command cannot be carried out; the message says what to do."""


def main(argv: Sequence[str] | None = None) -> int:
    parser = _parser()
    options = parser.parse_args(argv)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without box characters still gets the words
    try:
        code = int(options.run(options))
        sys.stdout.flush()
        return code
    except Refused as error:
        return _refuse(str(error), options.json)
    except BrokenPipeError:  # whoever reads has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="anabranch", description="Stateful Python programs as dataflow graphs.")
    parser.add_argument("--version", action="version", version=f"anabranch {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    one = commands.add_parser("check", help="report every rule that the programs of a file break")
    one.add_argument("file", type=Path, metavar="FILE")
    one.add_argument("--program", metavar="NAME", help="only this class")
    one.add_argument("--tier", choices=["compiled"], help="also note what cannot be compiled to machine code")
    one.set_defaults(run=_check)

    two = commands.add_parser("graph", help="show the graphs of the programs of a file")
    two.add_argument("file", type=Path, metavar="FILE")
    two.add_argument("--program", metavar="NAME", help="only this class")
    two.add_argument("--format", choices=FORMATS, default="text")
    two.set_defaults(run=_graph)

    three = commands.add_parser("demo", help="the recommender alive: ratings, a snapshot, a lost worker, a second one")
    three.add_argument("--on", choices=["processes", "spark"], default="processes", help="what the workers are")
    three.add_argument("--seconds", type=float, default=20.0, metavar="N", help="how long the show is")
    three.set_defaults(run=_demo)

    four = commands.add_parser("inspect", help="show what a checkpoint location holds, and check every file of it")
    four.add_argument("location", nargs="+", metavar="LOCATION", help="what was given as checkpoint=")
    four.add_argument("--no-verify", action="store_true", help="do not read all files to check them")
    four.add_argument("--state", metavar="NAME", help="show the rows of this state instead")
    four.add_argument("--to-version", type=int, metavar="N", help="with --state: as it was at this version")
    four.add_argument("--out", type=Path, metavar="FILE", help="with --state: write it to FILE.arrow or FILE.parquet")
    four.set_defaults(run=_inspect)

    five = commands.add_parser("migrate", help="rename or drop saved states, so that a changed program can start")
    five.add_argument("location", nargs="+", metavar="LOCATION", help="what was given as checkpoint=")
    five.add_argument("--rename", action="append", default=[], metavar="OLD=NEW", help="may be repeated")
    five.add_argument("--drop", action="append", default=[], metavar="NAME", help="may be repeated")
    five.add_argument("--dry-run", action="store_true", help="only say what would be done")
    five.add_argument("--fence", choices=["create", "none"], default="create", help="as for ab.run")
    five.set_defaults(run=_migrate)

    six = commands.add_parser("bench", help="measure anabranch beside other systems, in a checkout of the repository")
    six.add_argument("names", nargs="*", metavar="NAME", help="of a benchmark, or all; none: list them and the peers")
    six.add_argument("--against", metavar="PEER,PEER", help="the peers to measure beside (default: all)")
    six.add_argument("--rounds", metavar="N", help="timed rounds (default: 5)")
    six.add_argument("--scale", metavar="F", help="multiplies all sizes (default: 1)")
    six.add_argument("--plots", metavar="FOLDER", help="where plots go")
    six.add_argument("--report", metavar="FILE", help="a page to write the tables into")
    six.add_argument("--envs", metavar="FOLDER", help="the environments of peers (default: in the user's cache)")
    six.set_defaults(run=_bench)
    for each in (one, two, three, four, five, six):
        each.add_argument("--json", action="store_true", help="one JSON object on standard output")
    return parser


def _refuse(message: str, as_json: bool) -> int:
    if as_json:
        print(json.dumps({"error": message}))
    else:
        print(f"anabranch: {message}", file=sys.stderr)
    return USAGE


def _check(options: argparse.Namespace) -> int:
    programs = _programs(options.file, options.program)
    found: dict[str, list[Diagnostic]] = {p.__name__: check(p, tier=options.tier) for p in programs}
    every = [d for diagnostics in found.values() for d in diagnostics]
    if options.json:
        shown = [{"program": name, "diagnostics": [d.to_dict() for d in ds]} for name, ds in found.items()]
        print(json.dumps({"file": str(options.file), "programs": shown}, indent=2))
    else:
        for diagnostic in every:
            print(diagnostic)
        for name, diagnostics in found.items():
            print(f"{name}: {_summary(diagnostics)}")
    return FOUND if any(d.severity == ERROR for d in every) else OK


def _summary(diagnostics: list[Diagnostic]) -> str:
    counts = [(word, sum(d.severity == word for d in diagnostics)) for word in ("error", "warning", "note")]
    told = [f"{n} {word}{'s' if n > 1 else ''}" for word, n in counts if n]
    return ", ".join(told) or "no problems"


def _graph(options: argparse.Namespace) -> int:
    graphs: dict[str, str] = {}
    for program in _programs(options.file, options.program):
        try:
            graphs[program.__name__] = FORMATS[options.format](compile(program))
        except CompileError as error:
            if options.json:
                print(
                    json.dumps({"error": str(error), "diagnostics": [d.to_dict() for d in error.diagnostics]}, indent=2)
                )
            else:
                print(error, file=sys.stderr)
            return FOUND
    if options.json:
        shown = [{"program": name, "format": options.format, "graph": text} for name, text in graphs.items()]
        print(json.dumps({"file": str(options.file), "programs": shown}, indent=2))
    else:
        print("\n".join(text.rstrip("\n") for text in graphs.values()))
    return OK


def _demo(options: argparse.Namespace) -> int:
    from anabranch.demo.show import run  # needs rich, which the other commands do not

    if options.seconds <= 0:
        raise Refused(f"--seconds is a time above zero, got {options.seconds:g}")
    try:
        return run(json=options.json, on=options.on, seconds=options.seconds)
    except KeyboardInterrupt:
        print("anabranch: the demo was ended before its end", file=sys.stderr)
        return INTERRUPTED
    except ImportError as error:
        if error.name != "pyspark":
            raise
        install = f'{sys.executable} -m pip install -e ".[spark]"'
        raise Refused(f"--on spark needs Spark: {install} in a clone, and a Java (17 or newer)") from error


def _bench(options: argparse.Namespace) -> int:
    """Benchmarks are scripts of the repository, no part of the package: they run in a process of their own."""
    script = Path(__file__).resolve().parent.parent / "benchmarks" / "peers" / "run.py"
    if not script.is_file():
        raise Refused("the benchmarks are not in the package: run `make bench` in a checkout of the repository")
    given = {name: getattr(options, name) for name in ("against", "rounds", "scale", "plots", "report", "envs")}
    arguments = [word for name, value in given.items() if value is not None for word in (f"--{name}", value)]
    command = [sys.executable, str(script), *options.names, *arguments, *(["--json"] if options.json else [])]
    try:
        return subprocess.run(command, check=False).returncode
    except KeyboardInterrupt:
        return INTERRUPTED


def _inspect(options: argparse.Namespace) -> int:
    from anabranch.inspecting import inspect
    from anabranch.inspecting.showing import progress, show_inspection

    if options.state is not None:
        return _state(options)
    for given, name in ((options.to_version, "--to-version"), (options.out, "--out")):
        if given is not None:
            raise Refused(f"{name} is for one state: write --state NAME too")
    with _refusals(), progress("verifying") as watch:
        seen = inspect(options.location, verifying=not options.no_verify, watch=watch)
    if not seen.runs:
        raise Refused(f"{seen.location} holds no checkpoint: give what was given as checkpoint=")
    if options.json:
        print(json.dumps(seen.to_dict(), indent=2))
    else:
        show_inspection(seen)
    return OK if seen.ok else FOUND


def _state(options: argparse.Namespace) -> int:
    from anabranch.inspecting.reading import read_at
    from anabranch.inspecting.showing import show_rows, write_rows
    from anabranch.state.checkpoint.errors import Damaged

    try:
        with _refusals():
            version, table = read_at(options.location, options.state, options.to_version)
            if options.out is not None:
                write_rows(table, options.out)
    except Damaged as error:
        print(json.dumps({"error": str(error)}) if options.json else f"anabranch: {error}", file=_errors(options))
        return FOUND
    if options.json:
        told = {"state": options.state, "version": version, "rows": len(table), "columns": _columns(table.schema)}
        rows = {"out": str(options.out)} if options.out else {"values": table.to_pydict()}
        print(json.dumps(told | rows, default=_text))
    elif options.out is not None:
        print(f"{options.out}: {len(table):,} rows of version {version}")
    else:
        show_rows(table, version)
    return OK


def _columns(schema: Any) -> dict[str, str]:
    return {field.name: str(field.type) for field in schema}


def _text(value: object) -> str:
    """A value that JSON does not have."""
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value)


def _errors(options: argparse.Namespace) -> TextIO:
    return sys.stdout if options.json else sys.stderr


def _migrate(options: argparse.Namespace) -> int:
    from anabranch.inspecting import migrate
    from anabranch.inspecting.showing import progress, show_migration
    from anabranch.state.checkpoint.errors import Damaged

    rename: dict[str, str] = {}
    for given in options.rename:
        old, equals, new = given.partition("=")
        if not old or not equals or not new:
            raise Refused(f"--rename takes OLD=NEW, got {given!r}")
        if old in rename:
            raise Refused(f"{old} is to be renamed twice: to {rename[old]} and to {new}")
        rename[old] = new
    try:
        with _refusals(), progress("migrating") as watch:
            done = migrate(
                options.location, rename, options.drop, dry_run=options.dry_run, fence=options.fence, watch=watch
            )
    except Damaged as error:
        print(json.dumps({"error": str(error)}) if options.json else f"anabranch: {error}", file=_errors(options))
        return FOUND
    if options.json:
        print(json.dumps(done.to_dict(), indent=2))
    else:
        show_migration(done)
    return OK


@contextmanager
def _refusals() -> Iterator[None]:
    """What a location or a user gets wrong, in one line."""
    from anabranch.state.checkpoint.errors import Fenced, NotExclusive

    try:
        yield
    except (Fenced, NotExclusive, ImportError, OSError, TypeError, ValueError) as error:
        raise Refused(str(error)) from error


def _programs(file: Path, name: str | None) -> list[type[Program]]:
    """The programs that a file defines, in its order."""
    module = _load(file)
    found = [
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, Program) and value.__module__ == module.__name__
    ]
    if name is not None:
        found = [p for p in found if p.__name__ == name]
        if not found:
            raise Refused(f"{file} has no program {name}")
    if not found:
        raise Refused(f"{file} has no program: a program is a class that derives from ab.Program")
    return found


def _load(file: Path) -> ModuleType:
    if file.is_dir():
        raise Refused(f"{file} is a folder: name a file")
    if not file.is_file():
        raise Refused(f"there is no file {file}")
    spec = importlib.util.spec_from_file_location(f"anabranch_file_{file.stem}", file)
    if spec is None or spec.loader is None:
        raise Refused(f"{file} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    sys.path.insert(0, str(file.resolve().parent))
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise Refused(f"{file} cannot be imported: {_told(error)}") from error
    finally:
        sys.path.pop(0)
    return module


def _told(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


if __name__ == "__main__":
    sys.exit(main())
