"""A static method where a function of the module would do."""

import anabranch as ab


class Temperatures(ab.Program):
    latest: ab.Partitioned[ab.Table[str, float]]

    @staticmethod  #! AB112
    def _celsius(fahrenheit: float) -> float:
        return (fahrenheit - 32) / 1.8

    def read(self, sensor: str, fahrenheit: float) -> None:
        self.latest[sensor] = (fahrenheit - 32) / 1.8
