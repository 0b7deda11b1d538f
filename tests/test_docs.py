"""The documents tell the truth: what they name exists, what they show runs."""

from __future__ import annotations

import ast
import doctest
import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

import anabranch as ab
from tests.conftest import Golden
from tests.programs.load import EXAMPLES, load, program_of

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
LINKED = [*DOCUMENTS, ROOT / "CHANGELOG.md", ROOT / "benchmarks" / "README.md"]
GUIDE = ROOT / "docs" / "guide"

FENCE = re.compile(r"^(?P<indent> *)```(?P<info>[^`\n]*)\n(?P<body>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
INLINE = re.compile(r"`([^`\n]+)`")
PATH = re.compile(r"[\w.*-]+(/[\w.*-]+)*/?")
FILE = re.compile(r"\b(?:anabranch|benchmarks|docs|examples|tests)/[\w./-]+\.\w+\b")
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
    return bool(slash and first != "build" and (ROOT / first).is_dir()) or code.endswith(FILE_ENDINGS)


@pytest.mark.parametrize("document", LINKED, ids=name_of)
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


def anchors_of(document: Path) -> set[str]:
    """The anchors of its headings, as the sites that show Markdown make them: the second of a name is numbered."""
    prose = FENCE.sub("", document.read_text(encoding="utf-8"))
    heads = re.findall(r"^#+ (.*)$", prose, re.MULTILINE)
    slugs = [re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads]
    return {slug if (before := slugs[:i].count(slug)) == 0 else f"{slug}-{before}" for i, slug in enumerate(slugs)}


@pytest.mark.parametrize("document", LINKED, ids=name_of)
def test_every_anchor_linked_exists(document: Path) -> None:
    missing = []
    for target in LINK.findall(FENCE.sub("", document.read_text(encoding="utf-8"))):
        path, _, anchor = target.partition("#")
        page = document.parent / path if path else document
        if anchor and "://" not in target and page.suffix == ".md" and anchor not in anchors_of(page):
            missing.append(target)
    assert not missing, f"{name_of(document)} links to headings that do not exist: {missing}"


def test_every_link_of_the_notebook_exists() -> None:
    notebook = ROOT / "examples" / "from_class_to_spark.ipynb"
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    text = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    links = LINK.findall(text)
    assert links and all((notebook.parent / link).exists() for link in links), links


@pytest.mark.parametrize("example", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_every_file_that_an_example_names_exists(example: Path) -> None:
    named = FILE.findall(ast.get_docstring(ast.parse(example.read_text(encoding="utf-8"))) or "")
    assert named and [path for path in named if not (ROOT / path).exists()] == []


def test_links_are_written_where_the_tests_find_them() -> None:
    """Links by reference, and HTML, would be followed by nobody."""
    hidden = re.compile(r"^\[[^\]]+\]: |<a |<img ", re.MULTILINE)
    assert [name_of(page) for page in LINKED if hidden.search(FENCE.sub("", page.read_text(encoding="utf-8")))] == []


def test_the_guide_names_all_of_its_pages_and_those_beside_it() -> None:
    links = set(LINK.findall((GUIDE / "README.md").read_text(encoding="utf-8")))
    assert {page.name for page in GUIDE.glob("*.md")} - {"README.md"} <= links
    beside = {f"../{page.name}" for page in (ROOT / "docs").glob("*.md")} - {"../soak.md"}
    assert beside <= links, f"the guide does not lead to {sorted(beside - links)}"


@pytest.mark.parametrize("picture", sorted((GUIDE / "pictures").glob("*.svg")), ids=lambda picture: picture.stem)
def test_the_pictures_of_the_guide_are_those_of_the_graphs(picture: Path, golden: Golden) -> None:
    program = program_of(load(EXAMPLES / f"{picture.stem}.py"))
    golden(picture, ab.compile(program).to_svg())


def test_the_guide_shows_its_pictures() -> None:
    shown = set(LINK.findall((GUIDE / "how-it-runs.md").read_text(encoding="utf-8")))
    assert {f"pictures/{picture.name}" for picture in (GUIDE / "pictures").iterdir()} <= shown


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


@pytest.mark.parametrize("copy", ["examples/recommender.py", "anabranch/demo/program.py"])
def test_the_recommender_is_the_same_everywhere(copy: str) -> None:
    readme = next(b.code for b in blocks_of(ROOT / "README.md") if "class Recommender" in b.code)
    assert recommender_in((ROOT / copy).read_text(encoding="utf-8")) == recommender_in(readme)
