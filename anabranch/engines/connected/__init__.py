"""An app that runs in another process: `ab.connect`."""

from anabranch.drivers.carried import RemoteError
from anabranch.engines.connected.app import RemoteApp, RemoteEntry, connect
from anabranch.engines.connected.link import AnswerLost

__all__ = ["AnswerLost", "RemoteApp", "RemoteEntry", "RemoteError", "connect"]
