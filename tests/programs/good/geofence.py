"""A geofence per vehicle: great-circle distances by `math`, and how long a vehicle has been outside."""

import math
from datetime import datetime, timedelta
from typing import NamedTuple

import anabranch as ab

EARTH = 6371.0


class Fence(NamedTuple):
    latitude: float
    longitude: float
    kilometres: float


def distance(a_lat: float, a_lon: float, b_lat: float, b_lon: float) -> float:
    """Kilometres on the sphere by the haversine formula."""
    phi, psi = math.radians(a_lat), math.radians(b_lat)
    lat = math.sin((psi - phi) / 2)
    lon = math.sin(math.radians(b_lon - a_lon) / 2)
    return 2 * EARTH * math.asin(math.sqrt(lat * lat + math.cos(phi) * math.cos(psi) * lon * lon))


class Geofence(ab.Program):
    fences: ab.Partitioned[ab.Table[int, Fence]]
    outside_since: ab.Partitioned[ab.Table[int, datetime]]

    def __init__(self, tolerance: timedelta = timedelta(minutes=10)) -> None:
        self.tolerance = tolerance

    def fence(self, vehicle: int, latitude: float, longitude: float, kilometres: float) -> None:
        if not -90 <= latitude <= 90 or kilometres <= 0 or math.isnan(longitude):
            raise ValueError("no such place")
        self.fences[vehicle] = Fence(latitude, longitude, kilometres)

    def locate(self, vehicle: int, latitude: float, longitude: float, at: datetime) -> timedelta | None:
        """How long the vehicle has been outside, None if it is inside or has no fence."""
        fence = self.fences.get(vehicle)
        if fence is None:
            return None
        if distance(latitude, longitude, fence.latitude, fence.longitude) <= fence.kilometres:
            if vehicle in self.outside_since:
                del self.outside_since[vehicle]
            return None
        return at - self.outside_since.setdefault(vehicle, at)

    def alarm(self, vehicle: int, at: datetime) -> bool:
        since = self.outside_since.get(vehicle)
        return since is not None and at - since > self.tolerance


T = datetime(2026, 5, 4, 6, 30)

CALLS: list[tuple[str, tuple[object, ...]]] = [
    ("locate", (1, 52.0, 13.0, T)),
    ("fence", (1, 52.5, 13.4, 10.0)),
    ("fence", (1, 95.0, 13.4, 10.0)),  # ValueError
    ("locate", (1, 52.51, 13.41, T)),
    ("locate", (1, 53.55, 10.0, T + timedelta(minutes=1))),
    ("locate", (1, 53.56, 10.0, T + timedelta(minutes=5))),
    ("alarm", (1, T + timedelta(minutes=5))),
    ("alarm", (1, T + timedelta(minutes=12))),
    ("alarm", (2, T)),
    ("locate", (1, 52.5, 13.4, T + timedelta(minutes=13))),
    ("alarm", (1, T + timedelta(minutes=30))),
]
