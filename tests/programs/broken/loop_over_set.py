"""The order of a set of strings differs from process to process: sorted is meant."""

import anabranch as ab


class Words(ab.Program):
    lines: ab.Partitioned[ab.Table[str, int]] = ab.Table(default=0)

    def add(self, line: str) -> None:
        for word in set(line.split()):  #! AB509
            self.lines[word] += 1

    def distinct(self, line: str) -> list[str]:
        return [word for word in {w.lower() for w in line.split()}]  #! AB509
