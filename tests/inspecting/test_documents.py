"""What the page on checkpoints shows of commands is what they print."""

from __future__ import annotations

import doctest
import re
import shlex
import sys
from contextlib import suppress
from pathlib import Path
from types import ModuleType

import pytest

from anabranch.cli import main
from tests.test_docs import FENCE, ROOT

PAGE = ROOT / "docs" / "checkpoints.md"


def test_commands_print_what_the_page_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """All blocks, in order; "..." stands for anything, on a line of its own for any number of lines."""
    text = PAGE.read_text(encoding="utf-8")
    module = ModuleType("checkpoint_commands")
    module.__file__ = str(tmp_path / "checkpoint_commands.py")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    blocks = [*FENCE.finditer(text)]
    classes = [block["body"] for block in blocks if block["info"] == "python" and not block["body"].startswith(">>>")]
    Path(module.__file__).write_text("".join(classes), encoding="utf-8")
    lines = shown = 0
    for block in blocks:
        code = block["body"]
        if block["info"] == "console":
            for command, wanted in commands(code):
                main(command_of(command, vars(module)["location"]))
                assert_like(capsys.readouterr().out.replace(vars(module)["location"], "LOCATION"), wanted)
                shown += 1
        elif block["info"] == "python" and code.startswith(">>>"):
            for example in doctest.DocTestParser().get_examples(code):
                with suppress(Exception if example.exc_msg else ()):
                    exec(example.source, vars(module))
            capsys.readouterr()
        elif block["info"] == "python":
            exec(compile("\n" * lines + code, module.__file__, "exec", dont_inherit=True), vars(module))
            lines += code.count("\n")
    assert shown >= 4


def commands(block: str) -> list[tuple[str, str]]:
    parts = re.split(r"^\$ (.*)\n", block, flags=re.MULTILINE)[1:]
    return list(zip(parts[::2], parts[1::2], strict=True))


def command_of(line: str, location: str) -> list[str]:
    name, *arguments = shlex.split(line)
    assert name == "anabranch"
    return [location if argument == "LOCATION" else argument for argument in arguments]


def assert_like(printed: str, wanted: str) -> None:
    lines = [re.escape(line).replace(r"\.\.\.", ".*") for line in sizes_aside(wanted).splitlines()]
    pattern = "".join("(.*\n)*" if line == ".*" else f"{line}\n" for line in lines)
    assert re.fullmatch(pattern, sizes_aside(printed)), f"wanted:\n{wanted}\ngot:\n{printed}"


def sizes_aside(text: str) -> str:
    """How many bytes Arrow needs is not the point."""
    return re.sub(r" +[\d.]+ (kB|bytes)|(?<=rows) +bytes", " SIZE", text)
