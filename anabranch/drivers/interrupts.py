"""Ctrl-C while machines run on the main thread.

Python raises KeyboardInterrupt between any two instructions, and a machine cut off in the middle of one event is
broken. So while machines run on the main thread, Ctrl-C waits until they have come to rest, except inside the user's
code, where it is an exception like any other: the request is undone and the caller gets it.
"""

from __future__ import annotations

import signal
import threading
from types import CodeType, FrameType, TracebackType
from typing import Any

_OURS = "anabranch."


class HoldBack:
    """`with HoldBack(f.__code__):` keeps Ctrl-C out of our frames above that of f; it comes when the block has ended.

    `let_through` says whether an interrupt may be raised in user code now.
    """

    __slots__ = ("_base", "_came", "_previous", "let_through")

    def __init__(self, base: CodeType) -> None:
        self._base = base
        self._previous: Any = None
        self._came = False
        self.let_through = True

    def __enter__(self) -> HoldBack:
        if threading.current_thread() is threading.main_thread():
            previous = signal.getsignal(signal.SIGINT)
            if callable(previous):  # else the process ignores it, or has a handler that is not Python's
                self._previous = previous
                signal.signal(signal.SIGINT, self._handle)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._previous is None:
            return
        previous, self._previous = self._previous, None
        signal.signal(signal.SIGINT, previous)
        if self._came and error is None:
            previous(signal.SIGINT, None)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if not self.let_through or not self._in_user_code(frame):
            self._came = True
        elif frame is not None and _is_ours(frame):
            signal.raise_signal(number)  # inside a state's own method: at the next instruction of the user's code
        else:
            self._previous(number, frame)

    def _in_user_code(self, frame: FrameType | None) -> bool:
        found = False
        while frame is not None and frame.f_code is not self._base:
            found = found or not _is_ours(frame)
            frame = frame.f_back
        return found and frame is not None


def _is_ours(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__", "")).startswith(_OURS)
