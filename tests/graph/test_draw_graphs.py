"""The graphs that the pictures are tested with, and the words on them."""

from __future__ import annotations

import random

import pytest

from anabranch.graph import labels
from anabranch.graph.code import Apply, Clause, Comprehension, Config, Const, Expr, Lambda, Local, Return
from anabranch.graph.nodes import Dispatch, Entry, Flow, Graph, State, Task, Variable, Where
from anabranch.graph.span import Span
from anabranch.lang.distribution import Distribution
from anabranch.lang.types import FLOAT, INT, NONE, STR, VECTOR, Dict, List, Type


def at(line: int, end: int | None = None, file: str = "/home/me/recommender.py") -> Span:
    return Span(file, line, 4, end or line, 30)


def state(name: str, distribution: Distribution, kind: str = "Matrix", axis: str | None = None, line: int = 4) -> State:
    return State(name, distribution, kind, object, INT, FLOAT, axis, at(line))


def task(
    name: str,
    where: Where,
    reads: str = "",
    writes: str = "",
    key: str | None = None,
    line: int = 8,
    gives: bool = False,
) -> Task:
    body = (Return(Local("result", VECTOR, at(line)), at(line)),) if gives else ()
    inputs = (Variable("user", INT),)
    entry = name.rpartition(".")[0]
    return Task(
        name, entry, where, key, 0, tuple(reads.split()), tuple(writes.split()), inputs, body, at(line, line + 1)
    )


def local(name: str) -> Local:
    return Local(name, INT, at(1))


def entry(
    name: str, parameters: str, key: str | None, result: Type = NONE, line: int = 7, winding: str | None = None
) -> Entry:
    variables = tuple(Variable(p, FLOAT if p == "rating" else INT) for p in parameters.split())
    dispatch = Dispatch.ANY if key is None else Dispatch.BY_KEY
    where = None if key is None else local(key)
    return Entry(name, variables, (), result, f"{name}.1", dispatch, where, winding, (), at(line))


def graph(name: str, states: list[State], entries: list[Entry], tasks: list[Task], flows: list[Flow]) -> Graph:
    return Graph(name, tuple(states), tuple(entries), tuple(tasks), tuple(flows), (), object, at(3))


def recommender() -> Graph:
    row = Variable("ratings.row", VECTOR)
    flows = [
        Flow(0, "rate.1", "rate.2", Dispatch.ANY, None, (Variable("item", INT), row), at(9)),
        Flow(1, "recommend.1", "recommend.2", Dispatch.ALL, None, (Variable("row", VECTOR),), at(17)),
        Flow(
            2, "recommend.2", "recommend.3", Dispatch.GATHER, None, (Variable("scores", VECTOR, True),), at(18),
            over="instances", collects="scores",
        ),
    ]  # fmt: skip
    return graph(
        "Recommender",
        [state("ratings", Distribution.PARTITIONED, axis="row"), state("together", Distribution.PARTIAL, line=5)],
        [entry("rate", "user item rating", "user"), entry("recommend", "user", "user", VECTOR, 15)],
        [
            task("rate.1", Where.KEY, "ratings", "ratings", "user"),
            task("rate.2", Where.HERE, "together", "together", line=10),
            task("recommend.1", Where.KEY, "ratings", "", "user", 16),
            task("recommend.2", Where.EVERYWHERE, "together", line=17),
            task("recommend.3", Where.NOWHERE, line=18, gives=True),
        ],
        flows,
    )


def fan_out() -> Graph:
    """Each follower gets the post; an answer counts them."""
    followers = (Variable("post", STR), Variable("follower", INT), Variable("author.display_name", STR))
    flows = [
        Flow(0, "publish.1", "publish.2", Dispatch.BY_KEY, local("follower"), followers, at(9), each=True),
        Flow(1, "publish.2", "publish.3", Dispatch.GATHER, None, (Variable("sizes", List(INT)),), at(12),
             over="iterations", collects="sizes"),
        Flow(2, "publish.1", "publish.4", Dispatch.ALL, None, (Variable("post", STR),), at(13)),
        Flow(3, "publish.1", "publish.3", Dispatch.ANY, None, (), at(13)),
    ]  # fmt: skip
    return graph(
        "Feed<of & \"posts\">",
        [
            state("followers", Distribution.PARTITIONED, "Table"),
            state("boxes", Distribution.PARTITIONED, "Table"),
            state("words", Distribution.PARTIAL, "Vector"),
            state("settings", Distribution.REPLICATED, "Value"),
            state("unused", Distribution.REPLICATED, "Value"),
        ],
        [entry("publish", "author post", "author", INT), entry("count", "word", None, INT), entry("tune", "on", None)],
        [
            task("publish.1", Where.KEY, "followers settings", "", "author"),
            task("publish.2", Where.KEY, "boxes settings", "boxes", "follower"),
            task("publish.3", Where.NOWHERE, gives=True),
            task("publish.4", Where.EVERYWHERE, "words", "words settings", gives=True),
            task("count.1", Where.HERE, "words settings", gives=True),
            task("tune.1", Where.HERE, "", "settings followers"),
        ],
        flows,
    )  # fmt: skip


def winding() -> Graph:
    """A walk from key to key."""
    carried = (Variable("node", INT), Variable("left", INT), Variable("seen", Dict(INT, FLOAT)))
    flows = [
        Flow(0, "walk.1", "walk.1", Dispatch.BY_KEY, local("node"), carried, at(9)),
        Flow(1, "walk.1", "walk.2", Dispatch.ANY, None, carried[:1], at(11)),
        Flow(
            2,
            "walk.2",
            "walk.1",
            Dispatch.BY_KEY,
            Apply("[]", (local("edges"), local("left")), INT, at(1)),
            carried,
            at(9),
        ),
        Flow(3, "walk.2", "walk.3", Dispatch.BY_KEY, local("home"), carried, at(13)),
    ]
    reason = "the loop at line 9 carries `node`, read from <edges>, to the next key"
    return graph(
        "Walker",
        [state("edges", Distribution.PARTITIONED, "Table"), state("visits", Distribution.PARTIAL, "Vector")],
        [entry("walk", "start steps", "start", INT, winding=reason)],
        [
            task("walk.1", Where.KEY, "edges", "", "node"),
            task("walk.2", Where.HERE, "visits", "visits"),
            task("walk.3", Where.KEY, "", "edges", "home", gives=True),
        ],
        flows,
    )


def random_graph(seed: int) -> Graph:
    rng = random.Random(seed)
    names = [f"s{i}_{'x' * rng.randrange(14)}" for i in range(rng.randrange(7))]
    states = [state(n, rng.choice(list(Distribution)), axis=rng.choice([None, "row"])) for n in names]
    entries, tasks, flows = [], [], list[Flow]()
    for e in range(rng.randrange(1, 5)):
        name = f"entry{e}_{'y' * rng.randrange(10)}"
        reason = rng.choice([None, "reason <&>"])
        entries.append(
            entry(name, " ".join("abcdefg"[: rng.randrange(8)]), rng.choice([None, "a"]), INT, winding=reason)
        )
        count = rng.randrange(1, 9)
        for i in range(1, count + 1):
            reads, writes = (" ".join(rng.sample(names, rng.randrange(len(names) + 1))[:3]) for _ in range(2))
            tasks.append(task(f"{name}.{i}", rng.choice(list(Where)), reads, writes, "k", gives=rng.random() < 0.3))
        for target in range(1, count + 1):
            sources = [target - 1 - rng.randrange(min(3, target - 1))] if target > 1 else []
            sources += [rng.randrange(1, count + 1) for _ in range(rng.randrange(2))]
            for source in sources:
                carries = tuple(Variable(f"v{j}" * rng.randrange(1, 9), INT) for j in range(rng.randrange(12)))
                dispatch = rng.choice(list(Dispatch))
                key = local("some_key") if dispatch is Dispatch.BY_KEY else None
                ends = f"{name}.{source}", f"{name}.{target}"
                flows.append(Flow(len(flows), *ends, dispatch, key, carries, at(5), rng.random() < 0.2))
    return graph(f"Random{seed}", states, entries, tasks, flows)


def names(graph: Graph) -> list[str]:
    """The names of its states and tasks."""
    return [*(s.name for s in graph.states), *(t.name for t in graph.tasks)]


GRAPHS = [recommender(), fan_out(), winding(), graph("Empty", [], [], [], []), *map(random_graph, range(40))]


def apply(op: str, *args: Expr, keywords: tuple[str, ...] = ()) -> Apply:
    return Apply(op, args, INT, at(1), keywords)


A, B, C = map(local, "abc")


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (A, "a"),
        (Config("limit", INT, at(1)), "self.limit"),
        (Const("it's", STR, at(1)), '"it\'s"'),
        (Const(len, INT, at(1)), "len"),
        (apply("attr:x", A), "a.x"),
        (apply("attr:x", apply("+", A, B)), "(a + b).x"),
        (apply("[]", A, B), "a[b]"),
        (apply("[]", A, apply("tuple", B, C)), "a[b, c]"),
        (apply("tuple", A, B), "(a, b)"),
        (apply("tuple", A), "(a,)"),
        (apply("*", apply("+", A, B), C), "(a + b) * c"),
        (apply("+", apply("*", A, B), C), "a * b + c"),
        (apply("-", A, apply("-", B, C)), "a - (b - c)"),
        (apply("**", apply("**", A, B), apply("**", B, C)), "(a ** b) ** b ** c"),
        (apply("**", apply("neg", A), B), "(-a) ** b"),
        (apply("not", apply("in", A, B)), "not a in b"),
        (apply("and", A, apply("or", B, C)), "a and (b or c)"),
        (apply("hash", A, B, keywords=("seed",)), "hash(a, seed=b)"),
        (apply("min", Lambda(("x",), B, INT, at(1))), "min(lambda x: b)"),
        (Comprehension("list", A, (Clause(("a", "b"), C, (B,)),), INT, at(1)), "[a for a, b in c if b]"),
        (Comprehension("dict", apply("tuple", A, B), (Clause("a", C, ()),), INT, at(1)), "{a: b for a in c}"),
    ],
)
def test_a_key_is_shown_as_the_user_would_write_it(expr: Expr, text: str) -> None:
    assert labels.key_text(expr) == text


def test_words() -> None:
    g = recommender()
    assert labels.graph_text(g) == "2 states, 2 entries, 5 tasks"
    assert [labels.place_text(t) for t in g.tasks] == ["at key user", "here", "at key user", "everywhere", "no state"]
    assert labels.source_text(g.tasks[0].span) == "recommender.py:8-9"
    assert labels.signature_text(g.entries[1]) == "recommend(user: int) -> Vector"
    assert labels.state_text(g.states[0]) == "Partitioned[Matrix]"
    assert [labels.accesses(t) for t in g.tasks[1:3]] == [(("together", "both"),), (("ratings", "read"),)]
    assert [t.name for t in g.tasks if labels.returns(g, t)] == ["recommend.3"]
    assert [labels.flow_text(f) for f in fan_out().flows] == ["each by key follower", "gather iterations", "all", "any"]
