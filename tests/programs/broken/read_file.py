"""Files and the environment read from inside entries."""

import os

import anabranch as ab


class Documents(ab.Program):
    sizes: ab.Partitioned[ab.Table[str, int]]

    def add(self, name: str) -> None:
        self.sizes[name] = len(open(name).read())  #! AB506

    def home(self, name: str) -> str:
        return os.getenv(name, "")  #! AB506
