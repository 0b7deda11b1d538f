"""Laws of the state types."""

import copy
import math
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anabranch as ab
from anabranch.lang import types
from anabranch.lang.marks import copy_state, freeze_state, is_state_type, same_state, type_state

FLOATS = st.floats(allow_nan=False, width=32)
SMALL = st.floats(-100, 100)
INDICES = st.integers(-5, 5)
VECTORS = st.dictionaries(INDICES, SMALL).map(ab.Vector)
MATRICES = st.dictionaries(st.tuples(INDICES, INDICES), SMALL).map(ab.Matrix)


# -- Vector -----------------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(INDICES, st.sampled_from([0.0, -0.0, 1.0, 2.5]))))
def test_vector_is_a_dict_without_zeros(writes: list[tuple[int, float]]) -> None:
    vector, model = ab.Vector(), dict[int, float]()
    for i, x in writes:
        vector[i] = x
        model[i] = x
        if x == 0.0:
            del model[i]
        assert vector.items() == sorted(model.items())
    assert len(vector) == len(model)
    assert vector.keys() == list(vector) == sorted(model)
    assert all((i in vector) == (i in model) and vector[i] == model.get(i, 0.0) for i in range(-6, 7))
    assert vector == ab.Vector(model)


@given(VECTORS, VECTORS)
def test_vector_arithmetic_is_entry_by_entry(v: ab.Vector, w: ab.Vector) -> None:
    for i in range(-6, 7):
        assert (v + w)[i] == v[i] + w[i]
        assert (v - w)[i] == v[i] - w[i]
        assert (v * 3)[i] == (3 * v)[i] == v[i] * 3
        assert (v / 4)[i] == v[i] / 4
        assert (-v)[i] == -v[i]
    for result in (v + w, v - w, -v, v * 0):
        assert all(x != 0.0 for x in result.values())
    assert v * 0 == ab.Vector()


@given(st.lists(VECTORS))
def test_sum_of_vectors(vectors: list[Any]) -> None:
    assert not vectors or sum(vectors) == sum(vectors[1:], vectors[0]) == sum(vectors, ab.Vector())


@given(VECTORS, VECTORS)
def test_vector_sums_run_left_to_right(v: ab.Vector, w: ab.Vector) -> None:
    dot = total = square = 0.0
    for i in sorted(v):
        if i in w:
            dot += v[i] * w[i]
        total += v[i]
        square += v[i] * v[i]
    assert (v.dot(w), v.sum(), v.norm()) == (dot, total, math.sqrt(square))


def test_zero_plus_vector_and_nothing_else() -> None:
    v = ab.Vector({1: 2.0})
    assert 0 + v == v and 0 + v is not v
    with pytest.raises(TypeError):
        1 + v  # type: ignore[operator]
    with pytest.raises(TypeError):
        v * v  # type: ignore[operator]
    with pytest.raises(ZeroDivisionError):
        ab.Vector() / 0


def test_vector_top_breaks_ties_by_index_and_puts_nan_last() -> None:
    v = ab.Vector({5: 1.0, 1: 1.0, 3: 2.0, 4: math.nan, 2: -math.inf})
    assert [i for i, _ in v.top(9)] == [3, 1, 5, 2, 4]
    assert v.top(2) == [(3, 2.0), (1, 1.0)]
    assert v.top(0) == v.top(-1) == []


def test_vector_takes_numpy_scalars_and_refuses_bools() -> None:
    v = ab.Vector()
    v[np.int64(1)] = np.float32(0.5)  # type: ignore[index,assignment]
    assert v.items() == [(1, 0.5)]
    for bad in (True, "a", 1.5):
        with pytest.raises(TypeError):
            v[bad]  # type: ignore[index]
    with pytest.raises(OverflowError):
        v[2**63] = 1.0


# -- Matrix -----------------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(INDICES, INDICES, st.sampled_from([0.0, 1.0, 2.5]))), st.booleans())
def test_matrix_rows_and_columns_agree(writes: list[tuple[int, int, float]], early: bool) -> None:
    m, model = ab.Matrix(), dict[tuple[int, int], float]()
    if early:
        m.column(0)
    for i, j, x in writes:
        m[i, j] = x
        model[i, j] = x
    model = {k: x for k, x in model.items() if x}
    assert m.items() == sorted(model.items())
    assert len(m) == len(model) and list(m) == sorted(model)
    assert m.rows() == sorted({i for i, _ in model})
    for k in range(-6, 7):
        assert m.row(k) == ab.Vector({j: x for (i, j), x in model.items() if i == k})
        assert m.column(k) == ab.Vector({i: x for (i, j), x in model.items() if j == k})


@given(MATRICES, VECTORS)
def test_matrix_dot_sums_in_order_of_the_vector(m: ab.Matrix, v: ab.Vector) -> None:
    expected: dict[int, float] = {}
    for j, y in v.items():
        for i in m.rows():
            if (i, j) in m:
                expected[i] = expected.get(i, 0.0) + m[i, j] * y
    assert m.dot(v) == ab.Vector(expected)


@given(MATRICES, MATRICES)
def test_matrix_arithmetic(a: ab.Matrix, b: ab.Matrix) -> None:
    for i in range(-5, 6):
        assert (a + b).row(i) == a.row(i) + b.row(i)
        assert (a - b).row(i) == a.row(i) - b.row(i)
        assert (a * 2).row(i) == (2 * a).row(i) == a.row(i) * 2
    assert a - a == ab.Matrix() and (a - a).rows() == []
    assert 0 + a == a == a.copy()


@given(MATRICES, VECTORS, INDICES)
def test_set_row(m: ab.Matrix, v: ab.Vector, i: int) -> None:
    others = {k: m.row(k) for k in m.rows() if k != i}
    m.column(0)
    m.set_row(i, v)
    assert m.row(i) == v
    assert {k: m.row(k) for k in m.rows() if k != i} == others
    assert m == ab.Matrix(m.items()) and m.column(0) == ab.Matrix(m.items()).column(0)


def test_a_row_is_a_frozen_snapshot() -> None:
    m = ab.Matrix({(1, 1): 1.0})
    row = m.row(1)
    m[1, 2] = 5.0
    assert row.items() == [(1, 1.0)]
    with pytest.raises(ab.FrozenError, match="this Vector belongs to state: build a new value and store it"):
        row[1] = 2.0
    fresh = row + row
    fresh[1] = 7.0
    mine = row.copy()
    mine[1] = 8.0
    assert row[1] == 1.0


# -- dense ------------------------------------------------------------------------------------------------------

ARRAYS = st.lists(st.floats(width=64), max_size=40)


@given(ARRAYS)
def test_dense_sums_equal_the_plain_loop(xs: list[float]) -> None:
    v = ab.DenseVector(xs)
    total = dot = 0.0
    for x in xs:
        total += x
        dot += x * x
    assert ab.DenseVector([v.sum(), v.dot(v)]).to_numpy().tobytes() == np.array([total, dot]).tobytes() or math.isnan(
        dot
    )
    assert math.isnan(total) == math.isnan(v.sum())
    matrix = ab.DenseMatrix([xs, xs])
    assert math.isnan(dot) or matrix.dot(v).tolist() == [dot, dot]


@given(st.lists(st.tuples(SMALL, SMALL), max_size=5))
def test_dense_arithmetic(pairs: list[tuple[float, float]]) -> None:
    v, w = ab.DenseVector([a for a, _ in pairs]), ab.DenseVector([b for _, b in pairs])
    assert (v + w).tolist() == [a + b for a, b in pairs]
    assert (v - w).tolist() == [a - b for a, b in pairs]
    assert (v * w).tolist() == [a * b for a, b in pairs]
    assert (2 * v - 1).tolist() == [2 * a - 1 for a, _ in pairs]
    assert (-v).tolist() == [-a for a, _ in pairs]
    assert 0 + v == v and sum([v, w]) == v + w
    if all(b for _, b in pairs):
        assert (v / w).tolist() == [a / b for a, b in pairs]
    else:
        with pytest.raises(ZeroDivisionError):
            v / w


@pytest.mark.parametrize("i", [-1, 2, 99])
def test_dense_index_outside(i: int) -> None:
    v, m = ab.DenseVector.zeros(2), ab.DenseMatrix.zeros(2, 2)
    for access in (lambda: v[i], lambda: v.__setitem__(i, 1.0), lambda: m[i, 0], lambda: m[0, i], lambda: m.row(i)):
        with pytest.raises(IndexError, match=r"outside 0\.\.1"):
            access()


def test_dense_shape_is_fixed() -> None:
    v, m = ab.DenseVector.zeros(2), ab.DenseMatrix.zeros(2, 3)
    assert m.shape == (2, 3) and m.rows() == [0, 1] and m.dot(ab.DenseVector.zeros(3)).tolist() == [0.0, 0.0]
    for wrong in (
        lambda: v.assign([1.0]),
        lambda: m.assign([[1.0]]),
        lambda: m.set_row(0, v),
        lambda: v + ab.DenseVector.zeros(3),
        lambda: m.dot(v),
        lambda: ab.DenseMatrix([[1.0], []]),
        lambda: ab.DenseVector(np.array([2**53 + 1])),
    ):
        with pytest.raises(ValueError):
            wrong()


def test_dense_overflows_in_silence_as_floats_do() -> None:
    v = ab.DenseVector([1e308])
    assert (v * 10).tolist() == [math.inf] and v.dot(v) == math.inf and v.norm() == math.inf


def test_dense_row_is_frozen_and_arrays_are_copies() -> None:
    m = ab.DenseMatrix([[1.0, 2.0]])
    row = m.row(0)
    m[0, 0] = 9.0
    assert row.tolist() == [1.0, 2.0]
    with pytest.raises(ab.FrozenError):
        row[0] = 1.0
    row.to_numpy()[0] = 7.0
    assert row[0] == 1.0


# -- Table and Value --------------------------------------------------------------------------------------------


def test_table_reads_as_a_dict_does() -> None:
    t = ab.Table({"a": 1})
    assert t["a"] == 1 and "a" in t and "b" not in t and t.get("b") is None and t.get("b", 5) == 5
    for missing in (lambda: t["b"], lambda: t.__delitem__("b"), lambda: t.pop("b")):
        with pytest.raises(KeyError) as caught:
            missing()
        assert caught.value.args == ("b",)
    assert t.pop("b", 3) == 3 and t.setdefault("b", 4) == 4 and t.setdefault("b", 5) == 4
    assert t.pop("b") == 4 and list(t) == ["a"] and t.items() == [("a", 1)]
    assert t.keys() == ["a"] and t.values() == [1] and len(t) == 1


def test_table_default_reads_without_inserting() -> None:
    t: ab.Table[str, int] = ab.Table(default=7)
    assert t["a"] == 7 and t.get("a") == 7 and t.get("a", 0) == 0 and "a" not in t and len(t) == 0
    with pytest.raises(KeyError):
        t.pop("a")
    t["a"] += 1
    assert t.items() == [("a", 8)]


def test_table_hands_out_frozen_values() -> None:
    t: ab.Table[str, list[int]] = ab.Table(default=[])
    mine = [1]
    t["a"] = mine
    mine.append(2)
    assert t["a"] == [1]
    for handed in (t["a"], t["missing"], t.get("a"), t.get("x", []), t.items()[0][1], t.setdefault("b", [])):
        with pytest.raises(ab.FrozenError, match="build a new value and store it"):
            handed.append(3)  # type: ignore[union-attr]
    t["a"] = [*t["a"], 2]
    assert t["a"] == [1, 2]


def test_table_with_a_schema_coerces() -> None:
    t: ab.Table[Any, Any] = ab.Table({1: 2})
    type_state(t, types.INT, types.FLOAT)
    assert type(t[1]) is float
    t[np.int64(2)] = 3
    assert t.items() == [(1, 2.0), (2, 3.0)]
    for wrong in (lambda: t["a"], lambda: True in t, lambda: t.__setitem__(1, "x"), lambda: t.get(1.0)):
        with pytest.raises(TypeError):
            wrong()
    with pytest.raises(OverflowError):
        t[2**63] = 1.0


@pytest.mark.parametrize("key", [1.5, None, [1], (1, 2.0), ()])
def test_no_key(key: Any) -> None:
    with pytest.raises(TypeError):
        ab.Table[Any, int]()[key] = 1


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.none() | st.integers(0, 9))), st.booleans())
def test_table_row_follows_writes(writes: list[tuple[int, int, int | None]], early: bool) -> None:
    t, model = ab.Table[tuple[int, int], int](), dict[tuple[int, int], int]()
    if early:
        t.row(0)
    for a, b, x in writes:
        if x is None:
            t.pop((a, b), None)
            model.pop((a, b), None)
        else:
            t[a, b] = model[a, b] = x
    for a in range(5):
        expected = {k[1]: x for k, x in sorted(model.items()) if k[0] == a}
        assert list(t.row(a).items()) == list(expected.items())


def test_table_row_of_longer_keys_and_of_no_tuples() -> None:
    assert ab.Table({(1, "a", 2): 5}).row(1) == {("a", 2): 5}
    with pytest.raises(TypeError, match="tuples of two or more"):
        ab.Table({1: 2}).row(1)
    with pytest.raises(ab.FrozenError):
        ab.Table({(1, 2): 3}).row(1)[2] = 4


def test_table_top() -> None:
    t = ab.Table({"b": 1, "a": 1, "c": 3})
    assert t.top(2) == [("c", 3), ("a", 1)]


def test_value() -> None:
    v = ab.Value([1])
    with pytest.raises(ab.FrozenError):
        v.value.append(2)
    v.value = [*v.value, 2]
    assert v == ab.Value([1, 2])
    v.assign([])
    assert v.value == []
    type_state(v, None, types.List(types.INT))
    with pytest.raises(TypeError):
        v.value = ["a"]  # type: ignore[list-item]


# -- all states -------------------------------------------------------------------------------------------------

STATES = [
    ab.Vector({1: 2.0}),
    ab.Matrix({(1, 2): 3.0}),
    ab.DenseVector([1.0, math.nan]),
    ab.DenseMatrix([[1.0]]),
    ab.Table({"a": [1.0, math.nan]}, default=[]),
    ab.Value((1, "a")),
]


@pytest.mark.parametrize("state", STATES, ids=lambda s: type(s).__name__)
def test_copies_are_equal_and_independent(state: Any) -> None:
    assert is_state_type(type(state))
    for twin in (copy_state(state), copy.copy(state), copy.deepcopy(state)):
        assert twin is not state and same_state(twin, state)
        frozen = freeze_state(copy_state(twin))
        with pytest.raises(ab.FrozenError):
            frozen.assign(state.value if isinstance(state, ab.Value) else state)
        copy_state(frozen).assign(state.value if isinstance(state, ab.Value) else state)
    with pytest.raises(TypeError):
        hash(state)


def test_values_survive_pickle_and_come_back_changeable() -> None:
    v = pickle.loads(pickle.dumps(ab.Matrix({(1, 1): 1.0}).row(1)))
    v[1] = 2.0
    assert v == ab.Vector({1: 2.0})


def test_same_state_sees_bits() -> None:
    assert not same_state(ab.Table({1: 0.0}), ab.Table({1: -0.0}))
    assert not same_state(ab.Table({1: 1}), ab.Table({1: 1.0}))
    assert not same_state(ab.DenseMatrix.zeros(0, 2), ab.DenseMatrix.zeros(0, 3))
    assert same_state(ab.Value(math.nan), ab.Value(float("nan")))


# -- merges -----------------------------------------------------------------------------------------------------


def test_merges() -> None:
    a, b = ab.Vector({1: 1.0, 2: -4.0}), ab.Vector({1: 3.0})
    assert ab.add([a, b]) == ab.Vector({1: 4.0, 2: -4.0})
    assert ab.mean([a, b]) == ab.Vector({1: 2.0, 2: -2.0})
    assert ab.largest([a, b]) == ab.Vector({1: 3.0})
    assert ab.smallest([a, b]) == ab.Vector({1: 1.0, 2: -4.0})
    assert ab.mean([ab.DenseVector([1.0]), ab.DenseVector([2.0])]) == ab.DenseVector([1.5])
    assert ab.largest([ab.DenseMatrix([[1.0]]), ab.DenseMatrix([[2.0]])]) == ab.DenseMatrix([[2.0]])
    assert ab.add([ab.Matrix({(1, 1): 1.0}), ab.Matrix({(1, 1): 2.0})]) == ab.Matrix({(1, 1): 3.0})
    assert ab.add([ab.Table({"a": 1}), ab.Table({"a": 2, "b": 3})]) == ab.Table({"a": 3, "b": 3})
    assert ab.mean([ab.Table({"a": 1.0}), ab.Table({"a": 2.0, "b": 3.0})]) == ab.Table({"a": 1.5, "b": 3.0})
    assert ab.smallest([ab.Value(3), ab.Value(2)]) == ab.Value(2)
    alone = ab.add([a])
    alone[1] = 9.0
    assert a[1] == 1.0


def test_merges_teach() -> None:
    with pytest.raises(ValueError, match="at least one"):
        ab.add([])
    with pytest.raises(TypeError, match="give a function of a list of states"):
        ab.mean([3])


def test_augmented_assignment_of_what_state_handed_out_is_a_read_and_a_store() -> None:
    t: ab.Table[str, list[int]] = ab.Table({"a": [1]})
    before = t["a"]
    t["a"] += [2]
    assert (before, t["a"]) == ([1], [1, 2])
    s: ab.Table[str, set[int]] = ab.Table({"a": {1}})
    s["a"] |= {2}
    assert s["a"] == {1, 2}
