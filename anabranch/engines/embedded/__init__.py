"""The embedded engine: all of a program's state in this process, worker threads on all cores."""

from anabranch.engines.embedded.app import App, AppEntry, run

__all__ = ["App", "AppEntry", "run"]
