"""What the emitted functions take and give, case by case."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace
from typing import Any

import pytest

import anabranch as ab
from anabranch.graph.code import Const, For, Local, Send, While
from anabranch.kernels import DONE, UNSET, PythonCode
from anabranch.lang.types import BOOL
from tests.kernels.harness import PythonApp


class Shop(ab.Program):
    stock: ab.Partitioned[ab.Table[str, int]] = ab.Table({"a": 3}, default=0)
    orders: ab.Partitioned[ab.Table[int, list[str]]]
    seen: ab.Partial[ab.Table[str, int]] = ab.partial(ab.Table(default=0), merge=ab.add)
    total: ab.Partial[ab.Value[int]] = ab.partial(ab.Value(0), merge=ab.add)
    names: ab.Replicated[ab.Table[str, str]]

    def __init__(self, limit: int = 5, strict: bool = True) -> None:
        self.limit = limit
        if strict:
            self.bound = 2

    def take(self, item: str, n: int) -> int:
        self.stock[item] -= n
        return self.stock[item]

    def order(self, user: int, items: list[str]) -> int:
        n = self.stock[items[0]]
        items.append("gift")
        self.orders[user] = items
        return n

    def sum_of(self, items: list[str]) -> int:
        total = 0
        for item in items:
            total += self.stock[item]
        return total

    def count(self, items: list[str]) -> None:
        for item in items:
            self.stock[item] += 1

    def most(self, floor: int) -> int:
        return max(ab.gather(ab.everywhere(self.total).value)) + floor

    def both(self, item: str) -> int:
        seen = ab.everywhere(self.seen)[item]
        total = ab.everywhere(self.total).value
        first, second = divmod(total, seen + 0)
        return sum(ab.gather(first * self.limit - second))

    def see(self, item: str) -> None:
        self.seen[item] += 1
        self.total.value += 1

    def rename(self, item: str, name: str) -> None:
        ab.everywhere(self.names)[item] = name
        ab.everywhere(self.total).value = len(name)

    def _find(self, items: list[str]) -> int:
        for item in items:
            n = self.stock[item]
            parts = [n]
            if n > self.bound:
                return n + parts[0]
        return -1

    def search(self, items: list[str]) -> int:
        found = self._find(items)
        return found + self.stock["a"]

    def twice(self, a: str, b: str) -> int:
        n = self.stock[a]
        self.stock[a] = n + 1
        if n > 1:
            self.stock[a] = n + 2
            a = b
        self.stock[a] += 5
        return self.stock[b]


@pytest.fixture
def code() -> PythonCode:
    return PythonCode(ab.compile(Shop), Shop())


def values(code: PythonCode, task: str, **given: Any) -> list[Any]:
    return [given.get(v.name, UNSET) for v in code.graph.task(task).inputs]


def arrived(code: PythonCode, message: tuple[int, Any, Any]) -> dict[str, Any]:
    """What a message brings, by the names of its target's inputs."""
    flow = code.graph.flow(message[0])
    return dict(zip((v.name for v in code.graph.task(flow.target).inputs), message[2], strict=True))


def test_an_entry_that_ends_gives_its_result(code: PythonCode) -> None:
    parts = {"stock": ab.Table({"a": 3}, default=0)}
    given = values(code, "take.1", item="a", n=2)
    assert code.task("take.1")(parts, None, *given) == (DONE, None, 1)
    assert parts["stock"]["a"] == 1
    assert code.task("take.1") is code.task("take.1")


def test_a_send_gives_flow_key_and_copies_in_the_order_of_the_inputs(code: PythonCode) -> None:
    items = ["a", "b"]
    start = code.task("order.1")(None, None, *values(code, "order.1", user=7, items=items))
    assert start[1] == "a"
    parts = {"stock": ab.Table({"a": 3})}
    given = arrived(code, start)
    message = code.task("order.2")(parts, None, *values(code, "order.2", **given))
    assert message[1] == 7
    found = arrived(code, message)
    assert found == {"items": ["a", "b", "gift"], "n": 3, "user": 7}
    assert items == ["a", "b"] and found["items"] is not given["items"]


def test_a_fan_out_sends_one_message_per_iteration_and_goes_on(code: PythonCode) -> None:
    out: list[Any] = []
    task = code.task("count.1")
    assert task(None, out, *values(code, "count.1", items=["a", "b"])) == (DONE, None, None)
    assert [(key, sent) for _, key, sent in out] == [("a", ("a",)), ("b", ("b",))]


def test_a_gather_over_iterations_leaves_its_list_to_the_runtime(code: PythonCode) -> None:
    out: list[Any] = []
    message = code.task("sum_of.1")(None, out, *values(code, "sum_of.1", items=["a", "b"]))
    flow = code.graph.flow(message[0])
    assert flow.over == "iterations" and arrived(code, message)[str(flow.collects)] is UNSET
    part = {"stock": ab.Table({"a": 3}, default=0)}
    each = code.task(code.graph.flow(out[0][0]).target)(part, None, *out[0][2])
    assert code.graph.flow(each[0]).each and each[1:] == (None, (3,))


def test_a_gather_over_instances_has_the_value_of_this_one(code: PythonCode) -> None:
    message = code.task("most.1")({"total": ab.Value(4)}, None, *values(code, "most.1", floor=2))
    flow = code.graph.flow(message[0])
    assert flow.over == "instances"
    assert arrived(code, message) == {"floor": 2, flow.collects: 4}


def test_a_variable_of_a_helper_without_value_is_unset(code: PythonCode) -> None:
    seen = set()
    app = PythonApp(Shop())
    inner = app.code.task

    def watched(name: str) -> Any:
        def run(parts: Any, out: Any, *given: Any) -> Any:
            names = [v.name for v in app.graph.task(name).inputs]
            seen.update(n for n, x in zip(names, given, strict=True) if x is UNSET)
            return inner(name)(parts, out, *given)

        return run

    app.code.task = watched  # type: ignore[method-assign]
    plain = Shop()
    for items in (["b", "a", "b"], [], ["b"]):
        assert app.search(items) == plain.search(items)
    assert seen and all(name.startswith("_find.") for name in seen)


def test_the_key_of_the_start(code: PythonCode) -> None:
    assert code.start_key("take")("x", 4) == "x"
    with pytest.raises(LookupError, match=r"^most starts all: it has no key$"):
        code.start_key("most")


def test_configuration_that_was_not_set_fails_when_it_is_read() -> None:
    loose, app = Shop(strict=False), PythonApp(Shop(strict=False))
    for entry in (loose.search, app.search):
        with pytest.raises(AttributeError, match="no attribute 'bound'"):
            entry(["a"])
    assert app.take("a", 1) == 2


def test_values_per_instance_in_a_whole_entry(code: PythonCode) -> None:
    seen = [ab.Table({"x": n}, default=0) for n in (1, 2, 3)]
    names: list[ab.Table[str, str]] = [ab.Table() for _ in range(3)]
    total = [ab.Value(n) for n in (4, 5, 6)]
    memory = SimpleNamespace(parts={"seen": seen, "total": total, "names": names}, owner=lambda key: 0)
    wanted = sum(t // s * 5 - t % s for s, t in ((1, 4), (2, 5), (3, 6)))
    assert code.whole("both")(memory, 1, "x") == wanted
    assert code.whole("most")(memory, 0, 10) == 16
    code.whole("see")(memory, 2, "x")
    assert [s["x"] for s in seen] == [1, 2, 4] and [v.value for v in total] == [4, 5, 7]
    code.whole("rename")(memory, 0, "x", "four")
    assert [n["x"] for n in names] == ["four"] * 3 and [v.value for v in total] == [4] * 3


def test_the_owner_of_a_key_is_looked_up_once_until_the_key_changes(code: PythonCode) -> None:
    asked: list[str] = []

    def owner(key: str) -> int:
        asked.append(key)
        return 0 if key == "a" else 1

    stock = [ab.Table({"a": 3}, default=0), ab.Table({"b": 1}, default=0)]
    memory = SimpleNamespace(parts={"stock": stock}, owner=owner)
    assert code.whole("twice")(memory, 0, "a", "b") == 6
    assert [dict(s.items()) for s in stock] == [{"a": 5}, {"b": 6}]
    assert asked == ["a", "b", "b"]


def test_a_whole_entry_keeps_the_arguments_of_its_caller(code: PythonCode) -> None:
    items = ["a"]
    parts: dict[str, list[Any]] = {"stock": [ab.Table({"a": 3})], "orders": [ab.Table()]}
    assert code.whole("order")(SimpleNamespace(parts=parts, owner=lambda key: 0), 0, 7, items) == 3
    assert items == ["a"] and parts["orders"][0][7] == ["a", "gift"]


def test_a_send_inside_a_loop_of_an_iteration_ends_the_iteration() -> None:
    """The translator writes none today; the meaning is that of the interpreter."""
    graph = ab.compile(Shop)
    task = graph.task("count.1")
    loop = next(s for s in task.body if isinstance(s, For))
    send = next(s for s in loop.body if isinstance(s, Send))
    forever = While(Const(True, BOOL, loop.span), (send,), (), loop.span)
    inner = For("again", Local("items", loop.source.type, loop.span), (forever,), (), loop.span)
    fan = dataclasses.replace(loop, body=(inner, dataclasses.replace(send)))
    body = tuple(fan if s is loop else s for s in task.body)
    tasks = tuple(dataclasses.replace(t, body=body) if t is task else t for t in graph.tasks)
    code = PythonCode(dataclasses.replace(graph, tasks=tasks), Shop())
    out: list[Any] = []
    assert code.task("count.1")(None, out, *values(code, "count.1", items=["a", "b", "c"])) == (DONE, None, None)
    assert [key for _, key, _ in out] == ["a", "b", "c"]
