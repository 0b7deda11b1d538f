"""What processes do that are copies of others: they print whole lines, and leave nothing undone or done twice."""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from typing import NoReturn


def print_whole_lines() -> None:
    """Lines of several processes stay whole, and none is lost."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(line_buffering=True, write_through=False)


def leave(code: int) -> NoReturn:
    """End this process; what the one it was copied from has registered for its own end is not run."""
    try:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError, AttributeError):  # closed, or there is none
                stream.flush()
    finally:
        os._exit(code)
