"""A thermostat per room: commands are matched by their shape, readings switch the heating with hysteresis."""

import anabranch as ab


class Thermostat(ab.Program):
    target: ab.Partitioned[ab.Table[str, float]] = ab.Table(default=20.0)
    heating: ab.Partitioned[ab.Table[str, bool]] = ab.Table(default=False)

    def __init__(self, hysteresis: float = 0.5) -> None:
        self.hysteresis = hysteresis

    def command(self, room: str, words: list[str]) -> float:
        """Obey `off`, `set T` or `up|down by T`; gives the new target."""
        match words:
            case ["off"]:
                self.target[room] = 5.0
            case ["set", degrees]:
                self.target[room] = float(degrees)
            case ["up" | "down" as way, "by", degrees] if float(degrees) > 0:
                step = float(degrees)
                self.target[room] += step if way == "up" else -step
            case []:
                pass
            case _:
                raise ValueError("unknown command: " + " ".join(words))
        return self.target[room]

    def read(self, room: str, temperature: float) -> bool:
        """Whether the heating is on after the reading."""
        target = self.target[room]
        if abs(temperature - target) <= self.hysteresis:
            return self.heating[room]
        on = temperature < target
        self.heating[room] = on
        return on

    def state_of(self, room: str) -> str:
        match self.heating[room], self.target[room]:
            case True, _:
                return "heating"
            case False, 5.0:
                return "off"
            case _:
                return "idle"


CALLS: list[tuple[str, tuple[object, ...]]] = [
    ("state_of", ("hall",)),
    ("read", ("hall", 18.0)),
    ("read", ("hall", 20.3)),
    ("read", ("hall", 21.0)),
    ("command", ("hall", ["set", "22.5"])),
    ("read", ("hall", 21.0)),
    ("state_of", ("hall",)),
    ("command", ("hall", ["down", "by", "1"])),
    ("command", ("hall", ["up", "by", "-1"])),  # ValueError
    ("command", ("hall", ["set", "warm"])),  # ValueError
    ("command", ("hall", [])),
    ("command", ("bath", ["off"])),
    ("state_of", ("bath",)),
]
