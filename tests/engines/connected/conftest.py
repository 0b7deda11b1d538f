"""An app that is served in this process, and one in another process whose source is not known here."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import anabranch as ab
from anabranch.drivers.served import Served
from tests.engines.connected.till import Till

ROOT = Path(__file__).parents[3]
SCRIPT = """
import sys
sys.path.insert(0, {root!r})
import anabranch as ab
from {module} import Till
app = ab.run(Till(), workers=2, tier="python")
served = app.serve(token="the token of the other process")
print(served.address, flush=True)
sys.stdin.readline()
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


@dataclass
class Elsewhere:
    """A process that serves `Till` from a module that this process does not have."""

    process: subprocess.Popen[str]
    address: str
    token: str = "the token of the other process"

    def connect(self) -> Any:
        return ab.connect(self.address, self.token)


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[Elsewhere]:
    source = Path(__file__).with_name("till.py").read_text(encoding="utf-8")
    (tmp_path / "unknown_here.py").write_text(source, encoding="utf-8")
    script = tmp_path / "serve.py"
    script.write_text(SCRIPT.format(root=str(ROOT), module="unknown_here"), encoding="utf-8")
    process = subprocess.Popen([sys.executable, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None and process.stdout is not None
    try:
        yield Elsewhere(process, process.stdout.readline().strip())
    finally:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()
