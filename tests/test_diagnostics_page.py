"""The page of diagnostics tells the truth: every code once, its mistake is reported, its repair is clean."""

from __future__ import annotations

import itertools
import linecache
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

import anabranch as ab
from anabranch.frontend import codes
from anabranch.frontend.codes import CODES, ERROR
from tests.programs.load import program_of

PAGE = Path(__file__).resolve().parent.parent / "docs" / "diagnostics.md"
HEADING = re.compile(r"^### (?P<code>\S+): (?P<title>.+)$", re.MULTILINE)
BLOCK = re.compile(
    r"^```python (?P<kind>mistake|repair)(?P<codes>[^\n]*)\n(?P<source>.*?)^```$", re.MULTILINE | re.DOTALL
)
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Example:
    """A block of the page: a mistake or a repair, the codes of its info string, its text."""

    kind: str
    codes: list[str]
    source: str


@dataclass(frozen=True)
class Section:
    code: str
    title: str
    why: str
    examples: list[Example]


def sections() -> list[Section]:
    text = PAGE.read_text(encoding="utf-8")
    heads = list(HEADING.finditer(text))
    ends = [head.start() for head in heads[1:]] + [len(text)]
    found = []
    for head, end in zip(heads, ends, strict=True):
        body = text[head.end() : end]
        examples = [Example(b["kind"], b["codes"].split(), b["source"]) for b in BLOCK.finditer(body)]
        found.append(Section(head["code"], head["title"], body.partition("```")[0].strip(), examples))
    return found


SECTIONS = {section.code: section for section in sections()}
on_every_code = pytest.mark.parametrize("code", CODES)
_numbers = itertools.count()


@pytest.fixture
def load() -> Iterator[Callable[[str], type[ab.Program]]]:
    """Gives the program of a source, in a module of its own whose lines the translator can read."""
    loaded = []

    def load(source: str) -> type[ab.Program]:
        source = "import anabranch as ab\n\n" + source
        name = f"diagnostics_page_{next(_numbers)}"
        file = f"<{name}>"
        linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
        module = ModuleType(name)
        module.__file__ = file
        sys.modules[name] = module
        loaded.append(name)
        exec(compile(source, file, "exec", dont_inherit=True), vars(module))
        return program_of(module)

    yield load
    for name in loaded:
        del sys.modules[name]
        linecache.cache.pop(f"<{name}>", None)


def codes_of(program: type[ab.Program]) -> list[str]:
    return sorted({diagnostic.code for diagnostic in ab.check(program)})


def codes_of_example(program: type[ab.Program], code: str) -> list[str]:
    """With the notes on what cannot be compiled where that is what the section is about."""
    return sorted({d.code for d in ab.check(program, tier="compiled" if code == "AB602" else None)})


def findings(program: type[ab.Program]) -> str:
    return "\n".join(map(str, ab.check(program)))


# --- the page --------------------------------------------------------------------------------------------------------


def test_every_code_is_on_the_page_once_in_order_with_its_title() -> None:
    assert [(s.code, s.title) for s in sections()] == [(code, title) for code, (_, title) in CODES.items()]


def test_the_codes_are_grouped_as_in_the_list() -> None:
    assert codes.__file__ is not None
    source = Path(codes.__file__).read_text(encoding="utf-8")
    listed = re.findall(r'^ +(?:# (.+)|"(AB\d{3})": .*)$', source, re.MULTILINE)
    prose = FENCE.sub("", PAGE.read_text(encoding="utf-8"))
    assert re.findall(r"^(?:## (.+)|### (AB\d{3}): .*)$", prose, re.MULTILINE) == listed


@on_every_code
def test_a_section_says_why_and_shows_a_mistake_and_a_repair(code: str) -> None:
    section = SECTIONS[code]
    assert [example.kind for example in section.examples] == ["mistake", "repair"]
    assert code == section.examples[0].codes[0] and code not in section.examples[1].codes
    severity = CODES[code][0]
    assert section.why and (severity == ERROR or section.why.startswith(f"A {severity}: "))


# --- the examples ----------------------------------------------------------------------------------------------------


@on_every_code
def test_the_mistake_is_reported(code: str, load: Callable[[str], type[ab.Program]]) -> None:
    mistake = SECTIONS[code].examples[0]
    program = load(mistake.source)
    assert codes_of_example(program, code) == sorted(mistake.codes), findings(program)
    if CODES[code][0] == ERROR:
        with pytest.raises(ab.CompileError, match=code):
            ab.compile(program)
    else:
        ab.compile(program)


@on_every_code
def test_the_repair_is_clean(code: str, load: Callable[[str], type[ab.Program]]) -> None:
    repair = SECTIONS[code].examples[1]
    program = load(repair.source)
    assert codes_of_example(program, code) == sorted(repair.codes), findings(program)
    ab.compile(program)
    program()


def test_every_as_a_decorator_is_reported(load: Callable[[str], type[ab.Program]]) -> None:
    program = load(
        """
class Cache(ab.Program):
    hits: ab.Partitioned[ab.Table[str, int]] = ab.Table(default=0)

    @ab.every(60)
    def forget(self) -> None:
        self.hits["all"] = 0
"""
    )
    assert codes_of(program) == ["AB901"], findings(program)
