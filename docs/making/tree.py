"""The Markdown of the repository as the sources of a site: the same tree, with pages for what else is linked.

The documents stay as they are for code hosts. What a site needs besides is added here: pages that show linked files,
pictures of Mermaid's fences, the table of contents.
"""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
from pathlib import Path

FENCE = re.compile(r"^(?P<indent> *)```(?P<info>[^`\n]*)\n(?P<body>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?P<target>[^)\s]+)\)")
LANGUAGES = {".py": "python", ".toml": "toml"}
PLAIN_LABELS = '%%{init: {"htmlLabels": false, "flowchart": {"htmlLabels": false}}}%%\n'  # HTML shows in no picture
INSIDE = ["docs/architecture", "docs/decisions/README", "docs/soak", "benchmarks/README", "CHANGELOG"]
FIRST = ["docs/reference", "docs/language", "docs/running"]


class Tree:
    """Laws: a link of a document leads to the same thing on the site; what it leads to is there."""

    def __init__(self, root: Path, out: Path) -> None:
        self._root, self._out = root, out
        self._written: set[Path] = set()

    def write(self) -> None:
        pages = ["README.md", "CHANGELOG.md", "benchmarks/README.md"]
        pages += sorted(path.relative_to(self._root).as_posix() for path in (self._root / "docs").rglob("*.md"))
        for page in pages:
            self.page_of(self._root / page)
        self._append("index.md", self._contents())
        self._append("docs/decisions/README.md", _toctree("", ["*"], "glob"))
        self._append("benchmarks/README.md", _toctree("", ["../docs/benchmarks/*"], "glob"))
        self._append("examples/index.md", _toctree("", ["*"], "glob"))

    def page_of(self, path: Path) -> Path:
        """The file of the site that shows a file of the repository; it is written if it is not there yet."""
        if path.is_dir():
            path = path / "README.md" if (path / "README.md").exists() else path
        page = self._place(path)
        if page in self._written:
            return page
        self._written.add(page)
        page.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".svg":
            shutil.copyfile(path, page)
        else:
            page.write_text(self._text_of(path), encoding="utf-8")
        return page

    def _place(self, path: Path) -> Path:
        name = path.relative_to(self._root).as_posix()
        if path.is_dir():
            name += "/index.md"
        elif name == "README.md":
            name = "index.md"
        elif path.suffix not in (".md", ".svg"):
            name += ".md"
        return self._out / name

    def _text_of(self, path: Path) -> str:
        if path.is_dir():
            return self._linked(_index_of(path), path / "index.md")
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".ipynb":
            return self._linked(_cells_of(text), path)
        if path.suffix != ".md":
            orphan = "" if path.parent.name == "examples" else "---\norphan: true\n---\n\n"
            return f"{orphan}# {path.name}\n\n````{LANGUAGES.get(path.suffix, 'text')}\n{text}````\n"
        return self._drawn(self._linked(text, path), path)

    def _linked(self, text: str, path: Path) -> str:
        """With links to where things are on the site; those in fences are no links."""
        here = self._place(path).parent if path.exists() else self._out / path.parent.relative_to(self._root)

        def link(found: re.Match[str]) -> str:
            target, mark, anchor = found["target"].partition("#")
            meant = Path(os.path.normpath(path.parent / target))
            if not target or "://" in found["target"] or not meant.exists():
                return found[0]  # Sphinx says what is wrong with it
            return f"]({os.path.relpath(self.page_of(meant), here)}{mark}{anchor})"

        parts, end = [], 0
        for fence in FENCE.finditer(text):
            parts += [LINK.sub(link, text[end : fence.start()]), fence[0]]
            end = fence.end()
        return "".join([*parts, LINK.sub(link, text[end:])])

    def _drawn(self, text: str, path: Path) -> str:
        """With pictures instead of Mermaid's fences. One that Mermaid does not understand raises."""
        drawn = 0

        def draw(fence: re.Match[str]) -> str:
            nonlocal drawn
            if fence["info"].strip() != "mermaid":
                return fence[0]
            import mermaidx  # runs Mermaid itself, without a browser

            drawn += 1
            picture = self._place(path).with_name(f"{path.stem}-{drawn}.svg")
            svg = str(mermaidx.render(PLAIN_LABELS + fence["body"]).svg())
            white = svg.replace("background-color: transparent", "background-color: white", 1)  # also on dark pages
            picture.write_text(white, encoding="utf-8")
            return f"![a picture: what it shows is said in the text]({picture.name})"

        return FENCE.sub(draw, text)

    def _append(self, page: str, text: str) -> None:
        with (self._out / page).open("a", encoding="utf-8") as file:
            file.write(f"\n{text}")

    def _contents(self) -> str:
        index = self._root / "docs" / "guide" / "README.md"
        steps = re.findall(r"^\d+\. \[[^\]]*\]\(([^)#]+)\.md\)", index.read_text(encoding="utf-8"), re.MULTILINE)
        guide = ["docs/guide/README", *(os.path.normpath(f"docs/guide/{step}") for step in steps)]
        pages = [f"docs/{page.stem}" for page in sorted((self._root / "docs").glob("*.md"))]
        others = [page for page in pages if page not in {*guide, *FIRST, *INSIDE}]
        return "\n".join(
            [
                _toctree("Guide", guide),
                _toctree("Reference", FIRST + others),
                _toctree("Examples", ["examples/index"]),
                _toctree("Inside", INSIDE),
            ]
        )


def _toctree(caption: str, pages: list[str], *options: str) -> str:
    told = [f":caption: {caption}"] if caption else []
    lines = ["```{toctree}", ":hidden:", ":maxdepth: 1", *(f":{option}:" for option in options), *told, "", *pages]
    return "\n".join([*lines, "```", ""])


def _index_of(folder: Path) -> str:
    lines = [f"# {folder.name.capitalize()}", ""]
    for file in sorted(folder.glob("*.py")):
        told = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
        lines.append(f"- [{file.stem}]({file.name}): {told.splitlines()[0]}")
    lines += [f"- [{file.stem}]({file.name}): a notebook" for file in sorted(folder.glob("*.ipynb"))]
    return "\n".join([*lines, ""])


def _cells_of(notebook: str) -> str:
    parts = []
    for cell in json.loads(notebook)["cells"]:
        text = "".join(cell["source"])
        parts.append(text if cell["cell_type"] == "markdown" else f"````python\n{text}\n````")
    return "\n\n".join([*parts, ""])
