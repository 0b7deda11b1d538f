"""What user code raises arrives as itself, with one note on where, and of the request nothing stays."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pyarrow as pa
import pytest

import anabranch as ab
from anabranch.lang.spec import describe
from anabranch.testing.outcomes import canonical
from tests.conformance.engines import Engine, Twins
from tests.conformance.failing import CASES, LINES, Case, Failing, OutOfStock

Rows = list[tuple[Any, ...]]
SIZE = 24
NOTE = re.compile(r"in entry '(\w+)', row (\d+), at failing\.py:\d+: (.+)")


@pytest.fixture(scope="module")
def twins(engine: Engine) -> Iterator[Twins]:
    started = Twins.start(engine, Failing)
    yield started
    started.run.stop()


def raised(call: Callable[[Any], Any], entry: Any) -> BaseException:
    try:
        result = call(entry)
    except BaseException as error:
        return error
    raise AssertionError(f"did not raise, gave {result!r}")


def told(error: BaseException) -> tuple[Any, ...]:
    """All that a caller sees of an exception."""
    cause = error.__cause__
    return type(error), error.args, error.__notes__, cause and (type(cause), cause.args)


def assert_fails(twins: Twins, case: Case, row: int, call: Callable[[Any], Any]) -> None:
    """Both raise the same, of the case, with one note that names the row and the line; nothing changes."""
    before = twins.plain.contents()
    error = raised(call, getattr(twins.run, case.entry))
    assert type(error) is case.error
    if case.args:
        assert error.args == case.args
    [note] = error.__notes__
    place = NOTE.fullmatch(note)
    assert place is not None and place[1] == case.entry and int(place[2]) == row and case.line in place[3], note
    assert told(error) == told(raised(call, getattr(twins.plain, case.entry)))
    assert twins.plain.contents() == before == twins.run.contents()


def assert_works(twins: Twins, case: Case) -> None:
    rows = [case.good] * 3
    run, plain = getattr(twins.run, case.entry), getattr(twins.plain, case.entry)
    assert canonical(run.many(rows)) == canonical(plain.many(rows))
    assert canonical(run(*case.good)) == canonical(plain(*case.good))
    assert twins.same_contents()


def batch(case: Case, *positions: int) -> Rows:
    return [case.bad if i in positions else case.good for i in range(SIZE)]


def columns(case: Case, rows: Rows) -> dict[str, list[Any]]:
    names = [p.name for p in describe(Failing).entries[case.entry].parameters]
    return {name: list(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}


each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.entry}-{case.error.__name__}")


@each_case
def test_a_call_fails(twins: Twins, case: Case) -> None:
    assert_fails(twins, case, 0, lambda entry: entry(*case.bad))
    assert_works(twins, case)


@each_case
def test_a_row_fails(twins: Twins, case: Case) -> None:
    """Rows before it are undone as well, in whatever way the batch is given."""
    for i, position in enumerate((0, 1, SIZE // 2, SIZE - 2, SIZE - 1)):
        rows = batch(case, position)
        data = (rows, columns(case, rows), pa.table(columns(case, rows)))[i % 3]
        assert_fails(twins, case, position, lambda entry, data=data: entry.many(data))
    assert_works(twins, case)


@each_case
def test_of_many_failing_rows_the_lowest_counts(twins: Twins, case: Case) -> None:
    assert_fails(twins, case, 3, lambda entry: entry.many(batch(case, *range(3, SIZE))))
    assert_fails(twins, case, 7, lambda entry: entry.many(batch(case, 7, SIZE - 1)))
    assert_works(twins, case)


@each_case
def test_of_a_stream_the_batches_before_stay(twins: Twins, case: Case) -> None:
    good = batch(case)
    run, plain = getattr(twins.run, case.entry), getattr(twins.plain, case.entry)
    errors = [raised(lambda entry: entry.many(iter([good, batch(case, 5), good])), entry) for entry in (run, plain)]
    assert told(errors[0]) == told(errors[1])
    assert "row 5, at" in errors[0].__notes__[0]
    assert twins.same_contents()


def test_every_case_is_of_its_kind() -> None:
    """Straight entries, fan-outs, winding ones and those that go everywhere are all there."""
    graph = ab.compile(Failing)
    winding = {e.name for e in graph.entries if e.winding is not None}
    assert {"take_all", "swap", "pay", "close"} <= winding
    assert winding.isdisjoint({"take", "buy", "helped", "share", "worth", "count", "reset", "audit", "rule", "forget"})
    assert {case.entry for case in CASES + LINES} == {e.name for e in graph.entries}


# Engines that do not name the line that the plain run names.
GAPS = {
    ("sequential", "assert_in_lines"): "it names the line of the assert, Python that of the condition",
    ("sequential", "result_of_another"): "it names the last line of the inner entry, Python that of the call",
}


@pytest.mark.parametrize("case", LINES, ids=lambda case: case.entry)
def test_lines(request: pytest.FixtureRequest, twins: Twins, case: Case) -> None:
    engine = request.node.callspec.id.partition("-")[0]
    if (engine, case.entry) in GAPS:
        request.applymarker(pytest.mark.xfail(reason=GAPS[engine, case.entry]))
    assert_fails(twins, case, 0, lambda entry: entry(*case.bad))


@pytest.mark.parametrize(
    ("entry", "rows", "row", "error"),
    [
        ("take", [("gin", 4)] * 3, 2, OutOfStock("gin", -2)),
        ("take", [("ale", 9), ("gin", 10), ("ale", 2), ("gin", 1)], 2, OutOfStock("ale", -1)),
        ("buy", [(i, "gin", 3) for i in range(8)], 3, OutOfStock("gin", 3)),
        ("take_all", [(i, ["gin", "ale"]) for i in range(8)], 3, OutOfStock("gin", 6)),
        ("swap", [("gin", "ale", 6), ("ale", "gin", 16), ("ale", "gin", 1)], 2, OutOfStock("ale", -1)),
        ("pay", [(10, 11, 60), (11, 10, 160), (11, 10, 1)], 2, ValueError("too poor", 11, 0)),
    ],
)
def test_a_row_fails_because_of_the_rows_before_it(
    twins: Twins, entry: str, rows: Rows, row: int, error: Exception
) -> None:
    case = Case(entry, rows[0], rows[row], type(error), error.args, "raise ")
    assert_fails(twins, case, row, lambda entry: entry.many(rows))


def test_rows_that_fail_in_different_ways_at_different_places(twins: Twins) -> None:
    """The lowest row counts, not the place that is reached first."""
    rows = [(1, "tea", 0)] * 9 + [(1, "rum", 11), (100, "tea", 0)] + [(1, "tea", 0)] * 9
    late = Case("buy", rows[0], rows[9], OutOfStock, ("rum", 11), "raise OutOfStock(sku, n)")
    assert_fails(twins, late, 9, lambda entry: entry.many(rows))
    early = Case("buy", rows[0], rows[10], KeyError, (100,), "self.coins[user] -= 1")
    assert_fails(twins, early, 9, lambda entry: entry.many(rows[::-1]))


def test_requests_made_at_once_fail_by_themselves(twins: Twins) -> None:
    """Half of them fail; what the others did is there, once, and each caller gets its own error."""

    def ask(i: int) -> tuple[str, Any]:
        user = i % 16
        entry, good, bad = [
            ("spend", [(user, 1), (user, 2)], [(user, 1), (100 + i, 1)]),
            ("share", [("tea", [user])], [("tea", [user, 100 + i])]),
            ("pay", [(user, (user + 1) % 16, 0)], [(user, (user + 1) % 16, 10**15)]),
        ][i % 3]
        rows = bad if i % 2 else good
        try:
            return "gave", (entry, rows, getattr(twins.run, entry).many(rows))
        except (KeyError, ValueError) as error:
            return "raised", (entry, rows, error)

    with ThreadPoolExecutor(twins.run.threads) as pool:
        outcomes = list(pool.map(ask, range(80)))
    assert [kind for kind, _ in outcomes] == ["gave", "raised"] * 40
    for i, (kind, (entry, rows, outcome)) in enumerate(outcomes):
        if kind == "gave":
            getattr(twins.plain, entry).many(rows)
            continue
        assert outcome.args == (100 + i,) or outcome.args[:2] == ("too poor", i % 16)
        [note] = outcome.__notes__
        assert note.startswith(f"in entry {entry!r}, row {len(rows) - 1}, at ")
    assert twins.same_contents()
