"""What is no program at all, or cannot be read: clear words, never a traceback from inside."""

from __future__ import annotations

import linecache
from typing import Any

import pytest

import anabranch as ab
from tests.generator.plain import loaded

CONSOLE = """
import anabranch as ab
class P(ab.Program):
    t: ab.Partitioned[ab.Table[int, int]]
    def put(self, k: int, v: int) -> None:
        self.t[k] = v
"""


def test_a_class_without_source_says_where_to_write_it() -> None:
    namespace: dict[str, Any] = {"__name__": "console"}
    exec(compile(CONSOLE, "<stdin>", "exec"), namespace)
    (diagnostic,) = ab.check(namespace["P"])
    assert diagnostic.code == "AB101"
    assert "cannot be read" in diagnostic.message
    assert diagnostic.hint == "write the class in a file or a notebook cell"
    namespace["P"]().put(1, 2)  # it still runs as plain Python


def test_a_file_that_changed_after_import_is_no_source() -> None:
    with loaded(CONSOLE) as program:
        file = program.put.__wrapped__.__code__.co_filename  # type: ignore[attr-defined]
        linecache.cache[file] = (1, None, ["x = 1\n"], file)
        (diagnostic,) = ab.check(program)
    assert diagnostic.code == "AB101"
    assert "changed after it was imported" in diagnostic.message


@pytest.mark.parametrize("thing", [int, 3, "P", None, ab.Program], ids=str)
def test_what_is_no_program_is_refused(thing: object) -> None:
    with pytest.raises(TypeError, match=r"derives from ab\.Program"):
        ab.check(thing)


def test_an_instance_stands_for_its_class() -> None:
    with loaded(CONSOLE) as program:
        assert ab.compile(program()) == ab.compile(program)


def test_all_problems_are_told_in_one_go() -> None:
    source = """
import time
import anabranch as ab

class P(ab.Program):
    t: ab.Partitioned[ab.Table[int, int]]
    u: ab.Partitioned[ab.Table[float, int]]

    def one(self, k):
        self.t[k] = time.time()

    def two(self, k: int) -> int:
        print(k)
        x = self.t
        return self.t[k] + "a"
"""
    with loaded(source) as program:
        found = [(d.span.line, d.code) for d in ab.check(program)]
    assert found == [
        (7, "AB203"),
        (9, "AB106"),
        (9, "AB105"),
        (10, "AB504"),
        (13, "AB506"),
        (14, "AB303"),
        (15, "AB206"),
    ]
