"""The embedded engine: all of a program's state in this process, worker threads on all cores."""

from anabranch.engines.embedded.app import App, run
from anabranch.engines.embedded.entries import AppEntry

__all__ = ["App", "AppEntry", "run"]
