"""The process that is killed, or loses what it has started: `python -m tests.kills.driver PLAN`.

It runs the app with clients until it reads a line or the end of its input, and says on its output how far it is. When
it starts again it first compares what was restored with what the clients were answered.
"""

from __future__ import annotations

import faulthandler
import json
import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from random import Random
from typing import Any

import anabranch as ab
from tests.kills.client import Client, Wrong
from tests.kills.oracle import batches_in, compare, expected, recall
from tests.kills.plan import CLUSTER, THREADS, Plan
from tests.kills.requests import filling, stream_batch
from tests.kills.store import Store

PACE = 0.4  # seconds between two batches of the stream
AHEAD = 3  # batches that wait
MOST = 3  # workers: on Spark one slot is left for feeding tasks
EQUAL, WRONG, ENDED, FAILED = 0, 3, 4, 5  # how this process ends


def say(what: str, told: Any = None) -> None:
    print(json.dumps([what, told]), flush=True)


class Stream:
    """Files that Spark reads, one in each micro-batch."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        plan.files.mkdir(exist_ok=True)

    @property
    def written(self) -> int:
        return len(list(self._plan.files.glob("*.json")))

    @property
    def done(self) -> int:
        """Batches that Spark has written down as done."""
        return len(list((self._plan.stream / "commits").glob("[0-9]*")))

    def write(self) -> None:
        number = self.written
        path, time = self._plan.files / f"{number:06}.json", 1_700_000_000 + number
        new = path.with_suffix(".new")
        new.write_text("".join(json.dumps(row) + "\n" for row in stream_batch(self._plan.seed, number)))
        os.utime(new, (time, time))  # Spark reads files in the order of their times
        new.rename(path)

    def start(self, session: Any, app: Any) -> Any:
        source = session.readStream.schema("item long, by long").option("maxFilesPerTrigger", 1)
        rows = source.option("pathGlobFilter", "*.json").json(str(self._plan.files)).repartition(2)
        return app.count.stream(rows, checkpointLocation=str(self._plan.stream))

    def run(self, query: Any, over: threading.Event) -> None:
        while not over.wait(PACE):
            if self.written - self.done < AHEAD:
                self.write()
            if query.exception() is not None:
                raise query.exception()
        query.processAllAvailable()
        query.stop()


@contextmanager
def session_of(plan: Plan) -> Iterator[Any]:
    """The Spark session of a plan, if it has one."""
    if not plan.on_spark:
        yield None
        return
    from tests.spark.conftest import CLUSTER as ON_CLUSTER
    from tests.spark.conftest import RETRYING, Host

    host = Host(plan.home / "spark")
    session = host.give(ON_CLUSTER if plan.hosts == CLUSTER else RETRYING)
    say("spark", session.sparkContext.applicationId)
    yield session
    host.stop()  # where something has failed, the JVM ends with this process


def start(plan: Plan, session: Any) -> Any:
    where: dict[str, Any] = {"on": session} if plan.on_spark else {"hosts": plan.hosts}
    if plan.hosts == THREADS:
        where = {}
    return ab.run(
        Store(),
        workers=plan.workers,
        tier=plan.tier,
        checkpoint=plan.location,
        snapshot_every=plan.every,
        **where,
    )


def check(app: Any, plan: Plan, clients: list[Client]) -> None:
    """What is there is what was answered, and what was in flight is there or not, whole."""
    if not plan.is_filled.exists():
        found = len(app.state.notes.copy())
        if found not in (0, plan.filled):
            raise Wrong(f"of the {plan.filled} first notes {found} are there")
        return
    for client in clients:
        client.look(app)
    stream = Stream(plan)
    batches = batches_in(app, stream.done, stream.written)
    compare(app, expected(clients, plan.seed, plan.filled, batches))


def fill(app: Any, plan: Plan) -> None:
    if not plan.is_filled.exists():
        notes = filling(plan.filled)
        app.state.notes.load({"key": list(notes), "value": list(notes.values())})
        plan.is_filled.touch()


def scale(app: Any, over: threading.Event) -> None:
    """Other workers, again and again."""
    chance, moves = Random(), 0
    while not over.wait(chance.uniform(0.1, 2.0)):
        say("scaling", moves)
        app.scale(workers=chance.randint(1, MOST))
        moves += 1
        say("scaled", moves)


def frame_of(session: Any) -> Any:
    return lambda rows: session.createDataFrame(rows, "client long, number long, k long, n long").coalesce(2)


def run(plan: Plan, session: Any) -> None:
    clients = recall(plan.home, plan.seed, plan.filled, plan.on_spark)
    with start(plan, session) as app:
        say("started", str(app.recovery))
        check(app, plan, clients)
        fill(app, plan)
        if app.recovery is not None:
            say("settled", [told for client in clients if (told := client.settle(app))])
        over = threading.Event()
        news: SimpleQueue[BaseException | None] = SimpleQueue()
        work = [lambda client=client: client.run(app, over, frame_of(session)) for client in clients]
        work.append(lambda: scale(app, over))
        if session is not None:
            stream = Stream(plan)
            query = stream.start(session, app)
            work.append(lambda: stream.run(query, over))
        threads = [threading.Thread(target=_told, args=(news, each), daemon=True) for each in work]
        for thread in threads:
            thread.start()
        threading.Thread(target=_told, args=(news, sys.stdin.readline), daemon=True).start()
        say("ready")
        if (error := news.get()) is not None:
            raise error
        over.set()
        for _ in threads:
            if (error := news.get()) is not None:
                raise error
        written = Stream(plan).written
        compare(app, expected(clients, plan.seed, plan.filled, batches_in(app, written, written)))


def _told(news: SimpleQueue[BaseException | None], work: Any) -> None:
    try:
        work()
    except BaseException as error:
        news.put(error)
    else:
        news.put(None)


def main() -> int:
    faulthandler.register(signal.SIGUSR1)
    plan = Plan.of(sys.argv[1])
    try:
        with session_of(plan) as session:
            run(plan, session)
    except Wrong as error:
        say("wrong", str(error))
        return WRONG
    except (ab.Stopped, ab.StateLost) as error:
        say("ended", f"{type(error).__name__}: {error}")
        return ENDED
    except BaseException as error:
        traceback.print_exc()
        if type(error).__module__.startswith("py4j") or isinstance(error, ConnectionError):
            say("ended", f"the JVM is gone: {type(error).__name__}: {error}")
            return ENDED
        say("failed", f"{type(error).__name__}: {error}")
        return FAILED
    say("equal")
    return EQUAL


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    if code != EQUAL:
        os._exit(code)  # threads that wait for answers would keep it
