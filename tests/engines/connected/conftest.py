"""An app that is served in this process, and one in another process whose source is not known here."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import anabranch as ab
from anabranch.drivers.served import Served
from tests.engines.connected.till import Till

ROOT = Path(__file__).parents[3]
TOKEN = "the token of the other process"
SCRIPT = """
import sys
sys.path.insert(0, {root!r})
import anabranch as ab
from unknown_here import Till
apps = []
for line in sys.stdin:
    apps.append(ab.run(Till(), workers=2, tier="python"))
    print(apps[-1].serve(token={token!r}).address, flush=True)
for app in apps:
    app.stop()
"""


@dataclass(frozen=True)
class Near:
    """An app of this process, and a client of it."""

    app: Any
    served: Served
    far: Any


@pytest.fixture
def near() -> Iterator[Near]:
    with ab.run(Till(), workers=2, tier="python") as app:
        served = app.serve()
        with ab.connect(served.address, served.token) as far:
            yield Near(app, served, far)


@dataclass(frozen=True)
class Elsewhere:
    """A process that serves `Till` from a module that this process does not have: a new app for each that asks."""

    process: subprocess.Popen[str]

    def new_app(self) -> str:
        """The address of one."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write("new\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def end(self) -> int:
        """Let it stop its apps and end."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(20)


@contextmanager
def started(folder: Path) -> Iterator[Elsewhere]:
    source = Path(__file__).with_name("till.py").read_text(encoding="utf-8")
    (folder / "unknown_here.py").write_text(source, encoding="utf-8")
    script = folder / "serve.py"
    script.write_text(SCRIPT.format(root=str(ROOT), token=TOKEN), encoding="utf-8")
    with subprocess.Popen(
        [sys.executable, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield Elsewhere(process)
        process.kill()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Elsewhere]:
    with started(tmp_path_factory.mktemp("elsewhere")) as elsewhere:
        yield elsewhere


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[Elsewhere]:
    """A process for one test, which may do with it what it likes."""
    with started(tmp_path) as elsewhere:
        yield elsewhere
