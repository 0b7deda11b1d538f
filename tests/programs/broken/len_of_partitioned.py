"""The size of a state that lies on many workers."""

import anabranch as ab


class Members(ab.Program):
    members: ab.Partitioned[ab.Table[str, bool]]

    def join(self, name: str) -> int:
        self.members[name] = True
        return len(self.members)  #! AB301
