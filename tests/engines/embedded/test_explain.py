"""`app.explain()`: how each entry runs, and why."""

from __future__ import annotations

import json

import anabranch as ab
from tests.engines.embedded import zoo
from tests.engines.embedded.shop import Shop


def test_straight_and_winding_entries() -> None:
    with ab.run(Shop(), workers=2) as app:
        entries = app.explain().to_dict()["entries"]
        assert list(entries) == list(app.entries)
        winding = {name: entry["winding"] for name, entry in entries.items() if not entry["straight"]}
        assert winding == {
            "buy": "it comes back to sku after it was at user",
            "slow_buy": "it comes back to sku after it was at user",
        }
        assert {name: entry["stages"] for name, entry in entries.items()} == {
            "supply": 1,
            "pay_in": 1,
            "reward": 2,
            "sold": 2,
            "basket": 3,
            "buy": 1,
            "slow": 1,
            "slow_buy": 1,
        }
        for entry in entries.values():
            stages = {task["stage"] for task in entry["tasks"].values()}
            assert stages == (set(range(entry["stages"])) if entry["straight"] else {None})
            assert all(task["tier"] in ("python", "compiled") and task["why"] for task in entry["tasks"].values())
        tiers = {name: {t["tier"]: t["why"] for t in entry["tasks"].values()} for name, entry in entries.items()}
        assert tiers["supply"] == {"compiled": "as Python until it has had enough rows"}
        assert tiers["slow"] == {"python": "nap is not in the kernels' table, shop.py:68"}
        reward = entries["reward"]["tasks"]
        assert (reward["reward.1"]["key"], reward["reward.1"]["reads"]) == ("sku", ["stock"])
        assert (reward["reward.2"]["key"], reward["reward.2"]["writes"]) == ("user", ["wallet"])


def test_the_text_shows_the_graph_and_every_task() -> None:
    with ab.run(Shop(), workers=2) as app:
        explanation = app.explain()
        text = str(explanation)
        assert text.startswith(ab.compile(Shop).draw())
        lines = text.splitlines()
        assert "supply: straight, 1 stage" in lines
        assert "reward: straight, 2 stages" in lines
        assert "buy: winding, runs row by row: it comes back to sku after it was at user" in lines
        for task in ab.compile(Shop).tasks:
            assert sum(line.startswith(f"  {task.name}: ") for line in lines) == 1
        assert any(line.startswith("  sold.1: stage 0, everywhere; reads sales; tier python (") for line in lines)
        assert any(line.startswith("  sold.2: stage 1, without state; tier python (") for line in lines)
        assert explanation._repr_html_().startswith("<svg")


def test_json_of_all_programs() -> None:
    for cls in (Shop, zoo.Partitioned, zoo.Replicated, zoo.Partial):
        app = ab.run(cls(), workers=1)
        data = app.explain().to_dict()
        assert json.loads(json.dumps(data)) == data
        assert data["program"] == cls.__name__
        tasks = [task for entry in data["entries"].values() for task in entry["tasks"]]
        assert sorted(tasks) == sorted(task.name for task in ab.compile(cls).tasks)
        app.stop()
        assert app.explain().to_dict() == data  # needs nothing that runs
