"""A variable that is a string or a number."""

import anabranch as ab


class Labels(ab.Program):
    labels: ab.Partitioned[ab.Table[int, str]]

    def label(self, item: int, name: str, named: bool) -> str:
        label = name if named else item  #! AB206
        self.labels[item] = f"<{label}>"
        return self.labels[item]
