"""Ctrl-C while ours run on the main thread.

Python raises KeyboardInterrupt between any two instructions, and a machine or a state cut off in the middle of a step
is broken. So on the main thread Ctrl-C waits until ours have come to rest, except inside the user's code, where it is
an exception like any other (the request is undone and the caller gets it), and where ours only wait.

Laws: an interrupt is raised once: in the user's code, while ours wait, or when the block ends; never inside a method
of a state or in what it calls, however long that takes; the user's code is left at the first instruction of its own.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # the enums of `signal` cost more than a short call
import signal
import sys
import threading
from types import CodeType, FrameType, TracebackType
from typing import Any

from anabranch.kernels.names import EMITTED

_OURS = "anabranch."
_LIBRARIES = frozenset(("llvmlite", "numba", "numpy", "pyarrow"))  # that we call in the middle of a step


class HoldBack:
    """`with HoldBack(f.__code__) as interrupts:` keeps Ctrl-C out of our frames; it comes when the block has ended.

    `let_through` says whether an interrupt may be raised in user code now: in an emitted function that f has reached,
    or in what it calls.
    """

    __slots__ = ("_base", "_came", "_looks", "_previous", "let_through")

    def __init__(self, base: CodeType | None = None) -> None:
        self._base = base
        self._previous: Any = None
        self._came = self._looks = False
        self.let_through = False

    def __enter__(self) -> HoldBack:
        if threading.current_thread() is threading.main_thread():
            previous = _signal.getsignal(signal.SIGINT)
            if callable(previous):  # else the process ignores it, or has a handler that is not Python's
                self._previous = previous
                _signal.signal(signal.SIGINT, self._handle)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._previous is None:
            return
        previous = self._previous
        _signal.signal(signal.SIGINT, previous)
        self._previous = None  # only now: until then an interrupt may come and be held back
        self._look_away()
        if self._came and error is None:
            previous(signal.SIGINT, sys._getframe())

    def relent(self) -> None:
        """Raise what has been held back: here it does no harm."""
        if self._came:
            self._raise(sys._getframe())

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self._may_raise(frame):
            self._raise(frame)
            return
        self._came = True
        # A profiler of the user's goes first: then it comes at the end.
        if self._base is not None and not self._looks and sys.getprofile() is None:
            self._looks = True
            sys.setprofile(self._look)

    def _look(self, frame: FrameType, event: str, argument: object) -> None:
        """After an interrupt in a frame of ours: at every call and return, is this the user's code?"""
        at = frame.f_back if event == "return" else frame
        if self._previous is None:  # a second interrupt has cut the end of the block short
            self._look_away()
        elif self._came and self._may_raise(at):
            self._raise(at)

    def _look_away(self) -> None:
        if self._looks:
            sys.setprofile(None)
            self._looks = False

    def _raise(self, frame: FrameType | None) -> None:
        self._look_away()
        self._came = False
        self._previous(signal.SIGINT, frame)

    def _may_raise(self, frame: FrameType | None) -> bool:
        """Is this frame the user's, or of a library that the user's code has called, and not we?"""
        while frame is not None and _module(frame).partition(".")[0] in _LIBRARIES:
            frame = frame.f_back
        if not self.let_through or frame is None or _is_ours(frame):
            return False
        users = False
        while frame is not None and frame.f_code is not self._base:
            users = users or _module(frame) == EMITTED
            frame = frame.f_back
        return users and frame is not None


def _is_ours(frame: FrameType) -> bool:
    name = _module(frame)
    return name.startswith(_OURS) and name != EMITTED


def _module(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))
