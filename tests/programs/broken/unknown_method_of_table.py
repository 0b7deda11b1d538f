"""Methods that the state type does not have, or with wrong arguments."""

import anabranch as ab


class Log(ab.Program):
    lines: ab.Partitioned[ab.Table[str, str]]

    def write(self, name: str, line: str) -> None:
        self.lines.append(line)  #! AB309

    def read(self, name: str) -> str:
        return self.lines.get()  #! AB309

    def all_of(self, name: str) -> int:
        return len(self.lines.row(name))  #! AB309
