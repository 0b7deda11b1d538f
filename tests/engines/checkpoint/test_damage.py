"""A location that is damaged: the app does not start, names the file and the last good version, and goes on from it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from anabranch.inspecting import inspect
from anabranch.state.checkpoint.errors import Damaged
from tests.engines.checkpoint.model import run


def flip(file: Path, at: int) -> None:
    data = bytearray(file.read_bytes())
    data[at] ^= 1
    file.write_bytes(data)


def pay(app: Any, times: int) -> None:
    for k in range(times):
        app.pay(k, 1)


def refusal(folder: Path, hosts: str) -> Damaged:
    """It says what is wrong, and has claimed nothing: whoever has the location keeps it."""
    claims = sorted((folder / "generations").iterdir())
    with pytest.raises(Damaged) as caught:
        run(folder, 2, hosts)
    assert sorted((folder / "generations").iterdir()) == claims
    return caught.value


@pytest.mark.parametrize("hosts", ["threads", "processes"])
def test_the_log_of_a_worker_is_damaged(tmp_path: Path, hosts: str) -> None:
    with run(tmp_path, 2, "processes") as app:
        pay(app, 10)
    log = max((tmp_path / "log").glob("*-w*"), key=lambda file: file.stat().st_size)
    flip(log, -200)
    error = refusal(tmp_path, hosts)
    assert error.file == f"log/{log.name}" and error.last_good is not None
    good = error.last_good[0]
    assert 0 < good < 10
    assert f"The last good version is {good}" in str(error) and f"to_version={good}" in str(error)
    with run(tmp_path, 2, hosts, to_version=good) as app:
        assert sum(app.state.accounts.copy().values()) == 101 * good


def test_a_snapshot_and_the_log_before_it_are_damaged(tmp_path: Path) -> None:
    """The snapshot before leads as far as the log is whole."""
    with run(tmp_path, 2) as app:
        pay(app, 4)
        app.checkpoint()
        pay(app, 6)
        before = {file: file.stat().st_size for file in (tmp_path / "log").iterdir()}
        app.checkpoint()
        pay(app, 5)
    for chunk in max((tmp_path / "snapshots").iterdir()).iterdir():
        flip(chunk, 20)
    log = max(before)
    flip(log, before[log] - 200)
    error = refusal(tmp_path, "threads")
    assert error.last_good is not None and 4 <= error.last_good[0] < 10
    assert inspect(tmp_path).last_good == error.last_good[0]
    with run(tmp_path, 2, to_version=error.last_good[0]) as app:
        assert app.sight() == error.last_good[0]
