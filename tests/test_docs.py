"""The documents tell the truth: what they name exists, what they show runs."""

from __future__ import annotations

import ast
import doctest
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

FENCE = re.compile(r"^(?P<indent> *)```(?P<info>[^`\n]*)\n(?P<body>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
INLINE = re.compile(r"`([^`\n]+)`")
PATH = re.compile(r"[\w.*-]+(/[\w.*-]+)*/?")
FILE_ENDINGS = (".py", ".md", ".toml", ".txt")


def name_of(document: Path) -> str:
    return document.relative_to(ROOT).as_posix()


# --- what they name exists -------------------------------------------------------------------------------------------


def named_paths(text: str) -> list[tuple[str, bool]]:
    """The paths that a document names, each with whether it is a link (those start at the document's folder)."""
    prose = FENCE.sub("", text)
    links = [(target.partition("#")[0], True) for target in LINK.findall(prose) if "://" not in target]
    codes = [(code, False) for code in INLINE.findall(prose) if PATH.fullmatch(code) and names_a_path(code)]
    return [(path, link) for path, link in links + codes if path]


def names_a_path(code: str) -> bool:
    """Inline code is a path if it starts at a top-level folder of the repository or ends like one of its files."""
    first, slash, _ = code.partition("/")
    return bool(slash and (ROOT / first).is_dir()) or code.endswith(FILE_ENDINGS)


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_every_path_named_exists(document: Path) -> None:
    missing = []
    for path, link in named_paths(document.read_text(encoding="utf-8")):
        folders = [document.parent] if link else [ROOT, document.parent]
        if not any((folder / path).exists() or any(folder.glob(path)) for folder in folders):
            missing.append(path)
    assert not missing, f"{name_of(document)} names what does not exist: {missing}"


def test_paths_are_found_in_prose_links_and_not_in_fences() -> None:
    text = "`docs/a.md`, `anabranch/lang/`, `b.toml`, [c](../c.md#top), `app.state`, `rows/s`\n```\n`docs/no.md`\n```\n"
    assert named_paths(text) == [("../c.md", True), ("docs/a.md", False), ("anabranch/lang/", False), ("b.toml", False)]


# --- what they show runs ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Block:
    """A fenced block of Python; `line` is the 0-based line of its first line in the document."""

    code: str
    line: int
    options: tuple[str, ...]

    @property
    def is_session(self) -> bool:
        return any(line.startswith(">>>") for line in self.code.splitlines())


def blocks_of(document: Path) -> list[Block]:
    text = document.read_text(encoding="utf-8")
    blocks = []
    for match in FENCE.finditer(text):
        language, *options = match["info"].split() or [""]
        # mistakes and their repairs are for test_diagnostics_page.py: each is a module of its own
        if language in ("python", "pycon") and not {"mistake", "repair"} & set(options):
            blocks.append(Block(match["body"], text.count("\n", 0, match.start("body")), tuple(options)))
    return blocks


WITH_CODE = [document for document in DOCUMENTS if blocks_of(document)]


@pytest.mark.parametrize("document", WITH_CODE, ids=name_of)
def test_examples_run(document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One namespace per document, top to bottom.

    The plain blocks are also a real file, each on its lines of the document: the translator reads the source of
    classes from files, and a traceback then names the document's line.
    """
    blocks = [block for block in blocks_of(document) if "no-run" not in block.options]
    plain = [block for block in blocks if not block.is_session]
    source = ""
    for block in plain:
        source += "\n" * (block.line - source.count("\n")) + block.code
    name = f"document_{document.stem}"
    file = tmp_path / f"{name}.py"
    file.write_text(source, encoding="utf-8")
    module = ModuleType(name)
    module.__file__ = str(file)
    monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.chdir(ROOT)

    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    report: list[str] = []
    for block in blocks:
        if block.is_session:
            test = doctest.DocTestParser().get_doctest(block.code, vars(module), name, str(document), block.line)
            runner.run(test, out=report.append, clear_globs=False)
            vars(module).update(test.globs)
        else:
            exec(compile("\n" * block.line + block.code, str(file), "exec", dont_inherit=True), vars(module))
    assert not runner.failures, "".join(report)


@pytest.mark.parametrize("document", WITH_CODE, ids=name_of)
def test_only_what_needs_spark_is_not_run(document: Path) -> None:
    skipped = [block for block in blocks_of(document) if "no-run" in block.options]
    assert all("spark" in block.code.lower() for block in skipped)


# --- the recommender is one program ----------------------------------------------------------------------------------


def recommender_in(source: str) -> str:
    """The class in the source, without comments and layout."""
    found = [n for n in ast.parse(source).body if isinstance(n, ast.ClassDef) and n.name == "Recommender"]
    assert len(found) == 1
    return ast.unparse(found[0])


@pytest.mark.parametrize("copy", ["examples/recommender.py", "anabranch/demo.py"])
def test_the_recommender_is_the_same_everywhere(copy: str) -> None:
    readme = next(b.code for b in blocks_of(ROOT / "README.md") if "class Recommender" in b.code)
    assert recommender_in((ROOT / copy).read_text(encoding="utf-8")) == recommender_in(readme)
