"""The demo as a user starts it, short; and that it would notice what must not happen."""

from __future__ import annotations

import io
import json
import signal
import subprocess
import sys
import threading
from typing import Any

import pytest
from rich.console import Console

import anabranch as ab
from anabranch.demo import Recommender
from anabranch.demo.figures import Figures
from anabranch.demo.ratings import Source
from anabranch.demo.show import compare, play
from anabranch.demo.story import Event, Story
from anabranch.demo.traffic import Answer, Batch, Outdated, Traffic
from anabranch.demo.view import View


def demo(*options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "anabranch", "demo", *options], capture_output=True, text=True)


def test_as_json() -> None:
    done = demo("--json", "--seconds", "2")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["equal_to_the_plain_run"] and told["compared"]["states"] and told["compared"]["recommendations"]
    assert [event["name"] for event in told["events"]] == ["snapshot", "lost worker", "scaled"]
    assert told["workers"] == 2
    assert told["figures"]["ratings"] > 0 and told["figures"]["freshness"]["p50"] > 0
    assert told["metrics"]["entries"]["rate"]["rows"] >= told["figures"]["ratings"]
    assert told["recommendations"]
    assert "worker 0 is lost (its process ended with signal SIGKILL)" in done.stderr


def test_without_a_terminal_there_are_lines() -> None:
    done = demo("--seconds", "1")
    assert done.returncode == 0, done.stderr
    for words in ("recommend.2", "a snapshot of version", "worker 0 was killed", "one worker became two",
                  "What happened in", "the same state, entry for entry", "the same recommendations"):  # fmt: skip
        assert words in done.stdout
    assert "\x1b" not in done.stdout


def test_ctrl_c_ends_it_in_one_line() -> None:
    command = [sys.executable, "-m", "anabranch", "demo", "--seconds", "600"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("started in"):
                process.send_signal(signal.SIGINT)
        _, told = process.communicate()
    assert (process.returncode, told) == (130, "anabranch: the demo was ended before its end\n")


class Forgetful:
    """An app that answers ratings and knows nothing of them."""

    def __init__(self) -> None:
        self.rate, self.version = self, 0

    def many(self, columns: Any) -> None:
        self.version += 1

    def recommend(self, user: int) -> ab.Vector:
        return ab.Vector()

    def metrics(self) -> None:
        return None

    def checkpoint(self) -> int:
        return self.version


def test_an_answer_that_does_not_know_the_newest_rating_ends_the_demo() -> None:
    quiet = Console(file=io.StringIO())
    with pytest.raises(Outdated, match="does not know that item"):
        play(Traffic(Forgetful(), Source()), 600.0, quiet, "")


def test_a_feeder_that_fails_ends_the_demo() -> None:
    class Full(Forgetful):
        def many(self, columns: Any) -> None:
            raise OSError("the disk is full")

    with pytest.raises(OSError, match="the disk is full"):
        play(Traffic(Full(), Source()), 600.0, Console(file=io.StringIO()), "")


def test_a_rating_that_is_missing_or_comes_twice_is_seen() -> None:
    source = Source()
    for fed, wanted in ((range(600), True), (range(599), False), ([*range(600), 599], False)):
        app = ab.run(Recommender(), workers=2)
        columns = source.columns(0, 600)
        app.rate.many({name: [column[i] for i in fed] for name, column in columns.items()})
        compared = compare(app, source, 600)
        app.stop()
        assert compared.same == wanted, fed


def test_figures_are_of_what_was_answered_since_then() -> None:
    traffic = Traffic(None, Source())
    at = traffic.start
    traffic.batches += [Batch(at, at + 1, 10), Batch(at + 2, at + 2.5, 30)]
    traffic.answers += [Answer(at, at + 0.25, 3.0), Answer(at + 2, at + 2.5, 1.0)]
    whole, late = Figures.of(traffic), Figures.of(traffic, at + 2)
    assert (whole.ratings, late.ratings, whole.recommendations, late.recommendations) == (40, 30, 2, 1)
    assert whole.freshness is not None and (whole.freshness.p50, whole.freshness.max) == (2.0, 3.0)
    assert late.rating is not None and late.rating.max == 0.5
    assert Figures.of(Traffic(None, Source())).freshness is None


def test_on_a_terminal_there_is_a_picture_and_what_was_told_stays() -> None:
    written = io.StringIO()
    console = Console(file=written, force_terminal=True, width=100, highlight=False)
    with ab.run(Recommender(), workers=2) as app:
        traffic = Traffic(app, Source())
        traffic.start -= 1.0
        over = threading.Event()
        feeding = threading.Thread(target=traffic.feed, args=(over,))
        view = View(console, "here", traffic)
        story = Story(app, traffic, 1.0, view.tell)
        with view.showing(story):
            feeding.start()
            while traffic.newest is None:
                assert not over.wait(0.01)
            over.set()
            feeding.join()
            view.metrics = app.metrics()
            view.update()
            view.tell(Event("scaled", 1.0, 2.0, "one became two"))
    text = written.getvalue()
    for words in ("freshness", "worker 1 busy", "together", "ratings come in", "1.0 s  one became two"):
        assert words in text
