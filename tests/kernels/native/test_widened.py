"""Operations on values inside kernels: each entry gives in a kernel what the class gives, errors included."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pytest

import anabranch as ab
from anabranch.engines.embedded import App

NAN, INF = math.nan, math.inf
TEXTS = (
    "",
    "a",
    "abc",
    "äöü",
    "a€b𝄞c",
    "  x y  ",
    "a,b,,c",
    ",",
    "Zeta",
    "12",
    "-7",
    " +5 ",
    "1_0",
    "٣",
    "abcabcabc",
    "ß",
)
INDICES = (0, 1, 2, -1, -2, 5, -9, 2**62, -(2**63))
LISTS = ([], [1], [3, 1, 2], [5, 5, -1, 0, 2**62], list(range(20, -3, -1)))
FLOATS = ([], [1.5], [0.0, -0.0, 2.5], [NAN, 1.0], [1.0, NAN], [INF, -INF, 1e308], [0.1] * 10)


class Slices(ab.Program):
    def parts(
        self, s: str, xs: list[int], i: int, j: int
    ) -> tuple[str, str, str, bytes, list[int], list[int], list[int]]:
        ys = xs[:]
        ys.append(1)
        b = s.encode()
        return s[i:j], s[i:], s[:j] + s[:] + s[-3:-1], b[i:j] + b[:j], xs[i:j], ys[i:], xs

    def character(self, s: str, i: int) -> str:
        return s[i]

    def byte(self, s: bytes, i: int) -> int:
        return s[i] + len(s[i:])

    def steps(self, s: str, i: int, j: int, k: int) -> tuple[str, list[int], list[int], bytes]:
        xs = [1, 2, 3, 4, 5, 6, 7]
        return s[i:j:k], xs[i:j:k], xs[::k], s.encode()[::-2]


class Sums(ab.Program):
    def ints(self, xs: list[int], ys: list[int]) -> tuple[int, int, int, bool, bool, int, bool, bool]:
        x = 100
        total = sum(x * y for x in xs for y in ys if x != y)
        return (
            sum(xs),
            sum(x * x for x in xs if x > 0),
            sum([len(str(x)) for x in xs], 100),
            any(x > 3 for x in xs),
            all(xs),
            total + x,
            any(x == y for x in xs for y in ys),
            all(x < 50 for x in xs for y in ys if y > 0),
        )

    def floats(self, xs: list[float]) -> tuple[float, bool, float, float]:
        return sum(xs, 0.0), any(x > 1.0 for x in xs), min(xs, default=0.5), max(xs, default=0.5)

    def least(self, xs: list[int], ws: list[str]) -> tuple[int, int, int | None, int, str, str, str]:
        a = min(xs, default=-1)
        b = max((x % 7 for x in xs), default=0)
        c = max(xs, default=None)
        d = max(xs, key=lambda x: -abs(x - 2), default=9)
        return a, b, c, d, min(ws, default="none"), max(ws, default="none"), max("b", "ab", "c")

    def must(self, xs: list[int]) -> int:
        return min(xs) + max(xs)


class Orders(ab.Program):
    def exact(
        self, xs: list[int], ws: list[str], ps: list[tuple[str, int]]
    ) -> tuple[list[int], list[int], list[int], list[str], list[tuple[str, int]]]:
        ys = list(xs)
        ys.sort(reverse=True)
        qs = ps[:]
        qs.sort(key=lambda p: p[1])
        pairs = sorted(ps) + sorted(ps, key=lambda p: (-p[1], p[0])) + qs
        return sorted(xs), sorted(xs, key=lambda x: x % 3), ys, sorted(ws, reverse=True), pairs

    def floats(self, xs: list[float]) -> list[float]:
        return sorted(xs)


class Loops(ab.Program):
    def several(self, xs: list[int], ws: list[str]) -> list[str]:
        out: list[str] = []
        for x, w in zip(xs, ws, strict=False):
            out.append(f"{x}:{w}")
        for i, w in enumerate(ws, 5):
            if i == 7:
                continue
            out.append(f"{i}{w}")
        for x in reversed(xs):
            if x < 0:
                break
            out.append(str(x))
        else:
            out.append("all")
        for c in "aé𝄞":
            out.append(c * 2)
        for n in (1, 2, 3):
            out.append(str(n))
        for k, (a, b) in enumerate(zip(xs, range(10, 0, -3), strict=False)):
            out.append(str(k * 100 + a * b))
        return out

    def strict(self, xs: list[int], ws: list[str]) -> int:
        return sum(x * len(w) for x, w in zip(xs, ws, strict=True))

    def changing(self, n: int, xs: list[int]) -> list[int]:
        out: list[int] = []
        for i in range(n):
            n = 2
            out.append(i)
        for x in xs:
            xs = [7, 8, 9, 10]
            out.append(x)
        ys = [1, 2]
        for y in ys:
            if len(ys) < 6:
                ys.append(y + 1)
        s = "abc"
        for c in s:
            s = "z"
            out.append(len(c) + len(s))
        return out + xs + ys

    def hidden(self, xs: list[int]) -> tuple[int, list[int], list[str], list[int], bool]:
        x = 10
        squares = [x * x for x in xs]
        names = [x + "!" for x in "ab"]
        nested = [x + y for x in xs for y in range(x % 3)]
        return x, squares, names, nested, any(x > 3 for x in (y + x for y in xs))


class Lists(ab.Program):
    def found(
        self, xs: list[int], x: int, ys: list[float], y: float, m: int | None
    ) -> tuple[bool, bool, bool, bool, bool]:
        return x in xs, m not in xs, y in ys, xs == [3, 1, 2], [x, m] == [1, None]

    def changed(self, xs: list[int], i: int, v: int) -> list[int]:
        xs[i] = v
        xs.insert(i, v + 1)
        del xs[i]
        xs.extend(xs)
        xs.reverse()
        return xs

    def taken(self, xs: list[int], i: int) -> tuple[int, int, list[int], list[int], list[int]]:
        ys = xs.copy()
        a = ys.pop()
        b = ys.pop(i)
        ys.append(a)
        zs = xs[:]
        return a, b, ys, xs, [len(zs), zs.pop(), len(zs), zs[0] + zs.pop() + len(zs)]

    def searched(self, xs: list[int], x: int) -> tuple[int, int, list[int]]:
        ys = xs[:]
        ys.remove(x)
        return xs.index(x), xs.count(x), ys

    def shared(
        self, n: int, ws: list[str]
    ) -> tuple[list[list[int]], int, list[int], list[str], list[str], list[str], list[list[str]]]:
        row: list[int] = []
        rows = [row, [5], row]
        row.append(n)
        rows[0].append(n + 1)
        rows[1].append(7)
        pair = (row, 1)
        row.append(0)
        xs = ws
        ys = list(ws)
        ws.clear()
        ws.append("new")
        out = [w.split(",")[::-1] + ["!"] for w in ys]
        for each in out:
            each.insert(0, str(len(each)))
        return rows, len(pair[0]), [len(r) for r in rows], ws, xs, ys, out

    def maybe(self, xs: list[int], yes: bool) -> tuple[list[int] | None, list[int], int]:
        found = xs[1:] if yes else None
        out = []
        for x in xs:
            if x > 1:
                out.append(x)
        return found, out, len([0] * len(xs))

    def apart(self, xs: list[int]) -> int:
        a, b = xs
        return a - b


class Texts(ab.Program):
    def parts(self, s: str, t: str) -> tuple[int, int, int, str, list[str], str, list[str]]:
        return s.find(t), s.rfind(t), s.count(t), s.replace(t, "<>"), s.split(","), t.join(s.split(",")), s.split(t)

    def ends(self, s: str, t: str, n: int) -> tuple[str, str, str, bool, int, str]:
        return s.removeprefix(t), s.removesuffix(t), s.strip(), s.startswith(t), s.count(t), s * n

    def kinds(self, s: str) -> tuple[bool, bool, bool, bool, bool, bool]:
        return s.isdigit(), s.isalpha(), s.isspace(), s.isalnum(), s.islower(), s.isupper()

    def numbers(self, n: int, b: bool, m: int | None) -> tuple[str, str, str, str]:
        return str(n), str(b), f"<{n}|{b}|{m}|{'x' * n}>", str(m)

    def number(self, s: str) -> int:
        return int(s)

    def index(self, s: str, t: str) -> int:
        return s.index(t) + ord(t)


class Maps(ab.Program):
    def counts(
        self, ws: list[str], xs: list[int]
    ) -> tuple[list[tuple[str, int]], list[tuple[bool, list[int]]], int, list[int]]:
        found: dict[str, int] = {}
        for w in ws:
            found[w] = found.get(w, 0) + 1
        d: dict[bool, list[int]] = {}
        for x in xs:
            d.setdefault(x % 2 == 0, []).append(x)
        e = {}
        for x in xs:
            e[x % 4] = x
        total = 0
        for k, v in e.items():
            total += k * v
        return list(found.items()), [(a, b) for a, b in sorted(d.items(), key=lambda kv: kv[0])], total, list(e)

    def many(self, n: int, k: int) -> tuple[int, int, bool, list[int], int]:
        d = {i * 7 % 1009: i for i in range(n)}
        for i in range(0, n, 3):
            d.pop(i * 7 % 1009, None)
        d[k] = -1
        keys = list(d.keys())
        return len(d), sum(d.values()), k in d, keys[-20:], d.get(7, -5)

    def missing(self, d0: int, k: int) -> int:
        d = {1: 10, d0: 20, 3: 30}
        del d[1]
        return d[k]

    def tuples(self, xs: list[int]) -> list[tuple[int, str, float]]:
        d = {(x % 3, f"k{x % 2}"): x / 2 for x in xs}
        e = d.copy()
        e[(0, "k0")] = 9.0
        d.update(e)
        return [(a, b, v) for (a, b), v in (d | e).items()]

    def growing(self, xs: list[int]) -> int:
        d = {x: x for x in xs}
        for k in d:
            if k > 2:
                d[k + 1000] = 1
        return len(d)

    def sets(
        self, xs: list[int], ys: list[int], k: int
    ) -> tuple[list[int], list[int], list[int], list[int], bool, int, bool]:
        a = set(xs)
        b = {y * 2 for y in ys}
        b.add(k)
        a.discard(k)
        both = a & b
        b |= {1, 2, 3}
        divides = any(100 // (x - 5) > 3 for x in a)
        return sorted(a | b), sorted(a - b), sorted(both), sorted(a ^ b), k in b, len(a), divides

    def words(self, ws: list[str], w: str) -> tuple[bool, list[str], bool, str]:
        seen = {"zeta"}
        for v in ws:
            if v not in seen:
                seen.add(v)
        seen.remove("zeta")
        return w in seen, sorted(seen), seen == set(ws), max(seen, default="-")


def cases() -> Iterator[tuple[type[ab.Program], str, list[tuple[Any, ...]]]]:
    texts = [(s, t) for s in TEXTS for t in ("", "a", "b", ",", "ab", "€", "abcabcabcd", "ß")]
    lists = (*LISTS, [2**62, 2**62, -(2**62)], [-(2**63)])
    pairs = [(w, i % 3) for i, w in enumerate(TEXTS)]
    yield Slices, "parts", [(s, LISTS[len(s) % 5], i, j) for s in TEXTS for i in INDICES for j in INDICES]
    yield Slices, "character", [(s, i) for s in TEXTS for i in INDICES]
    yield Slices, "byte", [(s.encode(), i) for s in TEXTS for i in INDICES]
    yield Slices, "steps", [("abcdefg", i, j, k) for i in INDICES for j in INDICES for k in (1, 2, -1, -3, 0)]
    yield Slices, "steps", [("aöü", i, 9, k) for i in INDICES for k in (2, -1, -(2**63))]
    yield Sums, "ints", [(xs, ys) for xs in lists for ys in LISTS]
    yield Sums, "floats", [(xs,) for xs in FLOATS]
    yield Sums, "least", [(xs, ws) for xs in LISTS for ws in ([], ["b", "a"], list(TEXTS))]
    yield Sums, "must", [(xs,) for xs in LISTS]
    yield Orders, "exact", [(xs, list(TEXTS), pairs) for xs in (*LISTS, [i * 7919 % 101 - 50 for i in range(100)])]
    yield Orders, "exact", [([], ["b", "a", "b"], [("b", 1), ("a", 1), ("b", 0)]), ([], [], [])]
    yield Orders, "floats", [(xs,) for xs in (*FLOATS, [math.sin(i) for i in range(50)])]
    yield Loops, "several", [(xs, ws) for xs in LISTS for ws in ([], ["p", "q"], list(TEXTS))]
    yield Loops, "strict", [(xs, ws) for xs in LISTS for ws in ([], ["p"], ["p", "q", "rs"])]
    yield Loops, "changing", [(n, xs) for n in (0, 1, 5) for xs in LISTS]
    yield Loops, "hidden", [(xs,) for xs in LISTS]
    yield (
        Lists,
        "found",
        [(xs, 1, ys, y, m) for xs in LISTS for m in (None, 1) for ys in FLOATS for y in (1.0, NAN, 0.0)],
    )
    yield Lists, "changed", [(xs, i, 42) for xs in LISTS for i in INDICES]
    yield Lists, "taken", [(xs, i) for xs in LISTS for i in INDICES]
    yield Lists, "searched", [(xs, x) for xs in LISTS for x in (1, 5, 99)]
    yield Lists, "shared", [(3, []), (4, ["", "a", "b,ü"])]
    yield Lists, "maybe", [(xs, yes) for xs in LISTS for yes in (True, False)]
    yield Lists, "apart", [(xs,) for xs in (*LISTS, [5, 3])]
    yield Texts, "parts", texts
    yield Texts, "ends", [(s, t, n) for s, t in texts for n in (-1, 0, 3)]
    yield Texts, "kinds", [(s,) for s in (*TEXTS, "aB", "AB1", "ab1", "\t\n", "\u2003", "0x")]
    yield Texts, "numbers", [(n, b, m) for n in (0, 7, -1) for b in (True, False) for m in (None, 2**63 - 1, -(2**63))]
    yield (
        Texts,
        "number",
        [(s,) for s in (*TEXTS, "9223372036854775807", "-9223372036854775808", "9223372036854775808")],
    )
    yield Texts, "index", [*texts, *((s + t, t) for s in TEXTS for t in ("é", "€", "𝄞"))]
    yield (
        Maps,
        "counts",
        [(ws, xs) for ws in ([], ["a", "b", "a"], [w * i for w in TEXTS for i in range(5)]) for xs in LISTS],
    )
    yield Maps, "many", [(n, k) for n in (0, 1, 8, 9, 40, 1000) for k in (0, 7, -3)]
    yield Maps, "missing", [(a, k) for a in (1, 2, 3) for k in (1, 2, 3, 4)]
    yield Maps, "tuples", [(xs,) for xs in LISTS]
    yield Maps, "growing", [(xs,) for xs in LISTS]
    yield Maps, "sets", [(xs, ys, k) for xs in LISTS for ys in LISTS for k in (1, 99)]
    yield Maps, "words", [(ws, w) for ws in ([], ["zeta"], ["b", "ü", "b"]) for w in ("b", "zeta")]


def answer(call: Any, args: tuple[Any, ...]) -> tuple[str, str]:
    """What a call gives, so that floats are compared bit for bit."""
    try:
        return "result", repr(call(*args))
    except Exception as error:
        return type(error).__name__, repr(error.args)


@pytest.mark.parametrize("program", [Slices, Sums, Orders, Loops, Lists, Texts, Maps])
def test_same_as_plain(program: type[ab.Program]) -> None:
    plain = program()
    with App(program(), 1, tier="compiled") as app:
        for cls, name, rows in cases():
            if cls is not program:
                continue
            assert app._engine.tiers.is_fast(name), f"{name}: {app._engine.tiers.fallback(name)}"
            for row in rows:
                expected = answer(getattr(plain, name), _own(row))
                assert answer(getattr(app, name), _own(row)) == expected, (name, row)


def _own(row: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple([v[:] if isinstance(v, list) else v for v in row])
