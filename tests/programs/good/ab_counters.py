"""Counters of an A/B test: every worker counts for itself, a report adds the parts up."""

import anabranch as ab


class Experiment(ab.Program):
    shown: ab.Partial[ab.Table[str, int]] = ab.partial(ab.Table(default=0), merge=ab.add)
    clicked: ab.Partial[ab.Table[str, int]] = ab.partial(ab.Table(default=0), merge=ab.add)

    def __init__(self, variants: tuple[str, str] = ("A", "B")) -> None:
        self.variants = variants

    def show(self, variant: str) -> None:
        self._check(variant)
        self.shown[variant] += 1

    def click(self, variant: str) -> None:
        self._check(variant)
        self.clicked[variant] += 1

    def rate(self, variant: str) -> float:
        """Clicks per view; 0.0 before the first view."""
        clicks = sum(ab.gather(ab.everywhere(self.clicked)[variant]))
        views = sum(ab.gather(ab.everywhere(self.shown)[variant]))
        return clicks / views if views else 0.0

    def better(self) -> str:
        first, second = self.variants
        return first if self.rate(first) >= self.rate(second) else second

    def _check(self, variant: str) -> None:
        if variant not in self.variants:
            raise ValueError(f"no variant {variant}")


CALLS: list[tuple[str, tuple[object, ...]]] = [
    ("rate", ("A",)),
    ("show", ("A",)),
    ("show", ("A",)),
    ("show", ("B",)),
    ("click", ("A",)),
    ("click", ("B",)),
    ("show", ("C",)),  # ValueError
    ("rate", ("A",)),
    ("rate", ("B",)),
    ("better", ()),
]
