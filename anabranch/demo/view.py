"""The demo as it is seen: a picture that lives on a terminal, lines where there is none, nothing with `--json`."""

from __future__ import annotations

from collections import deque
from contextlib import AbstractContextManager, nullcontext
from time import perf_counter

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from anabranch.demo.figures import Figures, Spread
from anabranch.demo.story import NOTHING, Event, Story, ms
from anabranch.demo.traffic import Traffic
from anabranch.engines.embedded.metrics import Metrics

LATELY = 2.0  # seconds that figures on the terminal are of
WIDTH = 40  # values in a line of bars
EVERY = 5.0  # seconds between two lines where there is no terminal
BARS = " ▁▂▃▄▅▆▇█"


class View:
    """`update` shows how it goes now; `tell` shows what will stay."""

    def __init__(self, console: Console, title: str, traffic: Traffic) -> None:
        self._console, self._title, self._traffic = console, title, traffic
        self._story: Story | None = None
        self._rates: deque[float] = deque(maxlen=WIDTH)
        self._ages: deque[float] = deque(maxlen=WIDTH)
        self._next = EVERY
        self._live = Live(console=console, refresh_per_second=4, transient=True) if console.is_terminal else None
        self.metrics: Metrics | None = None

    def showing(self, story: Story) -> AbstractContextManager[object]:
        self._story = story
        return nullcontext() if self._live is None or self._console.quiet else self._live

    def tell(self, event: Event) -> None:
        self._console.print(line_of(event), soft_wrap=True)

    def update(self) -> None:
        now = perf_counter() - self._traffic.start
        lately = Figures.of(self._traffic, perf_counter() - LATELY)
        self._rates.append(lately.ratings_per_second)
        self._ages.append(self._traffic.age())
        if self._live is not None:
            self._live.update(self._picture(now, lately))
        elif now >= self._next and self._story is not None and self._story.now == NOTHING:
            self._next = now + EVERY
            rate, age = lately.ratings_per_second, ms(self._ages[-1])
            self._console.print(
                f"{now:5.1f} s  {rate:,.0f} ratings/s; the newest that counts is {age} old", soft_wrap=True
            )

    def _picture(self, now: float, lately: Figures) -> RenderableType:
        assert self._story is not None
        grid = Table.grid(padding=(0, 2))
        grid.add_column(style="bold")
        grid.add_column(justify="right")
        grid.add_column()
        grid.add_row("ratings", f"{lately.ratings_per_second:,.0f}/s", Text(bars(self._rates), "green"))
        grid.add_row("freshness", ms(self._ages[-1]), Text(bars(self._ages), "yellow"))
        grid.add_row("recommend", f"{lately.recommendations / LATELY:.0f}/s", spread(lately.recommending))
        grid.add_row("rate, a batch", f"{self._traffic.fed:,} so far", spread(lately.rating))
        if self.metrics is not None:
            busy = "  ".join(f"worker {n} busy {share:.0%}" for n, share in enumerate(self.metrics.workers))
            grid.add_row("workers", str(len(self.metrics.workers)), busy)
            sizes = "  ".join(f"{name} {size / 1e6:.1f} MB" for name, size in self.metrics.states.items())
            grid.add_row("state", f"{sum(self.metrics.states.values()) / 1e6:.1f} MB", sizes)
        head = Text.assemble((f"{now:4.0f} s  ", "bold"), self._story.now)
        return Panel(
            Group(head, Text(), grid), title=self._title, title_align="left", width=min(100, self._console.width)
        )


def line_of(event: Event) -> str:
    return f"{event.at:5.1f} s  {event.told}"


def spread(found: Spread | None) -> str:
    """
    >>> spread(Spread(0.0021, 0.003, 0.0112, 1.5))
    'p50 2.1 ms  p90 3.0 ms  p99 11.2 ms'
    """
    if found is None:
        return ""
    return f"p50 {found.p50 * 1e3:,.1f} ms  p90 {found.p90 * 1e3:,.1f} ms  p99 {found.p99 * 1e3:,.1f} ms"


def bars(values: deque[float] | list[float]) -> str:
    """
    >>> bars([0.0, 1.0, 2.0, 8.0])
    ' ▁▂█'
    """
    top = max(values, default=0.0) or 1.0
    return "".join(BARS[round(value / top * (len(BARS) - 1))] for value in values)
