"""Kinds of values that can change, and what may stand between two names of one: the tables of `test_sharing`."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Kind:
    """A type of value: how to make one, how to change `x` in place, and an integer that tells how often it was.

    What a record holds is changed under the name that it had before: `start` makes `a` with such a name.
    """

    name: str
    type: str
    make: str
    change: str
    show: str
    start: str = ""

    @property
    def inside(self) -> str:
        """The change where only the value is known."""
        return "pass" if self.start else self.change


def _of_record(name: str, type: str, make: str, show: str) -> Kind:
    return Kind(name, type, make, "zs.append(7)", show, f"zs = [k, 2]\na = {make.replace('[k, 2]', 'zs')}")


_DENSE_RECORD = Kind("dense_record", "Dense", "Dense(ab.DenseVector([1.0]), k)", "v[0] += 1.0", "int(x.v[0])")
KINDS = (
    Kind("list", "list[int]", "[k, 2]", "x.append(7)", "len(x)"),
    Kind("lists", "list[list[int]]", "[[k], [2]]", "x[0].append(7)", "len(x[0])"),
    Kind("dict", "dict[int, int]", "{k: 1, k + 1: 2}", "x[k + 1 + len(x)] = 7", "len(x)"),
    Kind("dict_of_lists", "dict[int, list[int]]", "{0: [1]}", "x[0].append(7)", "len(x[0])"),
    Kind("set", "set[int]", "{k, 2}", "x.add(k + 1 + len(x))", "len(x)"),
    Kind("dense", "ab.DenseVector", "ab.DenseVector([1.0, 2.0])", "x[0] += 1.0", "int(x[0])"),
    Kind("vector", "ab.Vector", "ab.Vector({k: 2.0})", "x[k] += 1.0", "int(x[k])"),
    Kind("tuple", "tuple[list[int], int]", "([k, 2], k)", "x[0].append(7)", "len(x[0])"),
    Kind("tuples", "list[tuple[list[int], int]]", "[([k, 2], k)]", "x[0][0].append(7)", "len(x[0][0])"),
    Kind("denses", "list[ab.DenseVector]", "[ab.DenseVector([1.0])]", "x[0][0] += 1.0", "int(x[0][0])"),
    _of_record("record", "Named", "Named([k, 2], k)", "len(x.xs)"),
    _of_record("frozen", "Frozen", "Frozen(k, [k, 2])", "len(x.xs)"),
    _of_record("nested", "Outer", "Outer(Named([k, 2], k), k)", "len(x.inner.xs)"),
    _of_record("records", "list[Named]", "[Named([k, 2], k)]", "len(x[0].xs)"),
    _of_record("maybe", "Maybe", "Maybe([k, 2], k)", "len(x.xs or [])"),
    replace(_DENSE_RECORD, start="v = ab.DenseVector([1.0])\na = Dense(v, k)"),
)

PRELUDE = """
from __future__ import annotations
import dataclasses
from dataclasses import dataclass
from typing import NamedTuple
import anabranch as ab

class Named(NamedTuple):
    xs: list[int]
    n: int

@dataclass(frozen=True)
class Frozen:
    n: int
    xs: list[int]

class Outer(NamedTuple):
    inner: Named
    n: int

class Dense(NamedTuple):
    v: ab.DenseVector
    n: int

class Maybe(NamedTuple):
    xs: list[int] | None
    n: int

class Box(NamedTuple):
    x: {type}
    n: int

@dataclass(frozen=True)
class Case:
    n: int
    x: {type}

def same(x: {type}) -> {type}:
    return x

def first(x: {type}, y: {type}) -> {type}:
    z = x
    return z

def change(x: {type}, k: int) -> None:
    {change}

@ab.pure
def pure(x: {type}) -> {type}:
    return x
"""

HEADER = """
class P(ab.Program):
    n: ab.Partitioned[ab.Table[int, int]] = ab.Table(default=0)
    t: ab.Partitioned[ab.Table[int, {type}]]
    box: ab.Partitioned[ab.Table[int, Box]]
    one: ab.Replicated[ab.Value[list[int]]] = ab.Value([1])
    mine: ab.Partial[ab.Table[int, {type}]]
    config: {type}

    def __init__(self) -> None:
        k = 2
        self.config = {make}

    def _id(self, x: {type}) -> {type}:
        return x

    def _counted(self, x: {type}, k: int) -> {type}:
        self.n[k] += 1
        return x

    def _change(self, x: {type}, k: int) -> None:
        {change}

    def _change_counted(self, x: {type}, k: int) -> None:
        self.n[k] += 1
        {change}

    def _fresh(self, x: {type}, k: int) -> {type}:
        x = {make}
        return x

    def take(self, x: {type}, k: int) -> int:
        {change}
        return k

    def take_counted(self, x: {type}, k: int) -> int:
        self.n[k] += 1
        {change}
        return k

    def give(self, x: {type}) -> {type}:
        return x

    def give_counted(self, x: {type}, k: int) -> {type}:
        self.n[k] += 1
        return x

    def give_changed(self, x: {type}, k: int) -> {type}:
        {change}
        return x

    def give_box(self, b: Box) -> {type}:
        return b.x

    def make_box(self, x: {type}) -> Box:
        return Box(x, 1)

    def give_maybe(self, x: {type} | None) -> {type} | None:
        return x

    def give_pair(self, x: {type}) -> tuple[{type}, {type}]:
        return x, x

    def stored(self, x: {type}, k: int) -> {type}:
        self.t[k] = x
        return x
"""

# Statements that leave two names, `a` and `b`, of values that plain Python does or does not share; `NEW` makes a value.
CROSSINGS = {
    "alias": "b = a",
    "chain": "a = b = NEW",
    "helper": "b = self._id(a)",
    "helper_counted": "b = self._counted(a, k)",
    "helper_changes": "b = a\nself._change(a, k)",
    "helper_counted_changes": "b = a\nself._change_counted(a, k)",
    "helper_rebinds": "b = self._fresh(a, k)",
    "function": "b = same(a)",
    "function_of_two": "b = first(a, a)",
    "function_changes": "b = a\nchange(a, k)",
    "record": "b = Box(a, k).x",
    "record_name": "r = Box(a, k)\nb = r.x",
    "record_unpacked": "b, _ = Box(a, k)",
    "record_replaced": "b = Box(a, k)._replace(n=2).x",
    "record_replaced_with": "b = Box(NEW, k)._replace(x=a).x",
    "record_in_list": "rs = [Box(a, k)]\nb = rs[0].x",
    "case": "b = Case(k, a).x",
    "case_replaced": "b = dataclasses.replace(Case(k, a), n=2).x",
    "case_replaced_with": "b = dataclasses.replace(Case(k, NEW), x=a).x",
    "tuple": "p = (k, a)\nb = p[1]",
    "tuple_unpacked": "_, b = k, a",
    "tuple_joined": "b = ((k,) + (a,))[1]",
    "tuple_nested": "(_, (b, _)) = k, (a, k)",
    "swapped": "b = NEW\na, b = b, a\nb = a",
    "list_item": "xs = [a]\nb = xs[0]",
    "list_appended": "xs = [NEW]\nxs.append(a)\nb = xs[1]",
    "list_inserted": "xs = [NEW]\nxs.insert(0, a)\nb = xs[0]",
    "list_extended": "xs = [NEW]\nxs.extend([a])\nb = xs[1]",
    "list_popped": "xs = [a]\nb = xs.pop()",
    "list_set": "xs = [NEW]\nxs[0] = a\nb = xs[-1]",
    "list_slice": "b = [a][:][0]",
    "list_stepped": "b = [a, a][::-1][0]",
    "list_copy": "b = [a].copy()[0]",
    "list_of_list": "b = list([a])[0]",
    "list_joined": "b = ([a] + [NEW])[0]",
    "list_repeated": "b = ([a] * 2)[1]",
    "list_augmented": "xs = [NEW]\nys = xs\nxs += [a]\nb = ys[-1]",
    "list_reversed": "b = list(reversed([a]))[0]",
    "list_reverse": "xs = [a, NEW]\nxs.reverse()\nb = xs[1]",
    "list_unpacked": "b, _ = [a, NEW]",
    "list_sorted": "b = sorted([a], key=lambda y: 1)[0]",
    "least": "b = min([a], key=lambda y: 1)",
    "comprehension": "b = [y for y in [a]][0]",
    "captured": "b = [a for _ in range(2)][1]",
    "made_twice": "bs = [NEW for _ in range(2)]\na, b = bs[0], bs[1]",
    "repeated_twice": "bs = [NEW] * 2\na, b = bs[0], bs[1]",
    "comprehension_of_tuples": "b = [y for _, y in [(k, a)]][0]",
    "comprehension_of_dict": "b = {i: a for i in range(2)}[1]",
    "dict_item": "d = {k: a}\nb = d[k]",
    "dict_set": "d = {k: NEW}\nd[k] = a\nb = d[k]",
    "dict_get": "b = {k: a}.get(k, NEW)",
    "dict_default": "b = {k + 1: NEW}.get(k, a)",
    "dict_maybe": "b = NEW\nfound = {k: a}.get(k)\nif found is not None:\n    b = found",
    "dict_pop": "b = {k: a}.pop(k)",
    "dict_pop_default": "b = {k + 1: NEW}.pop(k, a)",
    "dict_setdefault": "d = {k + 1: NEW}\nb = d.setdefault(k, a)",
    "dict_setdefault_there": "d = {k: a}\nb = d.setdefault(k, NEW)",
    "dict_values": "b = list({k: a}.values())[0]",
    "dict_items": "b = NEW\nfor _, y in {k: a}.items():\n    b = y",
    "dict_updated": "d = {k: NEW}\nd.update({k: a})\nb = d[k]",
    "dict_copy": "b = {k: a}.copy()[k]",
    "dict_merged": "b = ({k: NEW} | {k: a})[k]",
    "if": "b = NEW\nif k > 0:\n    b = a",
    "if_else": "if k > 0:\n    b = a\nelse:\n    b = NEW",
    "choice": "b = a if k > 0 else NEW",
    "choice_not": "b = NEW if k > 0 else a",
    "choice_of_items": "xs = [a]\nb = xs[0] if k > 0 else NEW",
    "match": "match k % 2:\n    case 0:\n        b = a\n    case _:\n        b = NEW",
    "match_record": "match Box(a, k):\n    case Box(y, _):\n        b = y\n    case _:\n        b = NEW",
    "match_tuple": "match (k % 2, a):\n    case (0, y):\n        b = y\n    case _:\n        b = NEW",
    "loop": "b = NEW\nfor y in [a]:\n    b = y",
    "loop_late": "b = NEW\nfor i in range(3):\n    if i == 1:\n        b = a",
    "loop_enumerated": "b = NEW\nfor _, y in enumerate([a]):\n    b = y",
    "loop_zipped": "b = NEW\nfor y, _ in zip([a], range(2)):\n    b = y",
    "loop_of_tuple": "b = NEW\nfor y in (NEW, a):\n    b = y",
    "while": "b = NEW\nwhile b == NEW and k > 1:\n    b = a\n    k -= 1\nb = a",
    "maybe": "b = NEW\nmaybe: TYPE | None = None\nif k > 0:\n    maybe = a\nif maybe is not None:\n    b = maybe",
    "local": "b = ab.local(a)",
    "argument": "b = a\nself.take(a, k)",
    "argument_counted": "b = a\nself.take_counted(a, k)",
    "argument_named": "b = a\nself.take(x=a, k=k)",
    "argument_item": "b = a\nxs = [a]\nself.take_counted(xs[0], k)",
    "result": "b = self.give(a)",
    "result_counted": "b = self.give_counted(a, k)",
    "result_changed": "b = self.give_changed(a, k)",
    "result_of_box": "b = self.give_box(Box(a, k))",
    "result_in_box": "b = self.make_box(a).x",
    "result_maybe": "b = NEW\nfound = self.give_maybe(a)\nif found is not None:\n    b = found",
    "result_none": "b = a\nfound = self.give_maybe(None)\nif found is not None:\n    b = found",
    "result_pair": "_, b = self.give_pair(a)",
    "result_pair_inside": "a, b = self.give_pair(a)",
    "result_twice": "b = self.give(self.give(a))",
    "result_stored": "b = self.stored(a, k)",
    "result_captured": "bs = [self.give(a) for _ in range(2)]\nb = bs[1]",
    "result_captured_twice": "bs = [self.give(a) for _ in range(2)]\na, b = bs[0], bs[1]",
    "result_chosen": "b = self.give(a) if k > 0 else NEW",
    "result_of_item": "b = [self.give(y) for y in [a]][0]",
    "result_in_loop": "b = NEW\nfor y in [a]:\n    b = self.give_counted(y, k)",
    "result_of_state": "self.t[k] = a\nb = self.give(self.t[k])",
    "result_of_state_counted": "self.t[k] = a\na = self.give_counted(self.t[k], k)\nb = self.give(self.t[k])",
    "result_of_config": "c = self.config\nb = self.give(self.config)",
    "loop_of_arguments": "b = a\nfor _ in range(2):\n    self.take_counted(b, k)",
    "pure": "b = pure(a)",
    "stored": "self.t[k] = a\nb = self.t[k]",
    "stored_changed": "self.t[k] = a\nb = self.t[k]\nself.take_counted(a, k)\nself.t[k] = a",
    "stored_deleted": "self.t[k] = a\nb = self.t[k]\ndel self.t[k]",
    "stored_alias": "self.t[k] = a\nc = self.t[k]\nself.t[k] = c\nb = self.t[k]",
    "default": "b = self.t.get(k, a)",
    "default_there": "self.t[k] = NEW\nb = self.t.get(k, a)",
    "default_of_box": "b = self.box.get(k, Box(a, k)).x",
    "default_mine": "b = self.mine.get(k, a)",
    "default_choice": "b = self.t.get(k, a if k > 0 else NEW)",
    "default_pop": "b = self.t.pop(k, a)",
    "popped": "self.t[k] = a\nb = self.t.pop(k)",
    "popped_stored": "self.t[k] = a\nb = self.t.pop(k)\nself.take_counted(a, k)\nself.t[k] = a",
    "setdefault": "b = self.t.setdefault(k, a)",
    "setdefault_there": "self.t[k] = NEW\nb = self.t.setdefault(k, a)",
    "stored_mine": "self.mine[k] = a\nb = self.mine[k]",
    "stored_box": "self.box[k] = Box(a, k)\nb = self.box[k].x",
    "stored_twice": "self.t[k] = a\nself.box[k] = Box(self.t[k], k)\nb = self.box[k].x",
    "stored_maybe": "self.t[k] = a\nb = self.t.get(k)\nassert b is not None",
}

OF_LISTS = {
    "plus": "b = a + []",
    "slice": "b = a[:]",
    "repeated": "b = a * 1",
    "sorted": "b = sorted(a)",
    "listed": "b = list(a)",
    "reversed": "b = list(reversed(a))",
    "comprehended": "b = [y for y in a]",
    "augmented": "b = a\nb += [5]",
    "augmented_slice": "b = a[:1]\nb += a",
    "joined_later": "b = a\nb = b + [5]",
    "or": "b = a or [5]",
    "and": "b = a and a",
    "extended_self": "b = a\nb.extend(a)",
    "deleted": "b = a\ndel b[0]",
    "value": "ab.everywhere(self.one).value = a\nb = self.one.value",
    "value_changed": "b = self.one.value\nab.everywhere(self.one).value = a",
    "stored_plus": "self.t[k] = a\nb = self.t[k] + [1]",
    "default_plus": "b = self.t.get(k, a) + [1]",
    "default_listed": "b = list(self.t.get(k, a))",
    "default_stored": "b = self.t.get(k, a)\nself.t[k] = b + [5]",
}
OF_DICTS = {
    "merged": "b = a | {}",
    "copied": "b = a.copy()",
    "made": "b = dict(a)",
    "comprehended": "b = {i: v for i, v in a.items()}",
    "augmented": "b = a\nb |= {5: 5}",
    "or": "b = a or {5: 5}",
}
OF_SETS = {
    "union": "b = a | set()",
    "copied": "b = a.copy()",
    "made": "b = set(a)",
    "augmented": "b = a\nb |= {5}",
    "augmented_less": "b = a\nb -= {2}",
    "comprehended": "b = {i for i in a}",
}
OF_DENSE = {
    "copied": "b = a.copy()",
    "made": "b = ab.DenseVector([i for i in a])",
    "plus": "b = a + a",
    "augmented": "b = a\nb += a",
    "scaled": "b = a\nb *= 2.0",
    "listed": "b = a\nxs = list(a)\nb[0] = xs[0] + 1.0",
}
OWN = {"list": OF_LISTS, "dict": OF_DICTS, "set": OF_SETS, "dense": OF_DENSE}


def crossings(kind: Kind) -> dict[str, str]:
    return CROSSINGS | {f"own_{name}": text for name, text in OWN.get(kind.name, {}).items()}
