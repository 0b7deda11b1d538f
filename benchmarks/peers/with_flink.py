"""PyFlink, by SQL or by a keyed function of the DataStream API in Python, on two slots of a cluster in one JVM.

Tuned: objects are reused, state is on the heap, there are no checkpoints. SQL runs wholly in Java, with mini-batches
of a hundred thousand rows and aggregation in two phases. The function in Python has its state in `ValueState`, which
PyFlink caches, and sends nothing; it runs in the thread of its task (`python.execution-mode`), as one in a process
beside it asks the JVM for the state of every new key. Rows come from CSV files that Java reads, for both; nobody gets
the results while it is timed. The JVM is warm: after a job over all rows there is one over what is there at first and
one more over all, and the time of the former is taken off that of the latter, so that starting costs nothing. A window
is part of the key, as for anabranch. To look at what the query gives, it runs once more in batch mode, where Java
writes each result once: PyFlink takes many minutes to hand over all changes of millions of results. Options: `api`,
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
from pyflink.table import EnvironmentSettings, StreamTableEnvironment, TableEnvironment
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
            yield Row(pair[0], value)


Results = dict[Any, Any] | pa.Table


def configured(mode: str) -> Configuration:
    # The Python inside of the JVM does not know this environment by itself.
    os.environ["PYTHONPATH"] = os.pathsep.join([sysconfig.get_path("purelib"), str(Path(__file__).parent)])
    configuration = Configuration()
    for name, value in {**SETTINGS, "execution.runtime-mode": mode}.items():
        configuration.set_string(name, value)
    return configuration


def environment() -> StreamTableEnvironment:
    stream = StreamExecutionEnvironment.get_execution_environment(configured("STREAMING"))
    return StreamTableEnvironment.create(stream, EnvironmentSettings.in_streaming_mode())


def declare(tables: TableEnvironment, name: str, columns: str, connector: str) -> None:
    tables.execute_sql(f"DROP TEMPORARY TABLE IF EXISTS {name}")
    tables.execute_sql(f"CREATE TEMPORARY TABLE {name} ({columns}) WITH ({connector})")


def csv_in(folder: str) -> str:
    return f"'connector' = 'filesystem', 'path' = 'file://{folder}', 'format' = 'csv'"


def by_sql(task: Task, folder: str, collect: bool) -> tuple[float, Results]:
    if collect:
        settings = EnvironmentSettings.new_instance().with_configuration(configured("BATCH"))
        tables, out = TableEnvironment.create(settings.build()), f"{folder}-results"
    else:
        tables, out = environment(), None
    declare(tables, "given", task.columns, csv_in(folder))
    columns = ", ".join(f"c{n} {sql_type(type)}" for n, type in enumerate(task.results.values()))
    declare(tables, "found", columns, "'connector' = 'blackhole'" if out is None else csv_in(out))
    start = perf_counter()
    tables.execute_sql(f"INSERT INTO found {task.query}").wait()
    return perf_counter() - start, {} if out is None else read_csv(out, task.results)


def read_csv(folder: str, types: dict[str, pa.DataType]) -> pa.Table:
    names, converted = csv.ReadOptions(column_names=list(types)), csv.ConvertOptions(column_types=types)
    files = [path for path in Path(folder).rglob("*") if path.is_file() and path.stat().st_size]
    return pa.concat_tables([csv.read_csv(path, names, convert_options=converted) for path in files])


def sql_type(type: pa.DataType) -> str:
    return {pa.int64(): "BIGINT", pa.float64(): "DOUBLE", pa.string(): "STRING"}[type]


def by_datastream(task: Task, folder: str, collect: bool) -> tuple[float, Results]:
    tables = environment()
    declare(tables, "given", task.columns, csv_in(folder))
    start = perf_counter()
    rows = tables.to_data_stream(tables.from_path("given"))
    pairs = rows.flat_map(task.split, Types.TUPLE([task.key(), task.value()]))
    keyed = pairs.key_by(lambda pair: pair[0], task.key())
    kept = keyed.process(Keep(task, collect), Types.ROW([task.key(), task.value()]))
    found: dict[Any, Any] = {}
    with kept.execute_and_collect() as results:  # of which there are none while it is timed
        for key, value in results:
            found[tuple(key) if isinstance(key, (tuple, Row)) else (key,)] = value
    return perf_counter() - start, found


def measured(spec: Spec, task: Task) -> Done:
    run = {"sql": by_sql, "datastream": by_datastream}[spec.options["api"]]
    parent = Path(tempfile.mkdtemp(dir=Path(spec.out).parent))
    before, everything = two_folders(spec, parent, header=False)
    seconds = longer(lambda: run(task, before, False)[0], lambda: run(task, everything, False)[0])

    def result() -> pa.Table:
        found = run(task, everything, True)[1]
        if isinstance(found, pa.Table):
            return found
        rows = [(*key, value) for key, value in found.items()]
        columns = zip(*rows, strict=True)
        arrays = [pa.array(column, type) for column, type in zip(columns, task.results.values(), strict=True)]
        return pa.table(arrays, list(task.results))

    return Done(seconds, result)


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
