"""State of several places, collected at one: what runs there asks for what it touches, and leaves effects.

`fill` is given what `look_up` found at the owner of a part; `effects` is given to `apply` there.

Laws: with the loop {run; on `NotHere` roll back, `fill` what it wants, run again} code gives the results and raises the
exceptions that it would at the owners, and leaves what it would have left there once the effects are applied; what was
filled in is never asked for again; no effect names an entry that was not fetched.
"""

from __future__ import annotations

from typing import Any, NoReturn

from anabranch.graph.nodes import Graph
from anabranch.lang import Program
from anabranch.lang.journal import Journal
from anabranch.lang.marks import is_builtin
from anabranch.state.fetched import Fetched, NotHere
from anabranch.state.found import Effect, Found, Want, apply, content, look_up, part_of
from anabranch.state.guarded import guard
from anabranch.state.hollow import FetchedOwn
from anabranch.state.parts import Owner

__all__ = ["Collected", "Effect", "Found", "NotHere", "Want", "apply", "content", "look_up", "part_of"]

Marks = list[int]


class Collected:
    """All instances of all states as far as fetched: stands in for `Memory` where an uncut entry runs.

    `parts[state][instance]` and `of_instance[instance][state]` are the same objects. `wanted` is what code has asked
    for in vain since the last `rollback`: a `finally` that returns swallows a `NotHere`, but not this.
    """

    def __init__(self, graph: Graph, program: Program, instances: int, owner: Owner) -> None:
        self.owner = owner
        self.wanted: dict[Want, None] = {}
        self._journals = [Journal() for _ in range(instances)]
        self.parts: dict[str, list[Any]] = {}
        self.of_instance: list[dict[str, Any]] = [{} for _ in range(instances)]
        self._fetched: list[dict[str, Fetched | FetchedOwn]] = [{} for _ in range(instances)]
        for journal in self._journals:
            journal.active = True
        for state in graph.states:
            held = program.__anabranch_states__[state.name]
            self.parts[state.name] = []
            for i, journal in enumerate(self._journals):
                if is_builtin(held):
                    fetched = Fetched(state, i, held, journal, self._miss)
                    part = guard(fetched)
                    self._fetched[i][state.name] = fetched
                else:
                    own = FetchedOwn(state, i, held, journal, self._miss)
                    part = own.part
                    self._fetched[i][state.name] = own
                self.parts[state.name].append(part)
                self.of_instance[i][state.name] = part

    def _miss(self, want: Want) -> NoReturn:
        self.wanted[want] = None
        raise NotHere(want)

    def fill(self, want: Want, found: Found) -> None:
        """Let a piece be here; what of it is here already stays as it is. No journal takes this back."""
        self.wanted.pop(want, None)
        self._fetched[want.instance][want.state].fill(want, found)

    def clear(self) -> None:
        """Forget all that was fetched and written."""
        self.wanted.clear()
        for journal, of_state in zip(self._journals, self._fetched, strict=True):
            journal.clear()
            for fetched in of_state.values():
                fetched.clear()

    def mark(self) -> Marks:
        """A point to which all writes can be taken back."""
        return [journal.mark() for journal in self._journals]

    def rollback(self, marks: Marks) -> None:
        self.wanted.clear()
        for journal, mark, of_state in zip(self._journals, marks, self._fetched, strict=True):
            journal.rollback(mark)
            if not len(journal):
                for fetched in of_state.values():
                    fetched.untouch()

    def effects(self) -> list[list[Effect]]:
        """By instance: the pieces that were written, as they are now; more than these may be among them."""
        if self.wanted:
            raise AssertionError(f"a run that lacked {[*self.wanted]} has no effects")
        return [[e for fetched in of_state.values() for e in fetched.effects()] for of_state in self._fetched]
