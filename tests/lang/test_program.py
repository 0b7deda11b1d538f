"""Programs as plain Python: states, templates, configuration, requests."""

import copy
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import anabranch as ab
from anabranch.lang import describe
from anabranch.lang.marks import same_state


class Bank(ab.Program):
    balance: ab.Partitioned[ab.Table[str, int]]
    log: ab.Partial[ab.Value[list[str]]]
    total: ab.Replicated[ab.Vector]

    def __init__(self, limit: int = 100) -> None:
        self.balance = ab.Table(default=0)
        self.log = ab.Value([])
        self.limit = limit

    def deposit(self, who: str, amount: int) -> int:
        """Put money in."""
        self.balance[who] += amount
        self.log.value = [*self.log.value, who]
        self.total[0] += amount
        self._check(who)
        return self.balance[who]

    def _check(self, who: str) -> None:
        if self.balance[who] > self.limit:
            raise ValueError(f"{who} is over {self.limit}")

    def move(self, source: str, target: str, amount: int) -> None:
        self.deposit(source, -amount)
        self.deposit(target, amount)

    def wrong_result(self) -> int:
        self.balance["x"] = 1
        return "x"  # type: ignore[return-value]

    def wrong_none(self) -> None:
        return 3  # type: ignore[return-value]

    def wrong_call(self) -> None:
        self.deposit("a", 2**63)

    def big(self, n: int) -> int:
        return n * 2


def test_calls_take_effect_whole_or_not_at_all() -> None:
    bank = Bank()
    assert bank.deposit("a", 5) == 5 and bank.deposit(who="a", amount=6) == 11
    before = copy.deepcopy(bank)
    with pytest.raises(ValueError, match="a is over 100") as caught:
        bank.move("b", "a", 95)
    for name in ("balance", "log", "total"):
        assert same_state(getattr(bank, name), getattr(before, name))
    assert caught.value.args == ("a is over 100",)
    [note] = caught.value.__notes__
    assert note.startswith("in entry 'move', row 0, at test_program.py:")
    assert note.endswith(': raise ValueError(f"{who} is over {self.limit}")')
    bank.move("a", "b", 1)
    assert (bank.balance["a"], bank.balance["b"]) == (10, 1)


def test_keyboard_interrupt_rolls_back() -> None:
    class Stuck(ab.Program):
        t: ab.Partitioned[ab.Table[int, int]]

        def go(self, k: int) -> None:
            self.t[k] = 1
            raise KeyboardInterrupt

    stuck = Stuck()
    with pytest.raises(KeyboardInterrupt):
        stuck.go(1)
    assert len(stuck.t) == 0


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda b: b.wrong_result(), TypeError, "wrong_result: result: expected int, got 'x' (str)"),
        (lambda b: b.wrong_none(), TypeError, "wrong_none: expected no result, got 3 (int); it is declared -> None"),
        (lambda b: b.big(2**62), OverflowError, "big: result: expected int, got 9223372036854775808 (int)"),
        (lambda b: b.wrong_call(), OverflowError, "deposit: argument 'amount': expected int"),
    ],
)
def test_errors_of_user_code_are_plain(call: Any, error: type[Exception], text: str) -> None:
    bank = Bank()
    with pytest.raises(error) as caught:
        call(bank)
    assert not isinstance(caught.value, ab.BadInput)
    assert str(caught.value).startswith(text)
    assert len(caught.value.__notes__) == 1 and len(bank.balance) == 0


def test_a_wrong_result_points_at_the_entry() -> None:
    with pytest.raises(TypeError) as caught:
        Bank().wrong_none()
    assert caught.value.__notes__[0].endswith(": def wrong_none(self) -> None:")


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda b: b.deposit(3, 1), "deposit: row 0, column 'who': expected str, got 3 (int)"),
        (lambda b: b.deposit("a"), "deposit: row 0, column 'amount': missing; expected int"),
        (
            lambda b: b.deposit("a", 1, 2),
            "deposit: row 0: expected 2 (who, amount), got 3 arguments; leave out the last",
        ),
        (
            lambda b: b.deposit("a", 1, much=2),
            "deposit: row 0, column 'much': not a parameter; expected 2 (who, amount)",
        ),
        (lambda b: b.deposit("a", 1, who="b"), "deposit: row 0, column 'who': given twice, by place and by name"),
        (
            lambda b: b.deposit("a", None),
            "deposit: row 0, column 'amount': expected int, got None; declare amount: int | None to allow it",
        ),
    ],
)
def test_bad_input_names_entry_row_and_column(call: Any, text: str) -> None:
    with pytest.raises(ab.BadInput) as caught:
        call(Bank())
    assert str(caught.value) == text
    assert caught.value.entry == "deposit" and caught.value.row == 0


def test_input_overflow_is_both() -> None:
    with pytest.raises(OverflowError) as caught:
        Bank().deposit("a", 2**63)
    assert isinstance(caught.value, ab.BadInput) and caught.value.value == 2**63


def test_entries_look_like_the_methods() -> None:
    bank = Bank()
    assert bank.deposit.__doc__ == "Put money in." == Bank.deposit.__doc__
    assert bank.deposit.__name__ == "deposit" == bank.deposit.name  # type: ignore[attr-defined]
    assert sorted(bank.entries) == ["big", "deposit", "move", "wrong_call", "wrong_none", "wrong_result"]
    assert bank.entries["deposit"]("a", 1) == 1
    import inspect

    assert list(inspect.signature(bank.deposit).parameters) == ["who", "amount"]
    assert "Put money in" in inspect.getsource(Bank.deposit)
    assert Bank.deposit(bank, "a", 1) == 2


# -- configuration and templates --------------------------------------------------------------------------------


class Configured(ab.Program):
    RATES = {"a": [1, 2]}  # noqa: RUF012
    alpha: float
    grid: np.ndarray[Any, Any]
    t: ab.Partitioned[ab.Table[int, int]]

    def __init__(self, words: set[str]) -> None:
        self.alpha = 1
        self.words = words
        self.nested = {"x": []}  # type: ignore[var-annotated]
        self.nested["x"].append((1, "a"))
        self.grid = np.zeros(2)
        self.t[1] = 5

    def write(self) -> None:
        self.fresh = 1

    def rate(self) -> None:
        self.RATES["a"].append(3)


def test_configuration_is_frozen() -> None:
    words = {"a"}
    p = Configured(words)
    words.add("b")
    assert p.words == {"a"} and type(p.alpha) is float and p.nested == {"x": [(1, "a")]}
    assert set(p.__anabranch_config__) == {"RATES", "alpha", "grid", "words", "nested"}
    changes: list[Callable[[], Any]] = [
        lambda: p.words.add("c"),
        lambda: p.nested["x"].append((2, "b")),
        lambda: p.RATES.clear(),
        p.rate,
    ]
    for change in changes:
        with pytest.raises(ab.FrozenError, match="belongs to the configuration"):
            change()
    with pytest.raises(ValueError, match="read-only"):
        p.grid[0] = 1.0
    for change in (lambda: setattr(p, "alpha", 2.0), lambda: delattr(p, "alpha"), p.write, lambda: delattr(p, "t")):
        with pytest.raises(AttributeError) as caught:
            change()
        assert isinstance(caught.value, ab.FrozenError)
    with pytest.raises(AttributeError, match=r"self\.t\.assign"):
        p.t = ab.Table()
    assert Configured.RATES == {"a": [1, 2]}


def test_filling_a_state_in_init_is_part_of_its_template() -> None:
    p = Configured(set())
    assert p.__anabranch_templates__["t"] == ab.Table({1: 5})
    p.t[2] = 6
    assert p.__anabranch_templates__["t"] == ab.Table({1: 5})


@pytest.mark.parametrize("value", [object(), open, [1, "a"], {1: object()}, 2**63, np.array([object()])])
def test_no_configuration(value: object) -> None:
    class P(ab.Program):
        def __init__(self) -> None:
            self.thing = value

    with pytest.raises(ab.ProgramError, match=r"P\.thing cannot be configuration"):
        P()


def test_templates_are_copies_and_are_checked() -> None:
    shared = ab.DenseVector([1.0])

    class P(ab.Program):
        w: ab.Partial[ab.DenseVector]
        v: ab.Partial[ab.Value[float]]
        t: ab.Partial[ab.Table[int, float]]

        def __init__(self, v: Any = 1) -> None:
            self.w = ab.partial(shared, merge=ab.mean)
            self.v = v if isinstance(v, str) else ab.Value(v)  # type: ignore[assignment]
            self.t = ab.partial(ab.Table(default=0), merge=ab.largest)

        def go(self) -> float:
            self.w[0] += 1
            return self.v.value + self.t[1]

    p = P()
    assert p.go() == 1.0 and type(p.t[1]) is float
    assert shared[0] == 1.0 and p.w[0] == 2.0 and p.__anabranch_templates__["w"][0] == 1.0
    assert p.__anabranch_merges__ == {"w": ab.mean, "v": None, "t": ab.largest}
    with pytest.raises(ab.ProgramError, match=r"P.v is Partial\[Value\[float\]\]: expected a Value, got 'x'"):
        P("x")
    with pytest.raises(ab.ProgramError, match="the template does not fit: expected float"):
        P([1])


def test_what_needs_a_template_says_so() -> None:
    class V(ab.Program):
        v: ab.Partial[ab.Value[int]]

    class D(ab.Program):
        w: ab.Replicated[ab.DenseVector]

        def __init__(self) -> None:
            pass

    with pytest.raises(ab.ProgramError, match=r"AB210 state:v: Partial\[Value\[int\]\] needs a template"):
        V()
    with pytest.raises(ab.ProgramError, match=r"self\.w = ab\.DenseVector\.zeros\(d\)"):
        D()


def test_merge_needs_partial_state() -> None:
    class P(ab.Program):
        w: ab.Replicated[ab.DenseVector]

        def __init__(self) -> None:
            self.w = ab.partial(ab.DenseVector.zeros(1), merge=ab.mean)

    with pytest.raises(ab.ProgramError, match="only Partial state"):
        P()


def test_default_merges() -> None:
    class P(ab.Program):
        m: ab.Partial[ab.Matrix]
        n: ab.Partitioned[ab.Matrix]
        t: ab.Partial[ab.Table[int, int]]

    assert P().__anabranch_merges__ == {"m": ab.add, "n": None, "t": None}


def test_copies_of_programs_are_independent() -> None:
    bank = Bank(limit=7)
    twin = copy.copy(bank)
    twin.deposit("a", 1)
    assert len(bank.balance) == 0 and twin.limit == 7
    with pytest.raises(ValueError):
        twin.deposit("a", 100)
    assert twin.balance["a"] == 1


def test_arguments_to_a_program_without_init_are_refused() -> None:
    class P(ab.Program):
        pass

    with pytest.raises(TypeError):
        P(1)  # type: ignore[call-arg]


# -- inheritance, own types -------------------------------------------------------------------------------------


class Counter:
    def __init__(self) -> None:
        self.n: dict[str, int] = {}

    @ab.writes
    def add(self, key: str) -> int:
        self.n[key] = self.n.get(key, 0) + 1
        return self.n[key]


class Counting(ab.Program):
    seen: ab.Partitioned[Counter]

    def see(self, word: str) -> int:
        count = self.seen.add(word)
        if word == "bad":
            raise KeyError(word)
        return count


class Mixin:
    def extra(self, x: int) -> int:
        return x


class Louder(Mixin, Counting):
    def see(self, word: str) -> int:
        return super().see(word.upper())


def test_own_state_types_are_undone() -> None:
    p = Counting()
    p.see("a")
    with pytest.raises(KeyError):
        p.see("bad")
    assert p.seen.n == {"a": 1}
    with pytest.raises(KeyError):
        p.see.many([("a",), ("bad",)])  # type: ignore[attr-defined]
    assert p.seen.n == {"a": 1}


def test_inherited_entries() -> None:
    p = Louder()
    assert p.see("a") == 1 and p.seen.n == {"A": 1} and p.extra(3) == 3
    assert sorted(p.entries) == ["extra", "see"] and list(describe(Louder).states) == ["seen"]
    with pytest.raises(ab.BadInput):
        p.extra("x")  # type: ignore[arg-type]


def test_distribution_words_in_plain_python() -> None:
    v = ab.Vector()
    assert ab.everywhere(v) is v and ab.local(v) is v and ab.gather(v) == [v]
    f = ab.pure(max)
    assert f(1, 2) == 2 and f.__anabranch_pure__ is max  # type: ignore[attr-defined]


class Pair(NamedTuple):
    a: int
    b: list[int]


def test_arguments_and_results_are_copies() -> None:
    class P(ab.Program):
        kept: ab.Partitioned[ab.Table[int, Pair]]

        def put(self, p: Pair) -> Pair:
            p.b.append(9)
            self.kept[p.a] = p
            return self.kept[p.a]

    p, mine = P(), Pair(1, [1])
    got = p.put(mine)
    assert mine == Pair(1, [1]) and got == Pair(1, [1, 9])
    got.b.append(3)
    assert p.kept[1] == Pair(1, [1, 9])
