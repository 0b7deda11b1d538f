"""`anabranch inspect` and `anabranch migrate`, as a user starts them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console

import anabranch as ab
from anabranch.cli import main
from anabranch.inspecting import showing
from anabranch.state.checkpoint.errors import Damaged
from tests.engines.checkpoint.model import run

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def location(tmp_path: Path) -> Path:
    with run(tmp_path / "state", 2) as app:
        for k in range(30):
            app.pay(k, k)
        app.name("tea", "green", 0.5)
        app.checkpoint()
        app.pay(1, 1)
    return tmp_path / "state"


def spoil(location: Path) -> str:
    """Flip a bit in the newest snapshot; gives the name of the file."""
    file = min(max((location / "snapshots").iterdir()).iterdir())
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    return file.relative_to(location).as_posix()


def test_inspect(location: Path, capsys: Captured) -> None:
    assert main(["inspect", str(location)]) == 0
    captured = capsys.readouterr()
    lines = captured.out.splitlines()
    assert lines[1] == "restores version 32 of Bank: the snapshot of version 31, then 1 epoch of the log"
    assert any(line.startswith("accounts  Partitioned[Table[int, int]]") and "  30  " in line for line in lines)
    assert any("instance 1, buckets 512 to 1023" in line for line in lines)
    assert lines[-1] == "every file is what was written"
    assert captured.err == "" and not any(line.endswith(" ") for line in lines)


def test_inspect_as_json(location: Path, capsys: Captured) -> None:
    assert main(["inspect", str(location), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["version"], told["epochs"], told["ok"], told["way_on"]) == (32, 1, True, None)
    assert [state["name"] for state in told["states"]][:2] == ["accounts", "names"]
    assert told["states"][0]["instances"][1]["buckets"] == [[512, 1023]]


def test_damage_is_told_with_the_way_on(location: Path, capsys: Captured) -> None:
    file = spoil(location)
    assert main(["inspect", str(location), "--no-verify"]) == 0
    assert "not verified: files were not read whole" in capsys.readouterr().out
    assert main(["inspect", str(location)]) == 1
    out = capsys.readouterr().out
    assert "restores version 32" in out
    assert f"DAMAGED {file}: byte 0: it does not match the checksum in its manifest" in out
    assert "Version 32 can be restored all the same: what is damaged is not needed for it" in out
    assert main(["inspect", str(location), "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["ok"], told["version"], told["last_good"], [*told["damage"]]) == (False, 32, 32, [file])
    with run(location) as app:
        assert app.state.accounts[29] == 129


def test_where_all_snapshots_are_damaged_nothing_can_be_restored(location: Path, capsys: Captured) -> None:
    for file in (location / "snapshots").rglob("*.arrow"):
        file.write_bytes(file.read_bytes()[:-1] + b"?")
    assert main(["inspect", str(location)]) == 1
    assert "cannot be restored as it is" in capsys.readouterr().out
    with pytest.raises(Damaged):
        run(location)


def test_on_a_terminal_there_are_tables_and_a_bar(
    location: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    def console(stderr: bool = False, **options: bool) -> Console:
        return Console(stderr=stderr, force_terminal=True, width=100, color_system=None, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(showing, "Console", console)
    assert main(["inspect", str(location)]) == 0
    captured = capsys.readouterr()
    assert "──────" in captured.out and "verifying" in captured.err
    assert all(len(line) <= 100 for line in captured.out.splitlines()[2:])


def test_rows_of_a_state(location: Path, tmp_path: Path, capsys: Captured) -> None:
    assert main(["inspect", str(location), "--state", "accounts"]) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[1].split() == ["key", "value"]
    assert "30 rows of version 32, the first 20 are shown: write --out FILE.arrow for all" in out
    assert main(["inspect", str(location), "--state", "names", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["values"] == {"key": ["tea"], "value": [{"text": "green", "weight": 0.5}]}
    whole = ab.read_checkpoint(location, "accounts", 31)
    for name in ("a.arrow", "a.parquet"):
        assert (
            main(["inspect", str(location), "--state", "accounts", "--to-version", "31", "--out", str(tmp_path / name)])
            == 0
        )
        assert capsys.readouterr().out == f"{tmp_path / name}: 30 rows of version 31\n"
    with pa.OSFile(str(tmp_path / "a.arrow")) as file:
        assert pa.ipc.open_file(file).read_all().equals(whole)
    assert pq.read_table(tmp_path / "a.parquet").equals(whole)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--state", "money"], "has no state 'money': states are accounts, names"),
        (["--state", "tally"], "only the program can read it"),
        (["--state", "accounts", "--out", "x.csv"], "ends in .arrow or .parquet"),
        (["--state", "accounts", "--to-version", "99"], "holds nothing of version 99"),
        (["--out", "x.arrow"], "--out is for one state: write --state NAME too"),
        (["--to-version", "3"], "--to-version is for one state"),
    ],
)
def test_what_inspect_refuses(location: Path, arguments: list[str], words: str, capsys: Captured) -> None:
    assert main(["inspect", str(location), *arguments]) == 2
    assert words in capsys.readouterr().err
    assert main(["inspect", str(location), *arguments, "--json"]) == 2
    assert words in json.loads(capsys.readouterr().out)["error"]


@pytest.mark.parametrize("command", [["inspect"], ["inspect", "--state", "a"], ["migrate", "--drop", "a"]])
def test_where_nothing_is(command: list[str], tmp_path: Path, capsys: Captured) -> None:
    assert main([*command[:1], str(tmp_path / "nowhere"), *command[1:]]) == 2
    assert "holds no checkpoint" in capsys.readouterr().err
    assert not (tmp_path / "nowhere").exists()


def test_migrate(location: Path, capsys: Captured) -> None:
    asked = ["migrate", str(location), "--rename", "accounts=balances", "--drop", "tally"]
    assert main([*asked, "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[0] == "accounts becomes balances"
    assert "tally is dropped" in out and "was not changed: this was a dry run at version 32" in out
    assert main(asked) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[0] == "accounts becomes balances, 30 rows"
    assert out.endswith(f"{location} now begins with version 32 as generation 2\n")
    assert main(["migrate", str(location), "--rename", "balances=accounts", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["states"]["balances"], told["rows"]["accounts"], told["generation"]) == ("accounts", 30, 3)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--rename", "accounts"], "--rename takes OLD=NEW, got 'accounts'"),
        (["--rename", "accounts=a", "--rename", "accounts=b"], "accounts is to be renamed twice: to a and to b"),
        (["--rename", "accounts=names"], "accounts cannot be renamed to names: there would be two of that name"),
        (["--drop", "money"], "there is no state 'money'"),
        ([], "nothing to do"),
    ],
)
def test_what_migrate_refuses(location: Path, arguments: list[str], words: str, capsys: Captured) -> None:
    assert main(["migrate", str(location), *arguments]) == 2
    assert words in capsys.readouterr().err


def test_what_is_damaged_is_neither_read_nor_migrated(location: Path, capsys: Captured) -> None:
    for file in (location / "log").iterdir():
        data = bytearray(file.read_bytes())
        data[40] ^= 1
        file.write_bytes(data)
    for command in (["inspect", str(location), "--state", "accounts"], ["migrate", str(location), "--drop", "tally"]):
        assert main(command) == 1
        assert "is damaged at byte" in capsys.readouterr().err
        assert main([*command, "--json"]) == 1
        assert "is damaged at byte" in json.loads(capsys.readouterr().out)["error"]


def test_files_spread_over_several_paths(tmp_path: Path, capsys: Captured) -> None:
    paths = [str(tmp_path / name) for name in ("a", "b", "c")]
    with run(paths, 2) as app:  # type: ignore[arg-type]
        app.pay(1, 1)
    assert main(["inspect", *paths]) == 0
    assert "restores version 1 of Bank" in capsys.readouterr().out
    assert main(["migrate", *paths, "--rename", "accounts=balances"]) == 0
    assert ab.read_checkpoint(paths, "balances").to_pylist() == [{"key": 1, "value": 101}]


def test_the_command_needs_no_program(location: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "anabranch", "inspect", str(location)], capture_output=True, text=True, cwd=location
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("every file is what was written\n")
