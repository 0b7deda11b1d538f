"""What a location holds: find what to restore, collect what nothing needs, verify all of it."""

from __future__ import annotations

from anabranch.state.checkpoint.collection import collect
from anabranch.state.checkpoint.finding import find, find_last_good, find_whole
from anabranch.state.checkpoint.found import COORDINATOR, Commit, Found
from anabranch.state.checkpoint.report import Report, verify

__all__ = ["COORDINATOR", "Commit", "Found", "Report", "collect", "find", "find_last_good", "find_whole", "verify"]
