"""Accesses to state as statements of a kernel: one probe per key and row.

A probe is remembered as long as it holds: until a variable of its key changes, another key may have entered the state,
or ways through the code meet. Entries do not move while a kernel runs, so what was found stays where it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from anabranch.graph.code import Access, Body, Expr, Local, free_names, walk
from anabranch.graph.nodes import State
from anabranch.kernels.native.copies import deep_copy
from anabranch.kernels.native.dense_accesses import dense_access
from anabranch.kernels.native.keys import Ahead, entry_ahead, hash_ahead, hash_of
from anabranch.kernels.native.layout import TEXT, NotInKernels, kinds
from anabranch.kernels.native.lines import LINE_WORDS
from anabranch.kernels.native.memory import STORES
from anabranch.kernels.native.once import INSTANCE, Where, store_of
from anabranch.kernels.native.registers import Value, convert, nothing, registers
from anabranch.kernels.native.scope import Scope, item_of
from anabranch.kernels.native.shapes import Shape
from anabranch.kernels.native.steps import Steps
from anabranch.lang import DenseMatrix, DenseVector, Matrix, Table, Vector
from anabranch.lang import Value as ValueState
from anabranch.lang.types import (
    BOOL,
    FLOAT,
    INT,
    NONE,
    VECTOR,
    Dense,
    List,
    Optional,
    Record,
    Scalar,
    Sparse,
    Tuple,
    Type,
    optional,
    thaw,
)


@dataclass(slots=True)
class Probe:
    """What a search has found: the names of the variables that hold it."""

    where: Where
    entry: str  # the number of the entry, below zero if there is none
    present: str
    hashed: str
    key: Value
    expr: Expr


class Accesses:
    """The accesses of one function; `instance` names the variable with the address of the instance.

    `ahead` are the keys whose hashes, and entries if they have some, the ring of the context holds for row `j`.
    """

    def __init__(self, scope: Scope, shapes: dict[str, Shape], ahead: Sequence[Ahead] = ()) -> None:
        self.scope, self.out, self._shapes, self._ahead = scope, scope.out, shapes, ahead
        self._probes: dict[tuple[str, str], list[Probe]] = {}
        self._steps = Steps(scope, shapes)
        self.looking_ahead = self._steps.looking_ahead
        scope.listeners.append(self._changed)

    # -- what is remembered -----------------------------------------------------------------------------------------

    def _changed(self, name: str) -> None:
        for probes in self._probes.values():
            probes[:] = [p for p in probes if name not in free_names(p.expr)]

    def branch(self) -> dict[tuple[str, str], list[Probe]]:
        return {where: list(probes) for where, probes in self._probes.items()}

    def join(self, known: dict[tuple[str, str], list[Probe]]) -> None:
        """Go on with what is known elsewhere."""
        self._probes = {where: list(probes) for where, probes in known.items()}

    def forget(self, states: set[str], names: set[str]) -> None:
        self._probes = {
            where: [p for p in probes if not free_names(p.expr) & names]
            for where, probes in self._probes.items()
            if where[0] not in states
        }

    # -- one access -------------------------------------------------------------------------------------------------

    def write(self, stmt: Access, state: State, instance: str, borrow: bool) -> None:
        found = self.value(stmt, state, instance, borrow)
        if stmt.target is not None:
            self.scope.assign(stmt.target, found)

    def value(self, stmt: Access, state: State, instance: str, borrow: bool) -> Value:
        """What the access gives, which has yet to become the value of its target."""
        shape = self._shapes[state.name]
        if not shape.fits:
            raise NotInKernels(shape.why)
        where = self._where(instance, shape)
        if state.cls is Table:
            found = self._table(stmt, shape, where)
        elif state.cls is Vector:
            found = self._vector(stmt, shape, where)
        elif state.cls is Matrix:
            found = self._matrix(stmt, shape, where, borrow)
        elif state.cls is ValueState:
            found = self._value_state(stmt, shape, where)
        elif state.cls in (DenseVector, DenseMatrix):
            found = dense_access(self.scope, stmt, state.cls, where)
        else:
            raise NotInKernels(f"{state.cls.__name__} is not in the kernels' table")
        return Value(NONE, ()) if found is None else found

    def _where(self, instance: str, shape: Shape) -> Where:
        if instance == INSTANCE:
            return self.scope.module.once.store(shape)
        return store_of(instance, self.out.let(f"load({instance} + {STORES + 8 * shape.number})", "h"))

    def _probe(self, shape: Shape, where: Where, expr: Expr, key: Value) -> Probe:
        known = self._probes.setdefault((shape.name, where.instance), [])
        for probe in known:
            if probe.expr == expr:
                return probe
        key = self.scope.write.name_words(key)
        ahead = [n for n, a in enumerate(self._ahead) if a.shape == shape and a.key == expr]
        hint, hashing = "-1", hash_of(key)
        variable = shape.name, expr.name if isinstance(expr, Local) and where.instance == INSTANCE else ""
        if where.instance == INSTANCE:
            hint = self._steps.hints.get(variable, hint)
            if ahead:
                hint, hashing = f"load({entry_ahead(ahead[0])})", f"load({hash_ahead(ahead[0])})"
        search = (
            f"{self.scope.module.finder(shape)}({where.search}, {where.entries}, {hint}, {{}}, {', '.join(key.words)})"
        )
        if variable in self._steps.found:
            entry, hashed = self._steps.found[variable]
            with self.out.block(f"if {entry} < 0:"):
                self.out.line(f"{hashed} = {hashing}")
                self.out.line(f"{entry} = {search.format(hashed)}")
        else:
            hashed = self.out.let(hashing)
            entry = self.out.fresh(search.format(hashed), "e")
        present = self.out.fresh(f"({entry} >= 0 and load({where.entry(shape, entry)}) < 0)", "p")
        probe = Probe(where, entry, present, hashed, key, expr)
        known.append(probe)
        return probe

    def _only(self, shape: Shape, probe: Probe) -> None:
        """Another key has come into the state: what was not found may be there now."""
        for where, probes in self._probes.items():
            if where[0] == shape.name:
                probes[:] = [p for p in probes if p is probe]

    # -- entries ------------------------------------------------------------------------------------------------------

    def _read(self, shape: Shape, probe: Probe, default: Value | None) -> Value:
        """The value of an entry; the default, or out of the kernel, where there is none."""
        t = thaw(shape.value)
        names = [self.out.name("r") for _ in registers(t)]
        if default is None:
            with self.out.block(f"if not {probe.present}:"):
                self.out.line("raise Leave")
            self._load_into(names, shape, probe)
        else:
            with self.out.block(f"if {probe.present}:"):
                self._load_into(names, shape, probe)
            with self.out.block("else:"):
                self._let(names, convert(default, t))
        return Value(t, tuple(names))

    def _load_into(self, names: list[str], shape: Shape, probe: Probe) -> None:
        address = self.out.fresh(probe.where.entry(shape, probe.entry), "a")
        self._let(names, self.scope.load(shape.value, address, shape.offset))

    def _let(self, names: list[str], value: Value) -> None:
        for name, word in zip(names, value.words, strict=True):
            self.out.line(f"{name} = {word}")

    def _store(self, shape: Shape, probe: Probe, value: Value) -> None:
        """Let an entry have a value, whether it was there or not."""
        scope, out = self.scope, self.out
        keeper = f"c, {probe.where.hdr}"
        value = scope.write.name_words(scope.kept(scope.write.name_words(convert(value, shape.value)), keeper))
        with out.block(f"if {probe.entry} < 0:"):
            # Nothing that may leave the kernel stands between the new entry and its key.
            key = scope.write.name_words(scope.kept(probe.key, keeper))
            out.line(f"{probe.entry} = add_entry(c, {probe.where.hdr}, {probe.entry}, {probe.hashed})")
            address = out.fresh(probe.where.entry(shape, probe.entry), "a")
            scope.store(key, address, 8)
        address = out.fresh(probe.where.entry(shape, probe.entry), "a")
        with out.block(f"if {probe.present}:"):
            old = f"{address} + {shape.offset}, {shape.width}, {shape.number}"
            out.line(f"log_words(c, {probe.where.instance}, {probe.entry}, {old})")
            self._drop(shape.value, address, shape.offset, probe.where.hdr)
        with out.block("else:"):
            out.line(f"appear(c, {probe.where.instance}, {probe.where.hdr}, {probe.entry}, {address})")
        scope.store(value, address, shape.offset)
        out.line(f"{probe.present} = True")
        self._only(shape, probe)

    def _drop(self, t: Type, address: str, offset: int, hdr: str) -> int:
        """Count what an old value referred to as garbage."""
        match thaw(t):
            case Scalar() as scalar:
                if scalar in TEXT:
                    self.out.line(f"drop_heap({hdr}, load({address} + {offset + 8}))")
                return offset + 8 * len(kinds(scalar))
            case Optional(of):
                return self._drop(of, address, offset + 8, hdr)
            case Tuple(items):
                for item in items:
                    offset = self._drop(item, address, offset, hdr)
            case Record(_, fields):
                for _, field in fields:
                    offset = self._drop(field, address, offset, hdr)
            case (List() | Dense()) as listed:
                width = max(len(kinds(item_of(listed))), 1)
                self.out.line(f"drop_heap({hdr}, {8 * width} * load({address} + {offset + 8}))")
                return offset + 16
        return offset

    def _remove(self, shape: Shape, probe: Probe) -> None:
        address = probe.where.entry(shape, probe.entry)
        self.out.line(f"vanish(c, {probe.where.instance}, {probe.where.hdr}, {probe.entry}, {address})")
        self.out.line(f"{probe.present} = False")
        self._only(shape, probe)  # another expression may have the same key

    # -- Table ----------------------------------------------------------------------------------------------------

    def _table(self, stmt: Access, shape: Shape, where: Where) -> Value | None:
        method, args, value = stmt.method, stmt.args, self.scope.value
        if not args or method in ("row", "top", "assign"):
            raise NotInKernels(f"{method} of a Table is not in the kernels' table")
        given = [value(a) for a in args[1:]]
        probe = self._probe(shape, where, args[0], convert(value(args[0]), shape.key))
        default = None if shape.default is None else self.scope.constant(shape.default[0], shape.value)
        match method, given:
            case "__getitem__", []:
                return self._read(shape, probe, default)
            case "__contains__", []:
                return Value(BOOL, (self.out.fresh(probe.present),))
            case "get", []:
                if default is not None:
                    return convert(self._read(shape, probe, default), stmt.type)
                found = self._read(shape, probe, nothing(thaw(shape.value)))
                if isinstance(shape.value, Optional):
                    return found
                return Value(optional(found.type), (self.out.fresh(probe.present), *found.words))
            case (("get" | "pop"), [other]):
                return self._or_else(stmt, shape, probe, other)
            case "__setitem__", [stored]:
                self._store(shape, probe, stored)
                return None
            case "__delitem__", []:
                self._read(shape, probe, None)
                self._remove(shape, probe)
                return None
            case "pop", []:
                found = self._read(shape, probe, None)
                self._remove(shape, probe)
                return found
            case "setdefault", [stored]:
                with self.out.block(f"if not {probe.present}:"):
                    self._store(shape, probe, stored)
                return self._read(shape, probe, None)
        raise NotInKernels(f"{method} of a Table is not in the kernels' table")

    def _or_else(self, stmt: Access, shape: Shape, probe: Probe, other: Value) -> Value:
        """`get` or `pop` with a second argument, of which they give a copy, coerced unless it is None."""
        t = thaw(stmt.type)
        other = self.scope.write.name_words(other if other.type == NONE else convert(other, shape.value))
        names = [self.out.name("r") for _ in registers(t)]
        with self.out.block(f"if {probe.present}:"):
            inner = [self.out.name("r") for _ in registers(thaw(shape.value))]
            self._load_into(inner, shape, probe)
            self._let(names, convert(Value(thaw(shape.value), tuple(inner)), t))
            if stmt.method == "pop":
                self._remove(shape, probe)
        with self.out.block("else:"):
            self._let(names, convert(deep_copy(self.scope, other, frozen=True), t))
        return Value(t, tuple(names))

    # -- Vector -----------------------------------------------------------------------------------------------------

    def _vector(self, stmt: Access, shape: Shape, where: Where) -> Value | None:
        if not stmt.args or stmt.method not in ("__getitem__", "__setitem__", "__contains__", "get"):
            raise NotInKernels(f"{stmt.method} of a Vector is not in the kernels' table")
        given = [self.scope.value(a) for a in stmt.args[1:]]
        probe = self._probe(shape, where, stmt.args[0], _index(self.scope.value(stmt.args[0])))
        if stmt.method == "__contains__":
            return Value(BOOL, (self.out.fresh(probe.present),))
        if stmt.method != "__setitem__":
            return self._read(shape, probe, given[0] if given else Value(FLOAT, ("0.0",)))
        stored = self.scope.write.name_words(convert(given[0], FLOAT))
        with self.out.block(f"if {stored.word} != 0.0:"):
            self._store(shape, probe, stored)
        with self.out.block(f"elif {probe.present}:"):
            self._remove(shape, probe)
        return None

    # -- Matrix -------------------------------------------------------------------------------------------------------

    def _matrix(self, stmt: Access, shape: Shape, where: Where, borrow: bool) -> Value | None:
        if stmt.method == shape.axis and len(stmt.args) == 1:
            probe = self._probe(shape, where, stmt.args[0], _index(self.scope.value(stmt.args[0])))
            line = self.out.fresh(self._line(shape, probe))
            return Value(VECTOR, (line if borrow else self.out.let(f"copy_line(c, {line})"),))
        if stmt.method == "dot":
            return self._product(shape, where, self.scope.write.named(stmt.args[0]))
        if stmt.method not in ("__getitem__", "__setitem__", "__contains__"):
            raise NotInKernels(f"{stmt.method} of a Matrix is not in the kernels' table")
        exprs = stmt.args[0].args if hasattr(stmt.args[0], "args") else ()
        if len(exprs) != 2:
            raise NotInKernels("an index of a Matrix that is no pair")
        i, j = exprs if shape.axis == "row" else reversed(exprs)
        index = self.scope.write.name_words(_index(self.scope.value(j)))
        given = [self.scope.value(a) for a in stmt.args[1:]]
        probe = self._probe(shape, where, i, _index(self.scope.value(i)))
        if stmt.method == "__setitem__":
            self._set_cell(shape, probe, index.word, self.scope.write.name_words(convert(given[0], FLOAT)).word)
            return None
        cell = self.out.fresh(f"get_cell({self._line(shape, probe)}, {index.word})")
        return Value(FLOAT, (cell,)) if stmt.method == "__getitem__" else Value(BOOL, (f"({cell} != 0.0)",))

    def _product(self, shape: Shape, where: Where, vector: Value) -> Value:
        if not isinstance(vector.type, Sparse):
            raise NotInKernels(f"the product of a Matrix and a {vector.type}")
        function = "dot_columns" if shape.axis == "column" else "dot_rows"
        return Value(VECTOR, (self.out.fresh(f"{function}(c, {where.hdr}, {vector.word})"),))

    def _line(self, shape: Shape, probe: Probe) -> str:
        address = f"{probe.where.entry(shape, probe.entry)} + {shape.offset}"
        return f"({address} if {probe.entry} >= 0 else 0)"

    def _set_cell(self, shape: Shape, probe: Probe, index: str, value: str) -> None:
        out = self.out
        with out.block(f"if {value} != 0.0 or {probe.entry} >= 0:"):
            with out.block(f"if {probe.entry} < 0:"):
                out.line(f"{probe.entry} = add_entry(c, {probe.where.hdr}, {probe.entry}, {probe.hashed})")
                address = out.fresh(probe.where.entry(shape, probe.entry), "a")
                self.scope.store(probe.key, address, 8)
                for i in range(LINE_WORDS):
                    out.line(f"store({address} + {shape.offset + 8 * i}, 0)")
            line = f"{probe.where.entry(shape, probe.entry)} + {shape.offset}"
            out.line(f"set_line(c, {probe.where.instance}, {probe.where.hdr}, {probe.entry}, {line}, {index}, {value})")
        self._only(shape, probe)

    # -- Value -------------------------------------------------------------------------------------

    def _value_state(self, stmt: Access, shape: Shape, where: Where) -> Value | None:
        address = self.out.fresh(where.entries, "a")
        if stmt.method == "value":
            return self.scope.write.name_words(self.scope.load(shape.value, address, shape.offset))
        if stmt.method != "value=":
            raise NotInKernels(f"{stmt.method} of a Value is not in the kernels' table")
        named = self.scope.write.name_words
        given = named(convert(self.scope.value(stmt.args[0]), shape.value))
        stored = named(self.scope.kept(given, f"c, {where.hdr}"))
        self.out.line(f"log_value(c, {where.instance}, {where.hdr}, 0, {address})")
        self._drop(shape.value, address, shape.offset, where.hdr)
        self.scope.store(stored, address, shape.offset)
        return None


def _index(value: Value) -> Value:
    if value.type != INT:
        raise NotInKernels(f"an index of type {value.type}")
    return value


def written_in(body: Body) -> set[str]:
    """The states that a body writes."""
    return {s.state for s in walk(body) if isinstance(s, Access) and s.writes}
