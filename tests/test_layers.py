"""`import anabranch` is light, and so is its kit for tests: what is optional or slow is loaded by those who use it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

ABSENT = ["numba", "pyspark", "rich", "pyarrow", "pytest"]


@pytest.fixture(scope="module", params=["anabranch", "anabranch.testing"])
def loaded(request: pytest.FixtureRequest) -> set[str]:
    script = f"import sys, json, {request.param}; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return {name.partition(".")[0] for name in json.loads(done.stdout)}


def test_the_package_itself_is_loaded(loaded: set[str]) -> None:
    assert "anabranch" in loaded


@pytest.mark.parametrize("package", ABSENT)
def test_import_does_not_load(package: str, loaded: set[str]) -> None:
    assert package not in loaded
