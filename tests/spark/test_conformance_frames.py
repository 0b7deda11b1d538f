"""Of tests/conformance/test_frames.py a sample, on Spark: see `tests.spark.conforming`."""

from tests.conformance.test_frames import *  # noqa: F403
from tests.spark.conforming import engine  # noqa: F401
