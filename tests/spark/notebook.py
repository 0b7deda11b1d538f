"""Runs the cells of a notebook, one after the other, in one namespace, as its kernel would."""

from __future__ import annotations

import json
import linecache
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

WRITE = "%%writefile "


def code_of(notebook: Path) -> list[str]:
    cells: list[dict[str, Any]] = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


def run(notebook: Path, module: ModuleType) -> None:
    """`%%writefile NAME` writes to the current folder; no other magic is known. Each cell is a file to the compiler."""
    for number, source in enumerate(code_of(notebook)):
        if source.startswith(WRITE):
            head, _, text = source.partition("\n")
            Path(head.removeprefix(WRITE)).write_text(text, encoding="utf-8")
            continue
        name = f"<cell {number} of {notebook.name}>"
        linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
        exec(compile(source, name, "exec", dont_inherit=True), vars(module))


if __name__ == "__main__":
    sys.path.insert(0, "")  # as in a notebook
    run(Path(sys.argv[1]), sys.modules["__main__"])
