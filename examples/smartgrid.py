"""Load forecasts for smart plugs (query 1 of the DEBS 2014 challenge): all state of a house lives in one place.

Time is cut into slices. The load of a plug two slices ahead is forecast from its mean load in the current slice and
the median of its mean loads in the same slice of past days; slices with too few measurements get their mean from the
work counted by the plug instead.

Shows: a larger program, with tables that are partitioned by the first part of their key, and rows of them.

    python examples/smartgrid.py
"""

from typing import NamedTuple

import anabranch as ab

WORK, LOAD = 0, 1
JOULE_PER_KWH = 3_600_000

Plug = tuple[int, int]  # household, plug
Slot = tuple[int, int, int]  # household, plug, slice


class Reading(NamedTuple):
    """Load in watts, or the work since the plug was installed in kWh."""

    house: int
    household: int
    plug: int
    time: int
    kind: int
    value: float


class Last(NamedTuple):
    time: int
    load: float


def median(values: list[float]) -> float:
    ordered = sorted(values)
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    return (ordered[middle - 1] + ordered[middle]) / 2


def forecast(averages: dict[Slot, float], plug: Plug, now: int, per_day: int) -> float:
    household, number = plug
    current = averages.get((household, number, now), 0.0)
    past: list[float] = []
    same_slice = now + 2 - per_day
    while same_slice >= 0:
        if (household, number, same_slice) in averages:
            past.append(averages[household, number, same_slice])
        same_slice -= per_day
    return (current + median(past)) / 2 if past else current


class SmartGrid(ab.Program):
    last: ab.Partitioned[ab.Table[tuple[int, Plug], Last]]  # the newest load that was not filtered
    average: ab.Partitioned[ab.Table[tuple[int, Slot], float]]  # mean load
    count: ab.Partitioned[ab.Table[tuple[int, Slot], int]]  # loads in that mean
    work: ab.Partitioned[ab.Table[tuple[int, Slot], float]]  # the first work value of the slice

    def __init__(self, seconds: int = 60, per_day: int = 1440, enough: int = 2, change: float = 1.0) -> None:
        if seconds * per_day != 86_400:
            raise ValueError("the slices of a day must fill it")
        self.seconds = seconds
        self.per_day = per_day
        self.enough = enough
        self.change = change

    def measure(self, reading: Reading) -> float | None:
        """Take a measurement in; gives the forecast for the plug, None if there is nothing new to forecast from."""
        if reading.kind == WORK:
            self._correct_by_work(reading)
            return None
        if self._is_filtered(reading):
            return None
        self._update_average(reading)
        averages = self.average.row(reading.house)
        now = reading.time // self.seconds
        return forecast(averages, (reading.household, reading.plug), now, self.per_day)

    def forecast_house(self, house: int, time: int) -> float:
        averages = self.average.row(house)
        plugs = sorted({(household, plug) for household, plug, _ in averages})
        return sum([forecast(averages, plug, time // self.seconds, self.per_day) for plug in plugs], 0.0)

    def load_of_plug(self, house: int, household: int, plug: int) -> float:
        last = self.last.get((house, (household, plug)))
        return 0.0 if last is None else last.load

    def load_of_household(self, house: int, household: int) -> float:
        return sum([last.load for (home, _), last in self.last.row(house).items() if home == household], 0.0)

    def load_of_house(self, house: int) -> float:
        return sum([last.load for last in self.last.row(house).values()], 0.0)

    def _is_filtered(self, reading: Reading) -> bool:
        """Old measurements and small changes are dropped; others are remembered."""
        plug = (reading.household, reading.plug)
        last = self.last.get((reading.house, plug))
        if last is not None and (reading.time <= last.time or abs(reading.value - last.load) < self.change):
            return True
        self.last[reading.house, plug] = Last(reading.time, reading.value)
        return False

    def _update_average(self, reading: Reading) -> None:
        slot = (reading.household, reading.plug, reading.time // self.seconds)
        n = self.count.get((reading.house, slot), 0) + 1
        mean = self.average.get((reading.house, slot), 0.0)
        self.count[reading.house, slot] = n
        self.average[reading.house, slot] = mean + (reading.value - mean) / n

    def _correct_by_work(self, reading: Reading) -> None:
        """Spread the work over the adjacent slices before this one that have too few loads for a mean."""
        house, household, plug = reading.house, reading.household, reading.plug
        now = reading.time // self.seconds
        if (house, (household, plug, now)) in self.work:
            return
        self.work[house, (household, plug, now)] = reading.value
        counts = self.count.row(house)
        works = self.work.row(house)
        first = now
        past = now - 1
        while past >= max(0, now - self.per_day) and counts.get((household, plug, past), 0) < self.enough:
            if (household, plug, past) in works:
                first = past
            past -= 1
        if first == now:
            return
        joule = (reading.value - works[household, plug, first]) * JOULE_PER_KWH
        for past in range(first, now):
            self.average[house, (household, plug, past)] = joule / ((now - first) * self.seconds)


DAY = 86_400


def load(house: int, plug: int, time: int) -> float:
    """A lamp that is on in the evening, a heater that follows the sun, and more so in a larger house."""
    hour = time % DAY / 3_600
    return 60.0 * (17 <= hour < 23) if plug == 0 else (1 + house) * (1_000.0 + 250.0 * abs(12 - hour) / 12)


def main() -> None:
    """Two days of four houses with two plugs each, measured every ten minutes: one plug is a lamp, one a heater.

    >>> main()
    2304 loads were measured, 2304 forecasts made
    house 0 at 18:00 of the second day: forecast 1188 W, measured 20 minutes later 1192 W
    house 3 at 18:00 of the second day: forecast 4574 W, measured 20 minutes later 4588 W
    """
    rows = [
        Reading(house, 0, plug, time, LOAD, load(house, plug, time))
        for time in range(0, 2 * DAY, 600)
        for house in range(4)
        for plug in (0, 1)
    ]
    with ab.run(SmartGrid(seconds=600, per_day=144, enough=1, change=0.0), workers=2) as app:
        forecasts = app.measure.many(rows)
        print(f"{len(rows)} loads were measured, {sum(found is not None for found in forecasts)} forecasts made")
        evening = DAY + 18 * 3_600
        for house in (0, 3):
            forecast_now = app.forecast_house(house, evening)
            later = sum(load(house, plug, evening + 1_200) for plug in (0, 1))
            told = f"forecast {forecast_now:.0f} W, measured 20 minutes later {later:.0f} W"
            print(f"house {house} at 18:00 of the second day: {told}")


# What the tests call, one after the other, on every engine.
CALLS: list[tuple[str, tuple[object, ...]]] = [
    ("forecast_house", (1, 0)),
    ("measure", (Reading(1, 0, 0, 0, WORK, 10.0),)),
    ("measure", (Reading(1, 0, 0, 10, LOAD, 100.0),)),
    ("measure", (Reading(1, 0, 0, 10, LOAD, 500.0),)),
    ("measure", (Reading(1, 0, 0, 20, LOAD, 100.5),)),
    ("measure", (Reading(1, 0, 0, 30, LOAD, 140.0),)),
    ("measure", (Reading(1, 0, 1, 31, LOAD, 60.0),)),
    ("measure", (Reading(1, 2, 0, 32, LOAD, 7.5),)),
    ("measure", (Reading(2, 0, 0, 33, LOAD, 9.0),)),
    ("load_of_house", (1,)),
    ("load_of_household", (1, 0)),
    ("load_of_plug", (1, 2, 0)),
    ("load_of_plug", (3, 0, 0)),
    ("measure", (Reading(1, 0, 0, 70, WORK, 10.5),)),
    ("measure", (Reading(1, 0, 0, 190, WORK, 11.5),)),
    ("measure", (Reading(1, 0, 0, 200, WORK, 12.0),)),
    ("forecast_house", (1, 130)),
    ("measure", (Reading(1, 0, 0, 86_400 - 120 + 5, LOAD, 220.0),)),
    ("forecast_house", (1, 86_400 - 115)),
    ("measure", (Reading(1, 0, 0, 2**63, LOAD, 1.0),)),  # BadInput: the time does not fit 64 bits
]


if __name__ == "__main__":
    main()
