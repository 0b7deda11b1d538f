"""What `ab.check` gives: a list, which prints as text and shows itself in notebooks."""

from __future__ import annotations

import anabranch as ab
from tests.frontend.mutate import programs_in

SOURCE = """
import anabranch as ab

class Shop(ab.Program):
    stock: ab.Partitioned[ab.Table[str, int]] = ab.Table(default=0)

    def take(self, article: str) -> bool:
        print(article)
        return self.stock[article] < 1 and self.stok[article] > 2
"""
CLEAN = SOURCE.replace("        print(article)\n", "").replace("stok", "stock")


def test_nothing_found_is_an_empty_list() -> None:
    with programs_in(CLEAN) as programs:
        found = ab.check(programs[0])
    assert found == [] and not found and isinstance(found, list)
    assert (str(found), repr(found)) == ("[]", "[]")
    assert found._repr_html_() == "<p>no diagnostics</p>"


def test_it_prints_as_its_findings_do() -> None:
    with programs_in(SOURCE) as programs:
        found = ab.check(programs[0])
        assert len(found) == 2 and found[0].code == "AB506"
        assert str(found) == f"{found[0]}\n{found[1]}"
        assert "error AB506: 'print' is input or output" in str(found)
        assert "        print(article)\n            ^^^^^^^^^^^^^^\n  = read before" in str(found)


def test_a_notebook_shows_each_with_its_line_and_no_markup_of_the_user() -> None:
    with programs_in(SOURCE) as programs:
        shown = ab.check(programs[0])._repr_html_()
    assert shown.count("<pre") == shown.count("</pre>") == 2
    assert "<b>&lt;mutated_program&gt;:8:9: error AB506" in shown
    assert "self.stock[article] &lt; 1 and" in shown
