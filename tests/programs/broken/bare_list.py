"""Containers that do not say what they hold."""

import anabranch as ab


class Tags(ab.Program):
    tags: ab.Partitioned[ab.Table[str, list]]  #! AB204

    def tag(self, page: str, tags: list) -> None:  #! AB204
        self.tags[page] = tags
