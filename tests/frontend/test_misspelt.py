"""A misspelt name is told with the one that was probably meant: in diagnostics, in calls and at run time."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import pytest

import anabranch as ab
from anabranch.demo import Recommender
from anabranch.lang.similar import did_you_mean
from tests.frontend.mutate import programs_in
from tests.frontend.plant import misspelt_methods, misspelt_names, misspelt_states
from tests.programs.load import good

SHORT = 3  # `ix` may mean anything
STEP = 8


def misspelt(kind: Callable[[ast.Module], Any]) -> list[tuple[str, str]]:
    """Sources with one letter too many in a name, and the name as it should be."""
    found = []
    for number, path in enumerate(good()):
        tree = ast.parse(ast.unparse(ast.parse(path.read_text(encoding="utf-8"))))
        for place, node in enumerate(kind(tree)):
            name = node.func.attr if isinstance(node, ast.Call) else getattr(node, "attr", getattr(node, "id", ""))
            if len(name) > SHORT and place % STEP == number % STEP:
                found.append((ast.unparse(tree), name[:-1]))
    return found


@pytest.mark.parametrize("kind", [misspelt_states, misspelt_methods, misspelt_names], ids=lambda k: k.__name__)
def test_diagnostics_ask_for_the_name_that_was_meant(kind: Callable[[ast.Module], Any]) -> None:
    found = misspelt(kind)
    assert len(found) > 10
    for source, name in found:
        with programs_in(source) as programs:
            (told,) = [d for program in programs for d in ab.check(program) if d.severity == "error"]
        assert "did you mean `" in told.hint and f"{name}`?" in told.hint, str(told)


def test_an_unknown_annotation_is_asked_about() -> None:
    source = """
from __future__ import annotations
import anabranch as ab

class Reading:
    pass

class P(ab.Program):
    seen: ab.Partitioned[ab.Table[str, int]]

    def act(self, k: str, r: Reeding) -> None:
        self.seen[k] = 1
"""
    with programs_in(source) as programs:
        (told,) = [d for d in ab.check(programs[0]) if d.severity == "error"]
    assert (told.code, told.hint) == ("AB204", "did you mean `Reading`?")


@pytest.fixture(scope="module")
def app() -> Any:
    with ab.run(Recommender(), workers=1) as running:
        yield running


KEYWORDS: dict[str, tuple[Callable[[], Any], str]] = {
    "run": (lambda: ab.run(Recommender(), worker=2), "run() has no parameter 'worker': did you mean `workers`?"),  # type: ignore[call-arg]
    "checkpoint settings": (
        lambda: ab.run(Recommender(), checkpoint="/nowhere", snapshot_evry=1),  # type: ignore[call-arg]
        "run() has no parameter 'snapshot_evry': did you mean `snapshot_every`?",
    ),
    "connect": (lambda: ab.connect("x:1", tokn="y"), "connect() has no parameter 'tokn': did you mean `token`?"),  # type: ignore[call-arg]
    "Table": (lambda: ab.Table(defalt=0), "Table() has no parameter 'defalt': did you mean `default`?"),  # type: ignore[call-arg]
    "Autoscale": (lambda: ab.Autoscale(mx=2), "Autoscale() has no parameter 'mx': did you mean `max`?"),  # type: ignore[call-arg]
    "partial": (
        lambda: ab.partial(ab.Vector(), merg=ab.add),
        "partial() has no parameter 'merg': did you mean `merge`?",
    ),  # type: ignore[call-arg]
    "check": (lambda: ab.check(Recommender, teir="x"), "check() has no parameter 'teir': did you mean `tier`?"),  # type: ignore[call-arg]
    "one unlike all": (
        lambda: ab.connect("x:1", colour="y"),  # type: ignore[call-arg]
        "connect() has no parameter 'colour': it takes address, token, tls",
    ),
}


@pytest.mark.parametrize("case", KEYWORDS)
def test_a_mistyped_keyword_is_asked_about(case: str) -> None:
    call, message = KEYWORDS[case]
    with pytest.raises(TypeError) as caught:
        call()
    assert str(caught.value) == message


def test_methods_of_an_app_ask_too(app: Any) -> None:
    for call, message in (
        (lambda: app.scale(worker=2), "App.scale() has no parameter 'worker': did you mean `workers`?"),
        (lambda: app.fork(chekpoint="x"), "App.fork() has no parameter 'chekpoint': did you mean `checkpoint`?"),
        (lambda: app.serve(prt=1), "App.serve() has no parameter 'prt': did you mean `port`?"),
    ):
        with pytest.raises(TypeError) as caught:
            call()
        assert str(caught.value) == message


def test_entries_states_and_parameters_of_an_app(app: Any) -> None:
    with app.serve() as served, ab.connect(served.address, served.token) as far:
        for each in (app, far):
            with pytest.raises(AttributeError, match=r"entries are rate, recommend; did you mean `rate`\?"):
                _ = each.rat
            with pytest.raises(KeyError, match=r"there is no entry 'rat': .* did you mean `rate`\?"):
                _ = each.entries["rat"]
            with pytest.raises(AttributeError, match=r"states are ratings, together; did you mean `ratings`\?"):
                _ = each.state.ratngs
            with pytest.raises(KeyError, match=r"did you mean `ratings`\?"):
                _ = each.state["ratngs"]
            with pytest.raises(AttributeError, match=r"did you mean `state`\?"):
                _ = each.stat


def test_parameters_of_an_entry(app: Any) -> None:
    with app.serve() as served, ab.connect(served.address, served.token) as far:
        for each in (Recommender(), app, far):
            with pytest.raises(ab.BadInput, match=r"column 'usr': not a parameter; .*; did you mean `user`\?"):
                each.rate(usr=1, item=2, rating=3.0)
            with pytest.raises(ab.BadInput, match=r"column 'usr': no such column; .*; did you mean `user`\?"):
                each.rate.many({"usr": [1], "item": [2], "rating": [3.0]})
            with pytest.raises(ab.BadInput, match=r"row 0, column 'usr': no such column; .*; did you mean `user`\?"):
                each.rate.many([{"usr": 1, "item": 2, "rating": 3.0}])


def test_entries_of_a_plain_program() -> None:
    with pytest.raises(KeyError, match=r"there is no entry 'rat': .* did you mean `rate`\?"):
        _ = Recommender().entries["rat"]


def test_a_name_of_the_package() -> None:
    with pytest.raises(AttributeError, match=r"did you mean `everywhere`\?"):
        _ = ab.everywher


def test_what_is_spelt_right_in_another_case_is_meant() -> None:
    assert did_you_mean("User", ["user", "item"]) == "did you mean `user`?"
    assert did_you_mean("user", ["user"]) == ""
