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
LARGE = 1 << 21
PRIVATE = getattr(mmap, "MAP_PRIVATE", 0) | getattr(mmap, "MAP_ANONYMOUS", 0)


class Pages:
    """Memory with room for `len(words)` words; what is new of it may hold anything."""

    def __init__(self) -> None:
        self.words: Words = np.empty(0, dtype=np.int64)
        self._map: mmap.mmap | None = None

    def grow(self, words: int) -> None:
        """Let there be room for at least so many; whoever has `words` must give it up before."""
        size = -(-8 * words // mmap.PAGESIZE) * mmap.PAGESIZE
        if size < LARGE or not PRIVATE:
            self._take(np.empty(words, dtype=np.int64))
        elif self._map is None or not self._extend(self._map, size):
            fresh = mmap.mmap(-1, size, flags=PRIVATE)
            if hasattr(mmap, "MADV_HUGEPAGE"):
                fresh.madvise(mmap.MADV_HUGEPAGE)
            self._take(np.frombuffer(fresh, dtype=np.int64))
            self._map = fresh

    def _take(self, words: Words) -> None:
        words[: len(self.words)] = self.words
        self.words, self._map = words, None

    def _extend(self, pages: Any, size: int) -> bool:
        self.words = np.empty(0, dtype=np.int64)
        try:
            pages.resize(size)
        except (BufferError, OSError, SystemError):
            return False
        finally:
            self.words = np.frombuffer(pages, dtype=np.int64)
        return True
