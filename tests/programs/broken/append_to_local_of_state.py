"""A list that came out of state, changed under a local name."""

import anabranch as ab


class History(ab.Program):
    visits: ab.Partitioned[ab.Table[str, list[str]]]

    def visit(self, user: str, page: str) -> int:
        pages = self.visits.get(user, [])
        pages.append(page)  #! AB302
        self.visits[user] = pages
        return len(pages)

    def forget(self, user: str) -> None:
        pages = self.visits[user]
        pages.extend(["-"])  #! AB302
        self.visits[user] = pages
