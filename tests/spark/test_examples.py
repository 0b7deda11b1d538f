"""The examples that need Spark, each in a process of its own with a session of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.jvm import find_jvm
from tests.programs.load import EXAMPLES

ROOT = EXAMPLES.parent
LATE = 900.0  # seconds that count as never, on however busy a machine
NOTEBOOK = EXAMPLES / "from_class_to_spark.ipynb"


def run(folder: Path, *command: str) -> str:
    """What it prints; it must end well."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    environment |= {"JAVA_HOME": str(find_jvm()), "PYTHONPATH": str(ROOT), "SPARK_LOCAL_IP": "127.0.0.1"}
    command = (sys.executable, *command)
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment, timeout=LATE)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


def test_the_drill(tmp_path: Path) -> None:
    told = run(tmp_path, str(EXAMPLES / "spark_failover.py"))
    for words in ("and is killed now", "log: worker", "s later, with all that was counted", "each counted once"):
        assert words in told
    assert told.count("each counted once") == 2 and "restored without Spark" in told


def test_the_notebook(tmp_path: Path) -> None:
    told = run(tmp_path, str(Path(__file__).with_name("notebook.py")), str(NOTEBOOK))
    assert told.startswith("[8, 9]\n2 stages for a play") and "came after song 100" in told


def test_the_notebook_is_clean() -> None:
    """No outputs, so no paths of a machine and no figures of a day; ids, so that it is valid."""
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    assert notebook["nbformat"] == 4
    assert len({cell["id"] for cell in notebook["cells"]}) == len(notebook["cells"])
    for cell in notebook["cells"]:
        assert cell.get("outputs", []) == [] and cell.get("execution_count") is None
