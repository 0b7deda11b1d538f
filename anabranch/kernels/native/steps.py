"""What the steps of a loop over a sparse vector know of the state that they reach.

A key that is the same in all steps is searched until it is found, and then not again. Memory that a step will need is
asked for some steps before it, as `ahead` does it for rows: for the step `FAR` ahead the entry of its key is found by
its tag, kept in a ring, and asked for; for the one `NEAR` ahead, whose entry is here by now, the cell. So is the cell
of a line that is the same in all steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from anabranch.graph.code import Body, Target, target_names
from anabranch.graph.liveness import assigned
from anabranch.kernels.native.keys import OfStep, OnLine, keys_of_steps, keys_that_stay
from anabranch.kernels.native.loops import Look
from anabranch.kernels.native.memory import LOOP_KEYS, LOOP_RING, LOOP_STEPS
from anabranch.kernels.native.scope import Scope
from anabranch.kernels.native.shapes import Shape
from anabranch.kernels.native.walks import Coming

FAR, NEAR = 12, 6  # steps; less than there are in a ring
Key = tuple[str, str]  # a state and a variable


class Steps:
    """Of the loops around what is being written: where a step finds the entry that its key may have, in `hints`; and in
    `found` the names of the entry, below zero until it is found, and of the hash of a key that stays the same."""

    def __init__(self, scope: Scope, shapes: dict[str, Shape]) -> None:
        self._scope, self._shapes, self._rings = scope, shapes, 0
        self.hints: dict[Key, str] = {}
        self.found: dict[Key, tuple[str, str]] = {}

    @contextmanager
    def looking_ahead(self, target: Target, body: Body) -> Iterator[Look | None]:
        """Around a loop, whose steps then look ahead."""
        hints, found = dict(self.hints), dict(self.found)
        changing = assigned(body) | set(target_names(target))
        out = self._scope.out
        for key in keys_that_stay(self._shapes, body, changing):
            if key not in self.found:
                self.found[key] = out.fresh("-1", "e"), out.fresh("0", "q")

        def look(coming: Coming) -> Callable[[], None]:
            name = target[0] if coming.paired and isinstance(target, tuple) else target
            if not isinstance(name, str) or name in assigned(body):
                return lambda: None
            keys, lines = keys_of_steps(self._shapes, body, name, changing)
            rings = [(self._ring(coming, key), key) for key in keys[: LOOP_KEYS - self._rings]]
            return write_steps_ahead(self._scope, coming, rings, lines)

        yield look
        self.hints, self.found = hints, found

    def _ring(self, coming: Coming, key: OfStep) -> str:
        ring = f"c + {LOOP_RING + 8 * LOOP_STEPS * self._rings} + 8 * ({{}} & {LOOP_STEPS - 1})"
        self._rings += 1
        self.hints[key.shape.name, key.name] = f"load({ring.format(f'({coming.at} - 1)')})"
        return ring


def write_steps_ahead(
    scope: Scope, coming: Coming, keys: Sequence[tuple[str, OfStep]], lines: Sequence[OnLine]
) -> Callable[[], None]:
    """Write what stands before the loop; gives what writes the beginning of each step.

    With each key there is how its ring is written: the address of the word for the number of a step.
    """
    if not keys and not lines:
        return lambda: None
    out = scope.out
    far, near = out.fresh("0", "s"), out.fresh("0", "s")
    hashes = [f"hash_int({scope.write.named(line.key).word})" for line in lines]
    found = [out.fresh(_likely(scope, line.shape, hashed), "e") for line, hashed in zip(lines, hashes, strict=True)]

    def write() -> None:
        if keys:
            with out.block(f"while {far} < {coming.steps} and {far} <= {coming.at} + {FAR}:"):
                _write_far(scope, coming, far, keys)
                out.line(f"{far} += 1")
        with out.block(f"while {near} < {coming.steps} and {near} <= {coming.at} + {NEAR}:"):
            for ring, key in keys:
                if key.cell is not None:
                    entry = out.fresh(f"load({ring.format(near)})", "e")
                    _write_near(scope, key.shape, entry, scope.write.named(key.cell).word)
            for line, entry in zip(lines, found, strict=True):
                _write_near(scope, line.shape, entry, coming.key(near))
            out.line(f"{near} += 1")

    return write


def _write_far(scope: Scope, coming: Coming, step: str, keys: Sequence[tuple[str, OfStep]]) -> None:
    out = scope.out
    for ring, _ in keys:
        out.line(f"store({ring.format(step)}, -1)")
    with out.block(f"if {coming.is_there(step)}:"):
        index = out.fresh(coming.key(step), "j")
        for ring, key in keys:
            entry = out.fresh(_likely(scope, key.shape, f"hash_int({index})"), "e")
            out.line(f"store({ring.format(step)}, {entry})")
            with out.block(f"if {entry} >= 0:"):
                address = out.fresh(scope.module.once.store(key.shape).entry(key.shape, entry), "a")
                out.line(f"prefetch({address})")
                out.line(f"prefetch({address} + {min(key.shape.size, 64) - 8})")  # it may begin anywhere in a line


def _write_near(scope: Scope, shape: Shape, entry: str, index: str) -> None:
    with scope.out.block(f"if {entry} >= 0:"):
        address = scope.module.once.store(shape).entry(shape, entry)
        scope.out.line(f"prefetch_cell({address} + {shape.offset}, {index})")


def _likely(scope: Scope, shape: Shape, hashed: str) -> str:
    """The entry that a key most likely has."""
    where, hashed = scope.module.once.store(shape), scope.out.fresh(hashed, "q")
    slot = f"slot_of({hashed}, {where.mask}, {where.chunks}, {where.low}, {where.secret})"
    return f"entry_by_tag({where.index}, {slot}, {where.mask}, {where.numbers}, {hashed})"
