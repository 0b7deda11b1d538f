"""A drill: a Spark task that holds state is killed while a stream is being counted, and the answers stay right.

Shows: an app on Spark that is saved, fed by Structured Streaming, read while a worker is away. It needs pyspark and a
Java, and runs in a local session only: it kills a worker by its process number, which means nothing on other machines.

    python examples/spark_failover.py
"""

import logging
import os
import signal
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import anabranch as ab

PAGES = 100
ROWS = 2_000  # in a micro-batch
BATCHES = 12


# not pure, on purpose: it tells which process answers. Do not do this in a program of yours.
@ab.pure
def process_of(page: int) -> int:
    return os.getpid()


class Visits(ab.Program):
    counts: ab.Partitioned[ab.Table[int, int]] = ab.Table(default=0)
    asked: ab.Partitioned[ab.Table[int, int]] = ab.Table(default=0)

    def visit(self, page: int) -> None:
        self.counts[page] += 1

    def visits(self, page: int) -> int:
        return self.counts[page]

    def where(self, page: int) -> int:
        """The process that has the page. It writes, so that no other can answer."""
        self.asked[page] += 1
        return process_of(page)


def wait_for(app: Any, batches: int) -> None:
    """Until so many micro-batches are counted: every one of them has visits of page 0."""
    while app.visits(0) < batches * ROWS // PAGES:
        time.sleep(0.05)


def drill(app: Any) -> None:
    """Kill the worker that has page 0; see what the pages of the other one answer meanwhile."""
    killed = app.where(0)
    others = [page for page in range(PAGES) if app.where(page) != killed]
    print(f"{app.visits(0) * PAGES:,} visits counted; process {killed} has page 0 and is killed now")
    begun, answered = time.perf_counter(), 0
    os.kill(killed, signal.SIGKILL)
    with ThreadPoolExecutor(1) as pool:
        back = pool.submit(app.where, 0)  # is answered when there is a worker again
        while not back.done():
            app.visits(others[answered % len(others)])
            answered += 1
    assert back.result() != killed
    print(f"process {back.result()} has it {time.perf_counter() - begun:.1f} s later, with all that was counted")
    print(f"meanwhile the other worker answered {answered} questions for the visits of its pages")


def check(app: Any) -> None:
    """Micro-batches were counted whole and once: of the first n numbers, each page has those that end in it."""
    counts = dict(app.state.counts.scan())
    batches, rest = divmod(sum(counts.values()), ROWS)
    assert rest == 0 and counts == dict.fromkeys(range(PAGES), batches * ROWS // PAGES), counts
    print(f"{batches * ROWS:,} visits in {batches} micro-batches, each counted once")


def main() -> None:
    """Count a stream, kill a worker in the middle of it, and compare with what was sent."""
    from pyspark.sql import SparkSession
    from pyspark.sql.functions import col

    logging.basicConfig(format="log: %(message)s", stream=sys.stdout)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    spark = SparkSession.builder.master("local[4]").config("spark.ui.enabled", "false").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")  # Spark's own log has a long story of the lost process
    numbers = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", ROWS).load()
    stream = numbers.select((col("value") % PAGES).alias("page"))
    with tempfile.TemporaryDirectory() as folder:
        with ab.run(Visits(), workers=2, on=spark, checkpoint=Path(folder, "state")) as app:
            query = app.visit.stream(stream, checkpointLocation=str(Path(folder, "stream")))
            wait_for(app, BATCHES // 3)
            drill(app)
            wait_for(app, BATCHES)
            query.stop()
            check(app)
        with ab.run(Visits(), workers=3, checkpoint=Path(folder, "state")) as app:
            print("restored without Spark, on three threads:", end=" ")
            check(app)
    spark.stop()


# What the tests call, one after the other, on every engine.
CALLS: list[tuple[str, tuple[object, ...]]] = [
    ("visits", (1,)),
    ("visit", (1,)),
    ("visit", (2,)),
    ("visit", (1,)),
    ("visits", (1,)),
    ("visit", ("one",)),  # BadInput: no int
]


if __name__ == "__main__":
    main()
