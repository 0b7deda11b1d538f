"""The fixture of pytest."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

from anabranch.testing import Kit, plugin
from tests.testing.programs import Shop

ROOT = Path(__file__).parents[2]

MODULE = """
import pytest
from tests.testing.programs import Shop
from anabranch.testing import crash

started = []

def test_uses_two(anabranch_app):
    started.extend([anabranch_app(Shop()), anabranch_app(Shop(), workers=1, saved=True)])
    assert [kit.deliver("tea", 1) for kit in started] == [1, 1]

def test_they_have_ended():
    assert len(started) == 2 and all("stopped" in repr(kit) for kit in started)

def test_has_a_moment_that_never_comes(anabranch_app):
    anabranch_app(Shop()).at(1, crash())

def test_fails(anabranch_app):
    started.append(anabranch_app(Shop()))
    assert started[-1].deliver("tea", 1) == 2

def test_it_has_ended_too():
    assert "stopped" in repr(started[-1])
"""


def test_an_app_is_made_and_works(anabranch_app: Callable[..., Kit]) -> None:
    kit = anabranch_app(Shop(), workers=3)
    assert len(kit.metrics().workers) == 3 and kit.deliver("tea", 1) == 1


def test_apps_end_with_their_test(tmp_path: Path) -> None:
    (tmp_path / "test_shop.py").write_text(MODULE)
    command = [sys.executable, "-m", "pytest", "-p", "anabranch.testing.plugin", "-p", "no:cacheprovider", "-q"]
    done = subprocess.run(
        [*command, "--rootdir", str(tmp_path), str(tmp_path)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
    )
    assert "1 failed, 4 passed, 1 error" in done.stdout, done.stdout + done.stderr
    assert "kit.at(1, crash()) never came: there were 0 requests" in done.stdout


def test_pytest_finds_it() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert list(project["entry-points"]["pytest11"].values()) == [plugin.__name__]
    assert not any(name.startswith("pytest") for name in project["dependencies"])


def test_it_is_light() -> None:
    """Every run of pytest loads it."""
    script = "import sys, anabranch.testing.plugin; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, check=True)
    loaded = done.stdout.split()
    assert "anabranch.testing.plugin" in loaded
    assert not {"pyarrow", "numba", "pyspark", "anabranch.engines"} & set(loaded)
