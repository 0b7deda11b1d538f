"""The demo on a Spark session of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from tests.jvm import find_jvm


def test_the_demo_on_spark() -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    environment["JAVA_HOME"] = str(find_jvm())
    done = subprocess.run(
        [sys.executable, "-m", "anabranch", "demo", "--on", "spark", "--json", "--seconds", "3"],
        capture_output=True,
        text=True,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["equal_to_the_plain_run"] and told["on"] == "spark" and told["workers"] == 2
    assert [event["name"] for event in told["events"]] == ["snapshot", "lost worker", "scaled"]
