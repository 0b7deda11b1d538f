"""Words of memory that grow where they are.

To copy what is large when it is full is slow twice: the old is read, and the new is touched for the first time. Linux
can hand the same pages over to a longer mapping, so beyond `LARGE` bytes that is asked for; where it cannot be had, or
someone still looks at the old memory, growth is a copy.
"""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.int64]
LARGE = HUGE = 1 << 21  # bytes; mappings of whole huge pages are put where Linux can keep them huge as they move
PRIVATE = getattr(mmap, "MAP_PRIVATE", 0) | getattr(mmap, "MAP_ANONYMOUS", 0)


class Pages:
    """Memory with room for `len(words)` words; what is new of it may hold anything."""

    def __init__(self) -> None:
        self.words: Words = np.empty(0, dtype=np.int64)
        self._map: mmap.mmap | None = None

    def grow(self, words: int) -> None:
        """Let there be room for at least so many; whoever has `words` must give it up before."""
        if 8 * words < LARGE or not PRIVATE:
            self._take(np.empty(words, dtype=np.int64))
        elif self._map is None or not self._extend(self._map, words):
            fresh = mmap.mmap(-1, _whole(words, HUGE), flags=PRIVATE)
            if hasattr(mmap, "MADV_HUGEPAGE"):
                fresh.madvise(mmap.MADV_HUGEPAGE)
            self._take(_seen(fresh, words))
            self._map = fresh

    def _take(self, words: Words) -> None:
        words[: len(self.words)] = self.words
        self.words, self._map = words, None

    def _extend(self, pages: Any, words: int) -> bool:
        have = len(self.words)
        self.words = np.empty(0, dtype=np.int64)
        try:
            pages.resize(_whole(words, HUGE))
        except (BufferError, OSError, SystemError):
            self.words = _seen(pages, have)
            return False
        self.words = _seen(pages, words)
        return True


def _seen(pages: mmap.mmap, words: int) -> Words:
    return np.frombuffer(pages, dtype=np.int64, count=_whole(words, mmap.PAGESIZE) // 8)


def _whole(words: int, size: int) -> int:
    """Bytes of so many words, in whole pieces of a size."""
    return -(-8 * words // size) * size
