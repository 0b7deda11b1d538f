"""The oracle: a simple interpreter of the graph."""

from anabranch.engines.sequential.app import SequentialApp, SequentialEntry

__all__ = ["SequentialApp", "SequentialEntry"]
