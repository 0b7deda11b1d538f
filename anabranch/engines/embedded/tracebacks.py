"""Exceptions on their way to the caller."""

from __future__ import annotations

from types import FrameType

from anabranch.kernels.names import EMITTED


def let_go(error: BaseException) -> None:
    """Clear the frames of ours through which an error came: they hold what they worked on, and so the error itself.

    Those of the user stay as they are, for a debugger.
    """
    trace = error.__traceback__
    if trace is None:
        return
    while trace.tb_next is not None:
        trace = trace.tb_next
    frame: FrameType | None = trace.tb_frame
    while frame is not None:
        behind = frame.f_back
        name = str(frame.f_globals.get("__name__", ""))
        if name.startswith("anabranch.") and name != EMITTED:
            try:
                frame.clear()
            except RuntimeError:  # it is still at work, and so are those behind it
                return
        frame = behind
