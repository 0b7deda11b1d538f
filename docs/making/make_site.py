"""`make docs`: the site from the Markdown of the repository and the docstrings of the package.

    python docs/making/make_site.py build/site

Warnings are errors, and links to pages, headings and files that do not exist are warnings. The site needs no network:
what it shows is in its folder.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from reference import write_reference
from sphinx.cmd.build import build_main
from tree import Tree

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def main(arguments: list[str]) -> int:
    site = Path(arguments[0] if arguments else ROOT / "build" / "site").resolve()
    sources = site.parent / "site-sources"
    for folder in (site, sources):
        shutil.rmtree(folder, ignore_errors=True)
    tree = Tree(ROOT, sources)
    tree.write()
    write_reference(sources)
    options = ["--fail-on-warning", "--keep-going", "--quiet", "--conf-dir", str(HERE), "--doctree-dir"]
    code: int = build_main([*options, str(sources / ".doctrees"), str(sources), str(site)])
    if code == 0:
        print(f"{len(list(site.rglob('*.html')))} pages: {site / 'index.html'}")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
