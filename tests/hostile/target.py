"""The program that is called with hostile values, and every argument that a caller has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import anabranch as ab


class Row(NamedTuple):
    n: int
    note: str = ""


class Target(ab.Program):
    t: ab.Partitioned[ab.Table[str, int]] = ab.Table(default=0)
    by_pair: ab.Partitioned[ab.Table[tuple[int, str], Row]]
    m: ab.Partitioned[ab.Matrix]
    v: ab.Partial[ab.Vector] = ab.partial(ab.Vector(), merge=ab.add)
    one: ab.Replicated[ab.Value[float]] = ab.Value(0.0)

    def e(self, k: str, n: int) -> int:
        self.t[k] += n
        return self.t[k]

    def share(self, x: float) -> None:
        self.v[1] += x

    def cell(self, i: int, x: float) -> float:
        self.m[i, 0] += x
        return self.m.row(i).sum()

    def record(self, r: Row) -> None:
        self.by_pair[r.n, r.note] = r

    def items(self, k: str, xs: list[int], d: dict[str, float], o: int | None) -> int:
        self.t[k] += len(xs) + len(d)
        return len(xs)

    def vector(self, x: ab.Vector) -> float:
        return x.sum()

    def set_one(self, x: float) -> None:
        ab.everywhere(self.one).value = x


Call = Callable[[Any, Any], Any]  # of an app with a hostile value

ENTRIES: dict[str, Call] = {
    "e(x, 1)": lambda app, x: app.e(x, 1),
    "e(a, x)": lambda app, x: app.e("a", x),
    "e(n=x, k=a)": lambda app, x: app.e(n=x, k="a"),
    "e(a, 1, **{x: 1})": lambda app, x: app.e("a", 1, **{x: 1}),
    "share(x)": lambda app, x: app.share(x),
    "cell(x, 1)": lambda app, x: app.cell(x, 1.0),
    "cell(1, x)": lambda app, x: app.cell(1, x),
    "record(x)": lambda app, x: app.record(x),
    "record(Row(x))": lambda app, x: app.record(Row(x)),
    "record(Row(1, x))": lambda app, x: app.record(Row(1, x)),
    "items(x)": lambda app, x: app.items("a", x, {}, None),
    "items([x])": lambda app, x: app.items("a", [x], {}, None),
    "items({x: 1})": lambda app, x: app.items("a", [], {x: 1.0}, None),
    "items(dict x)": lambda app, x: app.items("a", [], x, None),
    "items({a: x})": lambda app, x: app.items("a", [], {"a": x}, None),
    "items(o=x)": lambda app, x: app.items("a", [], {}, x),
    "vector(x)": lambda app, x: app.vector(x),
    "vector({x: 1})": lambda app, x: app.vector(ab.Vector({x: 1.0})),
    "set_one(x)": lambda app, x: app.set_one(x),
    "e.many(x)": lambda app, x: app.e.many(x),
    "e.many([x])": lambda app, x: app.e.many([x]),
    "e.many([(x, 1)])": lambda app, x: app.e.many([("a", 1), (x, 1)]),
    "e.many([(a, x)])": lambda app, x: app.e.many([("a", 1), ("a", x)]),
    "e.many([{x: 1}])": lambda app, x: app.e.many([{x: 1}]),
    "e.many({k: x})": lambda app, x: app.e.many({"k": x, "n": [1]}),
    "e.many({n: x})": lambda app, x: app.e.many({"k": ["a"], "n": x}),
    "e.many({n: [x]})": lambda app, x: app.e.many({"k": ["a"], "n": [x]}),
    "e.many({x: []})": lambda app, x: app.e.many({x: []}),
    "e.many(iter([x]))": lambda app, x: app.e.many(iter([x])),
    "e.many(iter(x))": lambda app, x: app.e.many(iter(x)),
    "share.many({x: x})": lambda app, x: app.share.many({"x": x}),
    "record.many([x])": lambda app, x: app.record.many([x]),
    "e.many(on_error=x)": lambda app, x: app.e.many([("a", 1)], on_error=x),
}
"""What a plain run takes too: it says what each must give."""

NAMED: dict[str, Call] = {
    "e(id=x)": lambda app, x: app.e("a", 1, id=x),
    "share(id=x)": lambda app, x: app.share(1.0, id=x),
    "e.many(id=x)": lambda app, x: app.e.many([("a", 1)], id=x),
    "e.many({}, id=x)": lambda app, x: app.e.many({"k": ["a"], "n": [1]}, id=x),
}
"""Requests with a name."""

READS: dict[str, Call] = {
    "app[x]": lambda app, x: getattr(app, x),
    "e.x": lambda app, x: getattr(app.e, x),
    "state[x]": lambda app, x: app.state[x],
    "state.x": lambda app, x: getattr(app.state, x),
    "t.x": lambda app, x: getattr(app.state.t, x),
    "t[x]": lambda app, x: app.state.t[x],
    "x in t": lambda app, x: x in app.state.t,
    "t.get(x)": lambda app, x: app.state.t.get(x),
    "t.get(a, x)": lambda app, x: app.state.t.get("none", x),
    "t.get(x=x)": lambda app, x: app.state.t.get(key=x),
    "t == x": lambda app, x: app.state.t == x,
    "by_pair[x]": lambda app, x: app.state.by_pair[x],
    "by_pair[1, x]": lambda app, x: app.state.by_pair[1, x],
    "m[x]": lambda app, x: app.state.m[x],
    "m[x, 0]": lambda app, x: app.state.m[x, 0],
    "m.row(x)": lambda app, x: app.state.m.row(x),
    "v[x]": lambda app, x: app.state.v[x],
    "x in v": lambda app, x: x in app.state.v,
    "one.value(x)": lambda app, x: app.state.one.value(x),
    "t.as_of(x)": lambda app, x: app.state.t.as_of(x),
    "t[x] = 1": lambda app, x: app.state.t.__setitem__(x, 1),
    "state.x = x": lambda app, x: setattr(app.state, "t", x),
    "app.e = x": lambda app, x: setattr(app, "e", x),
    "app.history(x)": lambda app, x: app.history(x),
    "app.metrics(x)": lambda app, x: app.metrics(x),
    "app.explain(x)": lambda app, x: app.explain(x),
    "e.stream(x)": lambda app, x: app.e.stream(x),
}

LOADS: dict[str, Call] = {
    "t.load(x)": lambda app, x: app.state.t.load(x),
    "t.load([x])": lambda app, x: app.state.t.load([x]),
    "t.load([(x, 1)])": lambda app, x: app.state.t.load([("b", 1), (x, 1)]),
    "t.load([(a, x)])": lambda app, x: app.state.t.load([("b", 1), ("a", x)]),
    "t.load({key: x})": lambda app, x: app.state.t.load({"key": x, "value": [1]}),
    "t.load({x: 1})": lambda app, x: app.state.t.load({x: [1]}),
    "by_pair.load([(x, ..)])": lambda app, x: app.state.by_pair.load([(x, Row(1))]),
    "by_pair.load([(.., x)])": lambda app, x: app.state.by_pair.load([((1, "a"), x)]),
    "m.load(x)": lambda app, x: app.state.m.load([(x, 0, 1.0)]),
    "v.load(x)": lambda app, x: app.state.v.load([(x, 1.0)]),
    "one.load(x)": lambda app, x: app.state.one.load([(x,)]),
}

CONTROLS: dict[str, Call] = {
    "scale(x)": lambda app, x: app.scale(workers=x),
    "fork(x)": lambda app, x: app.fork(checkpoint=x),
    "fork([x])": lambda app, x: app.fork(checkpoint=[x]),
    "serve(host=x)": lambda app, x: app.serve(host=x),
    "serve(port=x)": lambda app, x: app.serve(port=x),
    "serve(token=x)": lambda app, x: app.serve(token=x),
    "serve(tls=x)": lambda app, x: app.serve(tls=x),
    "checkpoint(x)": lambda app, x: app.checkpoint(x),
    "stop(x)": lambda app, x: app.stop(x),
}
"""What only the process has that runs the app."""

OPTIONS = (
    *"workers on checkpoint history tier hosts tls ports durability snapshot_mode snapshot_every".split(),
    *"snapshot_bytes fence to_version memory autoscale spares clock".split(),
)
"""The arguments of `ab.run`."""
