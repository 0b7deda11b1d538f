"""Of tests/conformance/test_inputs.py a sample, on Spark: see `tests.spark.conforming`."""

from tests.conformance.test_inputs import *  # noqa: F403
from tests.spark.conforming import engine  # noqa: F401
