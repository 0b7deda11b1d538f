"""The reference: `docs/reference.md` names what is public, section by section; the docstrings say the rest."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

SECTION = re.compile(r"^## (?P<title>.*)\n(?P<body>(?:(?!^## ).*\n)*)", re.MULTILINE)
NAME = re.compile(r"`((?:ab|testing)\.\w+|[A-Z]\w+)`")
RESERVED = "Reserved for later"  # named, and nothing to be told

_ENGINE = "anabranch.engines.embedded"
PLACES = {  # what is given to users under no name of the package
    "App": f"{_ENGINE}.app.App",
    "AppEntry": f"{_ENGINE}.entries.AppEntry",
    "EntryExplained": f"{_ENGINE}.explain.EntryExplained",
    "EntryMetrics": f"{_ENGINE}.metrics.EntryMetrics",
    "Explanation": f"{_ENGINE}.explain.Explanation",
    "History": f"{_ENGINE}.history.History",
    "MemoryMetrics": f"{_ENGINE}.metrics.MemoryMetrics",
    "Metrics": f"{_ENGINE}.metrics.Metrics",
    "Move": f"{_ENGINE}.metrics.Move",
    "Recovery": "anabranch.drivers.durable.settings.Recovery",
    "Served": "anabranch.drivers.served.Served",
    "StateView": f"{_ENGINE}.states.StateView",
    "TaskExplained": f"{_ENGINE}.explain.TaskExplained",
    "TaskMetrics": f"{_ENGINE}.metrics.TaskMetrics",
    # annotations: what they mean stands under them in their own module
    "ab.Partial": "anabranch.lang.distribution.Partial",
    "ab.Partitioned": "anabranch.lang.distribution.Partitioned",
    "ab.Replicated": "anabranch.lang.distribution.Replicated",
    "ab.UTCDateTime": "anabranch.lang.types.UTCDateTime",
}
GIVEN = {  # classes that users are given and do not make
    *(path for name, path in PLACES.items() if "." not in name),
    "anabranch.BadInput", "anabranch.CompileError", "anabranch.Diagnostic", "anabranch.Graph",
    "anabranch.InputOverflow", "anabranch.Program", "anabranch.RemoteError", "anabranch.testing.Disturbance",
    "anabranch.testing.Kit",
}  # fmt: skip
OURS = {  # members that are public for other modules of ours
    "App": ("copy_of",),
    "Served": ("endpoints",),
    "testing.Kit": ("ask", "ask_beside", "disturb", "refuse_failures", "refuse_what_never_came"),
    "testing.SetClock": ("start", "wait"),
}


def sections(page: str) -> Iterator[tuple[str, list[str]]]:
    """The sections of the page, each with the names it has.

    >>> list(sections("# R\\n\\n## Run\\n\\n`ab.run` gives an `App`.\\n"))
    [('Run', ['ab.run', 'App'])]
    """
    for section in SECTION.finditer(page):
        yield section["title"], NAME.findall(section["body"])


def path_of(name: str) -> str:
    """Where a name of the page is found, as a dotted path."""
    package = {"ab": "anabranch", "testing": "anabranch.testing"}
    head, _, rest = name.partition(".")
    return PLACES.get(name) or f"{package[head]}.{rest}"


def object_of(name: str) -> Any:
    module, _, attribute = path_of(name).rpartition(".")
    return getattr(import_module(module), attribute)


def members_of(name: str) -> list[str]:
    """The members of a class of the page that users may use."""
    found = object_of(name)
    if not inspect.isclass(found):
        return []
    own = [cls for cls in found.__mro__ if cls.__module__.startswith("anabranch.")]
    names = {member for cls in own for member, value in vars(cls).items() if _is_member(value)}
    return sorted(member for member in names if not member.startswith("_") and member not in OURS.get(name, ()))


def _is_member(value: Any) -> bool:
    return inspect.isfunction(value) or isinstance(value, property | classmethod | staticmethod)


def slug_of(title: str) -> str:
    return re.sub(r"\W+", "-", title.lower())


def write_reference(sources: Path) -> None:
    """A page for each section, and links to them on the page that there is."""
    page = sources / "docs" / "reference.md"
    text = page.read_text(encoding="utf-8")
    (page.parent / "reference").mkdir()
    slugs = []
    for title, names in sections(text):
        if not names or title == RESERVED:
            continue
        slugs.append(slug_of(title))
        told = "\n".join(_told(name) for name in names)
        (page.parent / "reference" / f"{slugs[-1]}.md").write_text(f"# {title}\n\n{told}", encoding="utf-8")

    def link(found: re.Match[str]) -> str:
        title, body = found["title"], found["body"]
        if slug_of(title) not in slugs:
            return found[0]
        linked = NAME.sub(lambda name: f"[{name[0]}](#{path_of(name[1])})", body)
        return f"## [{title}](reference/{slug_of(title)}.md)\n{linked}"

    contents = ["```{toctree}", ":hidden:", "", *(f"reference/{slug}" for slug in slugs), "```", ""]
    page.write_text("\n".join([SECTION.sub(link, text), *contents]), encoding="utf-8")


def _told(name: str) -> str:
    path, found = path_of(name), object_of(name)
    if not inspect.isclass(found):
        kind, options = ("autofunction" if inspect.isroutine(found) else "autodata"), []
        options = [":no-value:"] if kind == "autodata" else []
    elif issubclass(found, BaseException):
        kind, options = "autoexception", [":show-inheritance:"]
    else:
        kind, options = "autoclass", [f":members: {', '.join(members_of(name))}"] if members_of(name) else []
    lines = ["```{eval-rst}", f".. {kind}:: {path}", *(f"   {option}" for option in options), "```", ""]
    if path in GIVEN and dataclasses.is_dataclass(found):  # its arguments are not shown
        fields = ", ".join(f"`{field.name}: {field.type}`" for field in dataclasses.fields(found))
        lines += [f"It has {fields}.", ""]
    return "\n".join([f"## {name}", "", *lines])
