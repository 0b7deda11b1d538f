"""Benchmarks beside other systems: the command, the registry of peers, and the smallest run there is."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from anabranch import cli
from anabranch.cli import main

ROOT = Path(cli.__file__).resolve().parent.parent
PEERS = ROOT / "benchmarks" / "peers"


def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    """As a user starts it, with the package of this checkout."""
    command = [sys.executable, "-m", "anabranch", "bench", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)


def test_without_a_name_it_lists_benchmarks_and_peers() -> None:
    done = bench("--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert list(told["benchmarks"]) == ["keyed_sum", "word_count", "key_value", "recommender", "logistic"]
    assert {"python", "bytewax", "pathway", "flink", "flink-sql", "spark", "spark-pandas", "redis", "ray"} < set(
        told["peers"]
    )


def test_every_peer_does_a_workload_or_says_why_not() -> None:
    script = (
        "import run\n"
        "for each in (*run.OURS, *run.PEERS):\n"
        "    assert not set(each.does) & set(each.cannot), each.name\n"
        "    assert {*each.does, *each.cannot} == set(run.WORKLOADS), each.name\n"
        "    assert (run.HERE / each.script).is_file(), each.script\n"
        "    assert each.packages is None or all('==' in package for package in each.packages), each.name\n"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=PEERS, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_peer_does_not_import_anabranch() -> None:
    for script in PEERS.glob("with_*.py"):
        if "anabranch" not in script.name:
            text = script.read_text(encoding="utf-8")
            assert "import anabranch" not in text and "from harness" not in text, script.name


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["no_such"], "there is no benchmark 'no_such': there are keyed_sum,"),
        (["keyed_sum", "--against", "python,nobody"], "there is no peer 'nobody': there are python,"),
        (["keyed_sum", "--rounds", "0"], "--rounds and --scale are above zero"),
    ],
)
def test_what_is_not_there_is_refused(arguments: list[str], told: str) -> None:
    done = bench(*arguments)
    assert done.returncode == 2
    assert told in done.stderr


def test_without_a_checkout_it_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cli, "__file__", str(tmp_path / "anabranch" / "cli.py"))
    assert main(["bench"]) == 2
    assert "run `make bench` in a checkout of the repository" in capsys.readouterr().err


def test_the_smallest_run(tmp_path: Path) -> None:
    """Plain Python beside anabranch: each gives what numpy gives, and table, JSON, plot and page say the same."""
    page, plots = tmp_path / "evidence.md", tmp_path / "plots"
    small = ["--rounds", "2", "--scale", "0.001", "--envs", str(tmp_path / "envs")]
    done = bench("keyed_sum", "--against", "python", *small, "--report", str(page), "--plots", str(plots))
    assert done.returncode == 0, done.stderr
    text = page.read_text(encoding="utf-8")
    section = text.partition("<!-- keyed_sum -->\n")[2].partition("\n![")[0]
    assert section.strip() == done.stdout.strip()
    for title in ("anabranch, 1 worker", "anabranch, 2 workers", "plain Python"):
        assert title in section
    assert "Not at full size (scale 0.001)" in section
    assert (plots / "peers-keyed_sum.svg").read_text(encoding="utf-8").startswith("<svg")

    again = bench("keyed_sum", "--against", "python", *small, "--json")
    assert again.returncode == 0, again.stderr
    (found,) = json.loads(again.stdout)["benchmarks"]
    assert [row["contender"] for row in found["rows"]] == [
        "anabranch, 1 worker",
        "anabranch, 2 workers",
        "plain Python",
    ]
    assert all(len(row["seconds"]) == 2 and row["rows"] == 10_000 for row in found["rows"])
    assert found["absent"] == {}


def test_a_peer_that_cannot_do_it_is_listed_with_the_reason(tmp_path: Path) -> None:
    small = ["--rounds", "1", "--scale", "0.001", "--envs", str(tmp_path)]
    done = bench("keyed_sum", "--against", "sklearn", *small, "--json")
    assert done.returncode == 0, done.stderr
    (found,) = json.loads(done.stdout)["benchmarks"]
    assert found["absent"] == {"scikit-learn": "cannot do it: it has no keyed state"}


def test_a_wrong_result_ends_the_benchmark() -> None:
    script = (
        "import run, pyarrow as pa, workloads\n"
        "workload = run.WORKLOADS['keyed_sum']\n"
        "(point,) = workload.points\n"
        "feed = workload.feed(point, 0.001, workloads.Sizes())\n"
        "try:\n"
        "    workload.check(point, feed, pa.table({'key': [1], 'value': [1.0]}))\n"
        "except run.Wrong as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=PEERS, capture_output=True, text=True, check=False)
    assert done.stdout == "1 entries instead of 1,000\n", done.stderr
