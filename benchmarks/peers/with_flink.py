"""PyFlink, by SQL or by a keyed function of the DataStream API in Python, on two slots of a cluster in one JVM.

Tuned: objects are reused, state is on the heap, there are no checkpoints. SQL runs wholly in Java, with mini-batches
of a hundred thousand rows and aggregation in two phases. The function in Python has its state in `ValueState`, which
PyFlink caches, and sends nothing; it runs in the thread of its task (`python.execution-mode`), as one in a process
beside it asks the JVM for the state of every new key. Rows come from CSV files that Java reads, for both; nobody gets
the results while it is timed. The JVM is warm: after a job over all rows there is one over what is there at first and
one more over all, and the time of the former is taken off that of the latter, so that starting costs nothing. A window
is part of the key, as for anabranch. To look at what comes out, the same runs once more in batch mode, where Java
writes results to files: for PyFlink to hand them over took minutes. Options: `api`,
"sql" or "datastream".
"""

from __future__ import annotations

import os
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import pyarrow as pa
import pyarrow.csv as csv
from files import longer, two_folders
from pyflink.common import Configuration, Row, Types
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.functions import KeyedProcessFunction, RuntimeContext
from pyflink.datastream.state import ValueStateDescriptor
from pyflink.table import EnvironmentSettings, StreamTableEnvironment
from talk import Done, Spec, answer

SETTINGS = {
    "parallelism.default": "2",
    "pipeline.object-reuse": "true",
    "state.backend.type": "hashmap",
    "python.execution-mode": "thread",
    "python.executable": sys.executable,
    "python.fn-execution.bundle.size": "100000",
    "python.fn-execution.bundle.time": "1000",
    "python.state.cache-size": "1000000",
    "table.exec.mini-batch.enabled": "true",
    "table.exec.mini-batch.allow-latency": "1 s",
    "table.exec.mini-batch.size": "100000",
    "table.optimizer.agg-phase-strategy": "TWO_PHASE",
    "taskmanager.memory.managed.size": "512m",
}


SQL = {pa.int64(): "BIGINT", pa.float64(): "DOUBLE", pa.string(): "STRING"}
ROW = {pa.int64(): Types.LONG, pa.float64(): Types.DOUBLE, pa.string(): Types.STRING}


@dataclass(frozen=True)
class Task:
    """A workload in both languages: the columns of a row, the query, what Python does with a value."""

    columns: str
    query: str
    results: dict[str, pa.DataType]
    split: Callable[[Any], Iterator[tuple[Any, Any]]]
    key: Callable[[], Any]  # makes a type: once used, one cannot be sent to workers
    value: Callable[[], Any]
    step: Callable[[Any, Any], Any]


class Keep(KeyedProcessFunction):
    """Keeps a value for each key; sends it on only where it is asked to."""

    def __init__(self, task: Task, sends: bool) -> None:
        self.type, self.step, self.sends = task.value, task.step, sends

    def open(self, context: RuntimeContext) -> None:
        self.state = context.get_state(ValueStateDescriptor("value", self.type()))

    def process_element(self, pair: Any, context: Any) -> Iterator[Row]:
        value = self.step(self.state.value(), pair[1])
        self.state.update(value)
        if self.sends:
            key = pair[0]
            yield Row(*key, value) if isinstance(key, (tuple, Row)) else Row(key, value)


def environment(mode: str) -> StreamTableEnvironment:
    # The Python inside of the JVM does not know this environment by itself.
    os.environ["PYTHONPATH"] = os.pathsep.join([sysconfig.get_path("purelib"), str(Path(__file__).parent)])
    configuration = Configuration()
    for name, value in {**SETTINGS, "execution.runtime-mode": mode}.items():
        configuration.set_string(name, value)
    stream = StreamExecutionEnvironment.get_execution_environment(configuration)
    settings = EnvironmentSettings.in_batch_mode() if mode == "BATCH" else EnvironmentSettings.in_streaming_mode()
    return StreamTableEnvironment.create(stream, settings)


def prepare(task: Task, folder: str, out: str | None) -> StreamTableEnvironment:
    """With a table of what is `given`, and one that takes what is `found`: nowhere, or to files."""
    tables = environment("STREAMING" if out is None else "BATCH")
    columns = ", ".join(f"c{n} {SQL[type]}" for n, type in enumerate(task.results.values()))
    declare(tables, "given", task.columns, csv_in(folder))
    declare(tables, "found", columns, "'connector' = 'blackhole'" if out is None else csv_in(out))
    return tables


def declare(tables: StreamTableEnvironment, name: str, columns: str, connector: str) -> None:
    tables.execute_sql(f"DROP TEMPORARY TABLE IF EXISTS {name}")
    tables.execute_sql(f"CREATE TEMPORARY TABLE {name} ({columns}) WITH ({connector})")


def csv_in(folder: str) -> str:
    return f"'connector' = 'filesystem', 'path' = 'file://{folder}', 'format' = 'csv'"


def by_sql(task: Task, folder: str, out: str | None) -> float:
    tables = prepare(task, folder, out)
    start = perf_counter()
    tables.execute_sql(f"INSERT INTO found {task.query}").wait()
    return perf_counter() - start


def by_datastream(task: Task, folder: str, out: str | None) -> float:
    tables = prepare(task, folder, out)
    start = perf_counter()
    rows = tables.to_data_stream(tables.from_path("given"))
    pairs = rows.flat_map(task.split, Types.TUPLE([task.key(), task.value()]))
    keyed = pairs.key_by(lambda pair: pair[0], task.key())
    sent = Types.ROW([ROW[type]() for type in task.results.values()])
    kept = keyed.process(Keep(task, out is not None), sent)
    tables.from_data_stream(kept).execute_insert("found").wait()
    return perf_counter() - start


def measured(spec: Spec, task: Task) -> Done:
    run = {"sql": by_sql, "datastream": by_datastream}[spec.options["api"]]
    parent = Path(tempfile.mkdtemp(dir=Path(spec.out).parent))
    before, everything = two_folders(spec, parent, header=False)
    seconds = longer(lambda: run(task, before, None), lambda: run(task, everything, None))

    def result() -> pa.Table:
        out = parent / "results"
        run(task, everything, str(out))
        names = csv.ReadOptions(column_names=list(task.results))
        types = csv.ConvertOptions(column_types=task.results)
        files = [path for path in out.rglob("*") if path.is_file() and path.stat().st_size]
        found = pa.concat_tables([csv.read_csv(path, names, convert_options=types) for path in files])
        return last_of(found)

    return Done(seconds, result)


def last_of(found: pa.Table) -> pa.Table:
    """The function in Python tells each value that a key has had: what counts is the last."""
    *keys, value = found.column_names
    return found.group_by(keys, use_threads=False).aggregate([(value, "last")]).rename_columns([*keys, value])


def keyed_sum(spec: Spec) -> Done:
    task = Task(
        "`key` BIGINT, `value` DOUBLE",
        "SELECT `key`, SUM(`value`) FROM given GROUP BY `key`",
        {"key": pa.int64(), "value": pa.float64()},
        lambda row: [(row[0], row[1])],
        Types.LONG,
        Types.DOUBLE,
        lambda old, value: (old or 0.0) + value,
    )
    return measured(spec, task)


def word_count(spec: Spec) -> Done:
    size = spec.parameters["window"]
    task = Task(
        "`time` BIGINT, line STRING",
        f"SELECT `time` / {size}, word, COUNT(*) FROM given CROSS JOIN UNNEST(SPLIT(line, ' ')) AS w (word) "
        f"GROUP BY `time` / {size}, word",
        {"window": pa.int64(), "word": pa.string(), "value": pa.int64()},
        lambda row: [((row[0] // size, word), 1) for word in row[1].split()],
        lambda: Types.TUPLE([Types.LONG(), Types.STRING()]),
        Types.LONG,
        lambda old, value: (old or 0) + value,
    )
    return measured(spec, task)


def key_value(spec: Spec) -> Done:
    task = Task(
        "`key` STRING, `value` BIGINT",
        "SELECT `key`, MAX(`value`) FROM given GROUP BY `key`",  # values grow: the largest is the last, in any order
        {"key": pa.string(), "value": pa.int64()},
        lambda row: [(row[0], row[1])],
        Types.STRING,
        Types.LONG,
        lambda old, value: value if old is None or value > old else old,
    )
    return measured(spec, task)


if __name__ == "__main__":
    answer({"keyed_sum": keyed_sum, "word_count": word_count, "key_value": key_value}, ("apache-flink",))
