"""A caller that lost its answer may ask again: the request is carried out once."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

import anabranch as ab
from tests.engines.checkpoint.bank import Bank, Note
from tests.engines.checkpoint.model import run


@pytest.mark.parametrize("hosts", ["threads", "processes"])
def test_a_call_with_an_id_is_carried_out_once(tmp_path: Path, hosts: str) -> None:
    for turn in range(3):
        with run(tmp_path, 2, hosts, tier="python") as app:
            for _ in range(2):
                assert app.pay(1, 5, id="first") == 105
                assert app.pay.many({"k": [2, 2], "n": [1, 2]}, id="batch")["result"] == [101, 103]
                assert app.name("a", "text", 1.0, id="x") is None
            assert app.pay(1, 1, id=f"turn {turn}") == 106 + turn
            if turn == 1:
                app.checkpoint()
            assert app.state.accounts[2] == 103
            assert app.state.names["a"] == Note("text", 1.0)


def test_one_that_failed_is_not_remembered() -> None:
    with ab.run(Bank(), workers=2) as app:
        with pytest.raises(ValueError, match="no payment"):
            app.pay(1, -1, id="a")
        assert app.pay(1, 1, id="a") == 101
        assert app.pay(1, 1, id="a") == 101
        assert app.pay(1, 1) == 102


def test_the_same_id_at_the_same_time_is_carried_out_once() -> None:
    with ab.run(Bank(), workers=2) as app:
        found: list[int] = []
        threads = [threading.Thread(target=lambda: found.append(app.pay(1, 1, id="same"))) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == [101] * 8


def test_what_is_no_id_is_refused() -> None:
    with ab.run(Bank(), workers=1) as app:
        for wrong in (7, "", b"x"):
            with pytest.raises(TypeError, match="names the request"):
                app.pay(1, 1, id=wrong)
        with pytest.raises(TypeError, match="iterator of batches"):
            app.pay.many(iter([{"k": [1], "n": [1]}]), id="x")


class Named(ab.Program):
    table: ab.Partitioned[ab.Table[int, int]] = ab.Table(default=0)

    def put(self, id: int) -> int:
        self.table[id] += 1
        return self.table[id]


def test_a_parameter_called_id_stays_one() -> None:
    with ab.run(Named(), workers=1) as app:
        assert app.put(id=3) == 1
        assert app.put(id=3) == 2
