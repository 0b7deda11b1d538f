"""Sensor readings: records under string keys, a helper, an early return.

    python benchmarks/sensors.py [--json] [--rounds N] [--scale F]

A million readings of ten thousand sensors, fed as Arrow batches of 100 thousand. The plain version loops over lists and
keeps a dict of lists, which it changes in place; another keeps a dict of records, as the program does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from harness import PLAIN, Bench, Way, app_name, as_lists, dict_table, in_batches, main

import anabranch as ab

LOW, HIGH = -40.0, 85.0
WEIGHT, FAR = 0.1, 25.0
SETTLED = 3600  # seconds until alarms count
RECORDS = "plain with records"


class Sensor(NamedTuple):
    count: int  # type: ignore[assignment]  # tuples have a method of that name
    mean: float
    last: float
    alarms: int


class Sensors(ab.Program):
    sensors: ab.Partitioned[ab.Table[str, Sensor]]

    def read(self, name: str, value: float, time: int) -> None:
        if value < LOW or value > HIGH:
            return
        old = self.sensors.get(name)
        if old is None:
            self.sensors[name] = Sensor(1, value, value, 0)
            return
        mean = self._smooth(old.mean, value)
        alarms = old.alarms
        if time >= SETTLED and abs(value - mean) > FAR:
            alarms += 1
        self.sensors[name] = Sensor(old.count + 1, mean, value, alarms)

    def _smooth(self, old: float, new: float) -> float:
        return old + WEIGHT * (new - old)


def smooth(old: float, new: float) -> float:
    return old + WEIGHT * (new - old)


def read_into_lists(sensors: dict[str, list[float]], name: str, value: float, time: int) -> None:
    if value < LOW or value > HIGH:
        return
    sensor = sensors.get(name)
    if sensor is None:
        sensors[name] = [1, value, value, 0]
        return
    sensor[0] += 1
    sensor[1] = mean = smooth(sensor[1], value)
    sensor[2] = value
    if time >= SETTLED and abs(value - mean) > FAR:
        sensor[3] += 1


def read_into_records(sensors: dict[str, Sensor], name: str, value: float, time: int) -> None:
    if value < LOW or value > HIGH:
        return
    old = sensors.get(name)
    if old is None:
        sensors[name] = Sensor(1, value, value, 0)
        return
    mean = smooth(old.mean, value)
    alarm = time >= SETTLED and abs(value - mean) > FAR
    sensors[name] = Sensor(old.count + 1, mean, value, old.alarms + alarm)


def plain_way(name: str, read: Callable[..., None], batches: list[pa.RecordBatch]) -> Way:
    lists = as_lists(batches)

    def run(sensors: dict[str, Any]) -> None:
        for columns in lists:
            for sensor, value, time in zip(*columns, strict=True):
                read(sensors, sensor, value, time)

    def table(sensors: dict[str, Any]) -> pa.Table:
        return dict_table({name: Sensor._make(sensor)._asdict() for name, sensor in sensors.items()})

    return Way(name, dict, run, lambda sensors, _: (table(sensors), None))


def measure(bench: Bench) -> None:
    rows, sensors = bench.size("readings", 1_000_000), bench.size("sensors", 10_000)
    rng = np.random.default_rng(7)
    names = pa.array([f"sensor-{n:06}" for n in range(sensors)])
    columns = {
        "name": names.take(pa.array(rng.integers(0, sensors, rows))),
        "value": rng.normal(20, 25, rows),
        "time": np.arange(rows) * 24 * 3600 // rows,
    }
    batches = in_batches(columns, bench.size("readings a batch", 100_000))
    apps = [bench.app_way(Sensors, "read", batches, "sensors", workers) for workers in (1, 2)]
    plain = [plain_way(PLAIN, read_into_lists, batches), plain_way(RECORDS, read_into_records, batches)]
    times = bench.time([*plain, *apps], rows)
    bench.figure(f"{app_name(1)} / plain", times.ratio(app_name(1), PLAIN), at_least=20)
    bench.figure(f"{app_name(1)} / {RECORDS}", times.ratio(app_name(1), RECORDS))
    bench.figure(f"{app_name(2)} / plain", times.ratio(app_name(2), PLAIN))


if __name__ == "__main__":
    main(measure, __doc__)
