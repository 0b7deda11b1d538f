"""The package as a whole: light to import, typed, keys that never change."""

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.lang.keys import BUCKETS, bucket, hash_key

ROOT = Path(__file__).parents[2]

SAMPLE = """
from typing import NamedTuple
import anabranch as ab


class Point(NamedTuple):
    x: int
    y: float


class Recommender(ab.Program):
    ratings: ab.Partitioned[ab.Matrix]
    together: ab.Partial[ab.Matrix]

    def rate(self, user: int, item: int, rating: float) -> None:
        self.ratings[user, item] = rating
        for other, score in self.ratings.row(user).items():
            if score > 0:
                count = self.together[item, other] + 1
                self.together[item, other] = count
                self.together[other, item] = count

    def recommend(self, user: int) -> ab.Vector:
        row = self.ratings.row(user)
        scores = ab.everywhere(self.together).dot(row)
        return sum(ab.gather(scores), ab.Vector())


class Rest(ab.Program):
    index: ab.Partitioned[ab.Table[str, list[int]]]
    points: ab.Partitioned[ab.Table[tuple[int, str], Point]]
    w: ab.Partial[ab.DenseVector]
    best: ab.Partial[ab.Table[int, float]]
    step: ab.Replicated[ab.Value[int]]

    def __init__(self, d: int) -> None:
        self.w = ab.partial(ab.DenseVector.zeros(d), merge=ab.mean)
        self.best = ab.partial(ab.Table(default=0.0), merge=ab.largest)
        self.step = ab.Value(0)

    def add(self, word: str, doc: int) -> int:
        self.index[word] = self.index.get(word, []) + [doc]
        ab.everywhere(self.step).assign(self.step.value + 1)
        return ab.local(len(self.index[word]))

    def top(self, n: int) -> list[tuple[int, float]]:
        return self.best.top(n)


r = Recommender()
r.rate(1, 2, 3.0)
v: ab.Vector = r.recommend(1)
out: object = r.entries["rate"].many([(1, 2, 3.0)])
rest = Rest(3)
n: int = rest.add("a", 1)
"""


# Unused ignores are errors under --strict, so each of these lines must be wrong, and wrong in that way.
WRONG = """
def wrong() -> None:
    r.rate("x", 2, 3.0)  # type: ignore[arg-type]
    rest.step.value = "x"  # type: ignore[assignment]
    rest.index["a"] = [1.5]  # type: ignore[list-item]
    Rest()  # type: ignore[call-arg]
    Recommender(3)  # type: ignore[call-arg]
"""


def test_programs_are_typed(tmp_path: Path) -> None:
    sample = tmp_path / "sample.py"
    sample.write_text(SAMPLE + WRONG)
    config = tmp_path / "mypy.ini"
    # Of an installed package mypy tells no errors; here it reads our sources, of which kernels are typed by numba.
    lines = ["[mypy]", "strict = True", "[mypy-pyarrow.*]", "ignore_missing_imports = True"]
    lines += ["[mypy-anabranch.kernels.native.*]", "ignore_errors = True", "[mypy-llvmlite.*]", "follow_imports = skip"]
    lines += ["[mypy-numba.*]", "follow_imports = skip"]
    config.write_text("\n".join(lines))
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--config-file",
        str(config),
        "--cache-dir",
        str(tmp_path / "cache"),
        str(sample),
    ]
    done = subprocess.run(command, capture_output=True, text=True, env={"MYPYPATH": str(ROOT)}, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    subprocess.run([sys.executable, str(sample)], check=True, env={"PYTHONPATH": str(ROOT)})


def test_import_is_light() -> None:
    heavy = ("pyarrow", "pandas", "pyspark", "numba", "rich")
    code = f"import sys, anabranch; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT)},
    )
    assert done.stdout.strip() == "[]"


def test_hashes_never_change() -> None:
    # Checkpoints of earlier versions were written with these: a change would lose every key.
    code = "from anabranch.lang.keys import hash_key as h; print(h(7), h('ä'), h(b'a'), h((1, 'x', True)))"
    for seed in ("0", "1"):
        env = {"PYTHONPATH": str(ROOT), "PYTHONHASHSEED": seed}
        done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, env=env)
        assert done.stdout.split() == [
            "7191089600892374487",
            "4492156929592978824",
            "768636557187992661",
            "2688519205907772807",
        ]
    assert hash_key(-1) == hash_key(2**64 - 1)


KEYS = st.recursive(
    st.integers(-(2**63), 2**63 - 1) | st.booleans() | st.text(st.characters(codec="utf-8")) | st.binary(),
    lambda inner: st.lists(inner, min_size=1, max_size=3).map(tuple),
)


@given(KEYS)
def test_buckets(key: object) -> None:
    assert 0 <= hash_key(key) < 2**64 and 0 <= bucket(key) < BUCKETS == 1024


def test_salts_and_spread() -> None:
    assert len({hash_key(k) for k in (1, True, "1", b"1", (1,), ((1,),))}) == 6
    used = {bucket(i) for i in range(10_000)}
    assert len(used) > 1000
    with pytest.raises(TypeError, match="is no key"):
        hash_key(1.5)
