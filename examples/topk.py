"""Top-k over page views: which language versions of an encyclopedia are visited most, window by window.

Shows: counts that every worker keeps of what comes to it, so that counting sends nothing; only a ranking brings them
together. There are no timers: a window ends when someone calls `close`, such as a scheduler, every thirty seconds.

    python examples/topk.py
"""

import random

import anabranch as ab


class TopLanguages(ab.Program):
    views: ab.Partial[ab.Table[str, int]] = ab.partial(ab.Table(default=0), merge=ab.add)  # in this window

    def view(self, line: str) -> None:
        """A line of a trace, such as `en.m Main_Page 2 8310`: site, page, views, bytes."""
        fields = line.split()
        if len(fields) != 4:
            raise ValueError(f"a view has site, page, views and bytes, not {line!r}")
        language = fields[0].split(".")[0]
        self.views[language] += int(fields[2])

    def top(self, k: int) -> list[tuple[str, int]]:
        totals: dict[str, int] = {}
        for part in ab.gather(ab.everywhere(self.views).items()):
            for language, views in part:
                totals[language] = totals.get(language, 0) + views
        return sorted(totals.items(), key=lambda entry: (-entry[1], entry[0]))[:k]

    def close(self, k: int) -> list[tuple[str, int]]:
        """The ranking of the window that is over; the next one begins."""
        ranking = self.top(k)
        ab.everywhere(self.views).clear()
        return ranking


def main() -> None:
    """Two windows; in the second one something happens in Iceland.

    >>> main()
    window 0: en 5125, de 1912, fr 1550
    window 1: is 3810, en 3088, de 1287
    window 2 has begun: []
    """
    chance = random.Random(7)
    languages, usual = ["en", "de.m", "fr", "es.m", "ja", "is"], [50, 20, 15, 10, 4, 1]
    with ab.run(TopLanguages(), workers=2) as app:
        for window, shares in enumerate([usual, [*usual[:5], 60]]):
            visited = chance.choices(languages, shares, k=5_000)
            lines = [f"{site} Page_{chance.randrange(1_000)} {chance.randint(1, 3)} 8310" for site in visited]
            app.view.many({"line": lines})
            ranking = app.close(3)
            print(f"window {window}:", ", ".join(f"{language} {views}" for language, views in ranking))
        print(f"window 2 has begun: {app.top(3)}")


# What the tests call, one after the other, on every engine.
CALLS: list[tuple[str, tuple[object, ...]]] = [
    ("top", (3,)),
    ("view", ("en Main_Page 2 8310",)),
    ("view", ("en.m Tea 1 100",)),
    ("view", ("de Tee 3 100",)),
    ("view", ("is Te 1 100",)),
    ("top", (2,)),
    ("view", ("is Te",)),  # ValueError: fields are missing
    ("view", ("is Te one 100",)),  # ValueError: no number
    ("close", (10,)),
    ("top", (2,)),
    ("close", (1,)),
    ("view", ("fr The 1 1",)),
    ("top", (5,)),
]


if __name__ == "__main__":
    main()
