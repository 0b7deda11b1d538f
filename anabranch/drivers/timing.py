"""How often and how long the functions of a program run, measured around them."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

from anabranch.runtime.rows import Code

Cells = dict[str, list[float]]  # by task: rows and seconds


class TimedCode:
    """Code that notes how often and how long each of its functions runs. An entry that runs whole counts as a task."""

    def __init__(self, code: Code, cells: Cells) -> None:
        self._code, self._cells = code, cells
        self._functions: dict[str, Callable[..., Any]] = {}
        self.start_key, self.place, self.limited = code.start_key, code.place, code.limited

    def task(self, name: str) -> Callable[..., tuple[int, Any, Any]]:
        return self._functions.get(name) or self._timed(name, self._code.task(name))

    def whole(self, name: str) -> Callable[..., Any]:
        return self._functions.get(name) or self._timed(name, self._code.whole(name))

    def _timed(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        cell = self._cells.setdefault(name, [0, 0.0])

        def timed(*args: Any) -> Any:
            start = perf_counter()
            try:
                return function(*args)
            finally:
                cell[1] += perf_counter() - start
                cell[0] += 1

        self._functions[name] = timed
        return timed
