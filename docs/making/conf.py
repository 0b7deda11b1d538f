"""Sphinx's settings for the site."""

from __future__ import annotations

from importlib.metadata import version as version_of
from typing import Any

from reference import GIVEN

project = "Anabranch"
author = "the authors of Anabranch"
copyright = author
release = version = version_of("anabranch")

extensions = ["myst_parser", "sphinx.ext.autodoc"]
exclude_patterns = [".doctrees"]
myst_heading_anchors = 4  # as code hosts make them
default_role = "code"  # docstrings write `code` as Markdown does

add_module_names = False
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
maximum_signature_line_length = 100
python_use_unqualified_type_names = True

html_theme = "furo"
html_title = f"Anabranch {version}"
html_copy_source = False
html_theme_options = {"navigation_with_keys": True}


def hide_constructor(app: Any, what: str, name: str, *rest: Any) -> tuple[str, None] | None:
    """Of what users are given and never make, the arguments are nobody's business."""
    return ("", None) if what in ("class", "exception") and name in GIVEN else None


def setup(app: Any) -> None:
    app.connect("autodoc-process-signature", hide_constructor)
