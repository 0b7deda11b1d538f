"""Redis with redis-py: state in a server of its own, one client.

Tuned: the server keeps nothing on disk and has a core to itself; requests are sent in pipelines of 2000 without a
transaction, so that a round trip is shared; what the server can do in one call is done there. Sums are HINCRBYFLOAT,
counts HINCRBY on a hash for each window, puts MSET of 2000 pairs, and a rating or a question is a function in Lua that
runs beside the data. hiredis parses the answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from time import perf_counter
from typing import Any

import pyarrow as pa
import redis
from talk import Done, Spec, answer, columns, settle, turns, weigh

PIPELINE = 2000

RATE = """
redis.call('HSET', 'u' .. ARGV[1], ARGV[2], ARGV[3])
local row = redis.call('HGETALL', 'u' .. ARGV[1])
for i = 1, #row, 2 do
  if tonumber(row[i + 1]) > 0 then
    local count = redis.call('HINCRBY', 't' .. ARGV[2], row[i], 1)
    if row[i] ~= ARGV[2] then redis.call('HSET', 't' .. row[i], ARGV[2], count) end
  end
end
"""
RECOMMEND = """
local row = redis.call('HGETALL', 'u' .. ARGV[1])
local scores, order = {}, {}
for i = 1, #row, 2 do
  local rating = tonumber(row[i + 1])
  local counts = redis.call('HGETALL', 't' .. row[i])
  for j = 1, #counts, 2 do
    local item = counts[j]
    local old = scores[item]
    if old == nil then order[#order + 1] = item; old = 0 end
    scores[item] = old + counts[j + 1] * rating
  end
end
local flat = {}
for i = 1, #order do flat[2 * i - 1] = order[i]; flat[2 * i] = tostring(scores[order[i]]) end
return flat
"""


def connect(spec: Spec) -> redis.Redis:
    # Without a timeout: the answers to a pipeline of questions take longer than the five seconds of the default.
    return redis.Redis(host="127.0.0.1", port=spec.options["port"], decode_responses=True, socket_timeout=None)


def pieces(rows: list[Any]) -> Iterator[list[Any]]:
    for first in range(0, len(rows), PIPELINE):
        yield rows[first : first + PIPELINE]


def sent(client: redis.Redis, commands: Iterable[tuple[Any, ...]]) -> list[Any]:
    """All commands in pipelines; their answers."""
    answers: list[Any] = []
    for piece in pieces(list(commands)):
        pipeline = client.pipeline(transaction=False)
        for command in piece:
            pipeline.execute_command(*command)
        answers += pipeline.execute()
    return answers


def timed(before: Callable[[], object], work: Callable[[], object]) -> float:
    before()
    settle()
    start = perf_counter()
    work()
    return perf_counter() - start


def keyed_sum(spec: Spec) -> Done:
    client = connect(spec)
    before, counted = (
        [pair for batch in batches for pair in zip(*columns(batch), strict=True)]
        for batches in (spec.batches_before(), spec.batches_counted())
    )

    def fill() -> None:
        for piece in pieces(before):  # all are zero and each names another key
            client.hset("totals", mapping=dict(piece))

    def add() -> None:
        for piece in pieces(counted):
            sent(client, [("HINCRBYFLOAT", "totals", key, value) for key, value in piece])

    seconds = timed(fill, add)

    def result() -> pa.Table:
        found = client.hgetall("totals")
        return pa.table({"key": [int(key) for key in found], "value": [float(value) for value in found.values()]})

    return Done(seconds, result)


def word_count(spec: Spec) -> Done:
    client, size = connect(spec), spec.parameters["window"]
    before, counted = (
        [row for batch in batches for row in zip(*columns(batch), strict=True)]
        for batches in (spec.batches_before(), spec.batches_counted())
    )

    def add(rows: list[Any]) -> None:
        step = PIPELINE // 10
        for first in range(0, len(rows), step):
            pipeline = client.pipeline(transaction=False)
            for time, line in rows[first : first + step]:
                window = f"w{time // size}"
                for word in line.split():
                    pipeline.execute_command("HINCRBY", window, word, 1)
            pipeline.execute()

    seconds = timed(lambda: add(before), lambda: add(counted))

    def result() -> pa.Table:
        windows, words, values = [], [], []
        for name in client.scan_iter("w*", count=1000):
            for word, count in client.hgetall(name).items():
                windows.append(int(name[1:]))
                words.append(word)
                values.append(int(count))
        return pa.table({"window": windows, "word": words, "value": values})

    return Done(seconds, result)


def key_value(spec: Spec) -> Done:
    client = connect(spec)
    before, counted = (
        [pair for batch in batches for pair in zip(*columns(batch), strict=True)]
        for batches in (spec.batches_before(), spec.batches_counted())
    )

    def put(rows: list[Any]) -> None:
        for piece in pieces(rows):
            client.execute_command("MSET", *[each for pair in piece for each in pair])

    seconds = timed(lambda: put(before), lambda: put(counted))

    def result() -> pa.Table:
        keys = list(client.scan_iter(count=10_000))
        values = [int(value) for piece in pieces(keys) for value in client.mget(piece)]
        return pa.table({"key": keys, "value": values})

    return Done(seconds, result)


def recommender(spec: Spec) -> Done:
    client = connect(spec)
    rate, recommend = client.script_load(RATE), client.script_load(RECOMMEND)

    def commands(table: pa.Table) -> list[tuple[Any, ...]]:
        return [("EVALSHA", rate, 0, *row) for row in zip(*columns(table), strict=True)]

    for batch in spec.batches_before():
        sent(client, commands(batch))
    steps = []
    for batch in spec.batches_counted():
        for asks, table in turns(batch):
            users = table["user"].to_pylist()
            steps.append((asks, [("EVALSHA", recommend, 0, user) for user in users] if asks else commands(table)))
    answers: list[Any] = []
    settle()
    start = perf_counter()
    for asks, requests in steps:
        given = sent(client, requests)
        if asks:
            answers += given
    seconds = perf_counter() - start

    def result() -> pa.Table:
        values = [weigh(flat[::2], map(float, flat[1::2])) for flat in answers]
        return pa.table({"value": pa.array(values, pa.float64())})

    return Done(seconds, result)


if __name__ == "__main__":
    workloads = {"keyed_sum": keyed_sum, "word_count": word_count, "key_value": key_value, "recommender": recommender}
    answer(workloads, ("redis", "hiredis"))
