"""Page views: a sparse vector owned by page; the most viewed are the best of each worker's best."""

import anabranch as ab


class PageViews(ab.Program):
    views: ab.Partitioned[ab.Vector]
    titles: ab.Partitioned[ab.Table[int, str]]

    def publish(self, page: int, title: str) -> None:
        self.titles[page] = title.title()

    def view(self, page: int, weight: float = 1.0) -> None:
        self.views[page] += weight

    def retract(self, page: int) -> None:
        self.views[page] = 0.0

    def title(self, page: int) -> str:
        return self.titles.get(page, "untitled")

    def top(self, k: int) -> list[tuple[int, float]]:
        entries: list[tuple[int, float]] = []
        for part in ab.gather(ab.everywhere(self.views).top(k)):
            entries.extend(part)
        entries.sort(key=lambda entry: (-entry[1], entry[0]))
        return entries[:k]

    def headlines(self, k: int = 3) -> list[str]:
        return [self.titles.get(page, "untitled") for page, _ in self.top(k)]


CALLS: list[tuple[str, tuple[object, ...]]] = [
    ("top", (2,)),
    ("publish", (1, "all about tea")),
    ("view", (1,)),
    ("view", (2,)),
    ("view", (3, 0.5)),
    ("view", (2,)),
    ("top", (2,)),
    ("headlines", ()),
    ("retract", (2,)),
    ("top", (5,)),
    ("title", (1,)),
    ("title", (2,)),
    ("headlines", (1,)),
]
