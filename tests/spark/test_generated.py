"""Random programs on Spark: their batches as rows of this process, and as DataFrames."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import anabranch as ab
from anabranch.engines.spark.tasks import SparkTasks
from anabranch.lang.arrow import arrow_array
from anabranch.lang.spec import describe
from anabranch.testing.outcomes import failure, state_contents
from tests.generator.apps import check_apart
from tests.generator.choices import SeededChoices
from tests.generator.inputs import Batch, generate_requests
from tests.generator.plain import answer, loaded, rows, states_of
from tests.generator.seeds import generate_seed
from tests.spark.tools import as_frame, values

CHUNKS, SIZE, SIZE_FED = 4, 3, 2  # 20 programs
FIRST, FIRST_FED = 9_000_000, 9_500_000  # not those of the other engines


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_random_programs(spark: SparkSession, chunk: int) -> None:
    for seed in range(FIRST + chunk * SIZE, FIRST + (chunk + 1) * SIZE):
        check_apart(seed, lambda workers: SparkTasks(spark.sparkContext, workers))


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_random_programs_fed_with_dataframes(spark: SparkSession, chunk: int) -> None:
    for seed in range(FIRST_FED + chunk * SIZE_FED, FIRST_FED + (chunk + 1) * SIZE_FED):
        check_fed(spark, seed)


def check_fed(spark: SparkSession, seed: int) -> None:
    """The program of a seed, its batches as DataFrames, against the plain run with the same batches as tables."""
    tier = "compiled" if seed % 5 == 3 else "auto"
    generated = generate_seed(seed)
    requests = list(generate_requests(SeededChoices(f"inputs of {seed}"), generated))
    try:
        with loaded(generated.source) as program:
            plain, steady = program(), "grouping-sensitive" not in generated.features
            with ab.run(program(), on=spark, workers=2, tier=tier) as app:
                for request in requests:
                    table = as_table(program, request) if isinstance(request, Batch) else None
                    if table is None:
                        found, expected = answer(program, app, request), answer(program, plain, request)
                    else:
                        given = as_frame(spark, table)
                        found = fed(spark, getattr(app, request.entry), given)
                        expected = fed(spark, getattr(plain, request.entry), given.toArrow())
                    assert found == expected or not steady, str(request)
                for name, state in states_of(plain).items() if steady else ():
                    if name in merged(app, program):
                        assert state_contents(app.state[name].copy()) == state_contents(state), name
    except Exception as error:
        error.add_note(f"seed {seed}: python -m tests.generator --seed {seed} --run")
        raise


def fed(spark: SparkSession, entry: Any, data: Any) -> Any:
    try:
        found = entry.many(data)
        return values(as_frame(spark, found) if isinstance(found, pa.Table) else found)
    except Exception as error:
        return failure(error)


def as_table(program: type[ab.Program], batch: Batch) -> pa.Table | None:
    """The rows of a batch as columns; None if the entry has none."""
    parameters = describe(program).entries[batch.entry].parameters
    given = [row if isinstance(row, tuple) and not hasattr(row, "_fields") else (row,) for row in rows(program, batch)]
    columns = {p.name: arrow_array(p.type, [row[i] for row in given]) for i, p in enumerate(parameters)}
    return pa.table(columns) if columns else None


def merged(app: Any, program: type[ab.Program]) -> set[str]:
    """The states that are one value wherever their parts are."""
    merges = program().__anabranch_merges__
    return {name for name in app.state if merges.get(name) is not None or name not in merges}
