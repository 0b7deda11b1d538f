"""The functions of a graph as code that runs fast; today as Python, compiled from the graph."""

from anabranch.kernels.python import PythonCode
from anabranch.kernels.values import DONE, UNSET

__all__ = ["DONE", "UNSET", "PythonCode"]
