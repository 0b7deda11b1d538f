"""A number where the table's keys are strings."""

import anabranch as ab


class Users(ab.Program):
    names: ab.Partitioned[ab.Table[str, str]]

    def rename(self, user: int, name: str) -> None:
        self.names[user] = name  #! AB206

    def name(self, user: int) -> str | None:
        return self.names.get(str(user))
