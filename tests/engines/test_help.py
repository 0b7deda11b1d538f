"""`help`, `inspect.signature` and the docstring of an entry, wherever it is: here, in an app, far away."""

from __future__ import annotations

import inspect
import pydoc
from collections.abc import Iterator
from typing import Any

import pytest

import anabranch as ab
from tests.frontend.mutate import programs_in

SOURCE = '''
import anabranch as ab

class Counter(ab.Program):
    counts: ab.Partitioned[ab.Table[str, int]] = ab.Table(default=0)

    def add(self, key: str, by: int = 1) -> int | None:
        """Add to the count of a key."""
        self.counts[key] += by
        return self.counts[key]

    def undocumented(self, key: str) -> None:
        self.counts[key] = 0
'''


@pytest.fixture(scope="module")
def entries() -> Iterator[dict[str, Any]]:
    with programs_in(SOURCE) as programs:
        program = programs[0]
        with ab.run(program(), workers=1) as app, app.serve() as served, ab.connect(*_way_to(served)) as far:
            yield {"plain": program(), "app": app, "far": far}


def _way_to(served: Any) -> tuple[str, str]:
    return served.address, served.token


@pytest.mark.parametrize("where", ["plain", "app", "far"])
def test_help_shows_signature_and_docstring(where: str, entries: dict[str, Any]) -> None:
    text = pydoc.render_doc(entries[where].add, renderer=pydoc.plaintext)
    assert text.splitlines()[2:4] == ["add(key: str, by: int = 1) -> int | None", "    Add to the count of a key."]


@pytest.mark.parametrize("where", ["plain", "app", "far"])
def test_an_entry_has_a_signature_a_name_and_a_docstring(where: str, entries: dict[str, Any]) -> None:
    entry = entries[where].add
    assert str(inspect.signature(entry)) == "(key: str, by: int = 1) -> int | None"
    assert (entry.__name__, entry.__doc__) == ("add", "Add to the count of a key.")
    assert entries[where].entries["add"].__doc__ == entry.__doc__


@pytest.mark.parametrize("where", ["plain", "app", "far"])
def test_an_entry_without_docstring_shows_its_signature(where: str, entries: dict[str, Any]) -> None:
    entry = entries[where].undocumented
    assert entry.__doc__ is None
    assert "undocumented(key: str) -> None" in pydoc.render_doc(entry, renderer=pydoc.plaintext)


@pytest.mark.parametrize("where", ["plain", "app", "far"])
def test_many_is_documented(where: str, entries: dict[str, Any]) -> None:
    many = entries[where].add.many
    assert next(iter(inspect.signature(many).parameters)) == "data"
    assert "Run a batch as one request" in pydoc.render_doc(many, renderer=pydoc.plaintext)
