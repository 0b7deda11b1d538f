"""The state of the instances in one address space, with a journal for each.

Laws: writes of an open version can be taken back until it is settled; after `settle(committed)` an instance that
`holds(committed)` is as `committed` left it; it may be repeated. With a budget, `refuse_excess` after the writes of a
request raises if they have grown the states beyond it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Protocol

from anabranch.graph.nodes import Graph
from anabranch.lang import Program
from anabranch.lang.distribution import Distribution
from anabranch.lang.journal import Journal
from anabranch.lang.marks import bind
from anabranch.runtime.messages import NOTHING_YET, Version
from anabranch.runtime.routing import Routing
from anabranch.state.accounts import Account
from anabranch.state.budget import Budget
from anabranch.state.changes import Change, OwnCodec, rows_of, written
from anabranch.state.parts import start


class Arena(Protocol):
    """The flat memory of an instance, which has a log of its own; see `anabranch.kernels.native.stores`."""

    logging: bool
    stores: dict[str, Any]

    def mark(self) -> tuple[int, int]: ...
    def roll_back(self, mark: tuple[int, int]) -> None: ...
    def clear(self) -> None: ...
    def tidy(self) -> bool: ...


Marks = list[tuple[int, tuple[int, int]]]
START = (0, 0)


class Memory:
    """`parts[state][instance]` and `of_instance[instance][state]` are the same objects.

    An instance that is not here (its worker was lost and has not restored it) has no parts. One whose state, or a part
    of it, is in flat memory has an arena.
    """

    def __init__(self, graph: Graph, program: Program | None, routing: Routing, budget: Budget | None = None) -> None:
        """With the states of a program, or with nothing in any instance."""
        self.graph, self.routing, self.budget = graph, routing, budget
        self._accounts = [] if budget is None else [Account({}) for _ in range(routing.instances)]
        if budget is not None:
            budget.accounts.append(self._accounts)
        self.owner: Callable[[Any], int] = routing.owner
        self.parts: dict[str, list[Any]] = {s.name: [None] * routing.instances for s in graph.states}
        self.of_instance: list[dict[str, Any]] = [{} for _ in range(routing.instances)]
        self.journals = [Journal() for _ in range(routing.instances)]
        self.arenas: list[Arena | None] = [None] * routing.instances
        self.follow: Callable[[Callable[[], list[Change]]], None] | None = None  # may ask what each version has changed
        self.own: OwnCodec | None = None  # for it
        self._open: list[Version | None] = [None] * routing.instances  # being written
        self._at: list[Version | None] = [None] * routing.instances  # what is below the journal
        if program is not None:
            spread = start(graph, program, routing.instances, routing.owner)
            for i in range(routing.instances):
                self.put(i, {name: parts[i] for name, parts in spread.items()}, NOTHING_YET)

    def put(self, instance: int, content: dict[str, Any], version: Version) -> None:
        """Let an instance hold this content, whatever it held."""
        journal = self.journals[instance] = Journal()
        self.arenas[instance] = None
        self._open[instance], self._at[instance] = None, version
        self.of_instance[instance] = content
        for name, part in content.items():
            bind(part, journal)
            self.parts[name][instance] = part
        if self._accounts:
            self._accounts[instance] = Account(content)

    def lay_out(self, instance: int, arena: Arena, parts: dict[str, Any]) -> None:
        """Let these states of an instance be the ones in an arena; for when nothing is open."""
        if self._open[instance] is not None:
            raise AssertionError(f"instance {instance} is being written")
        self.arenas[instance] = arena
        for name, part in parts.items():
            bind(part, self.journals[instance])
            self.parts[name][instance] = self.of_instance[instance][name] = part
            if self._accounts:
                self._accounts[instance].leave(name)

    def forget(self, instances: Iterable[int]) -> None:
        """The worker of these instances is lost."""
        for i in instances:
            self.journals[i] = Journal()
            self.arenas[i] = None
            self._open[i] = self._at[i] = None
            self.of_instance[i] = {}
            for parts in self.parts.values():
                parts[i] = None
            if self._accounts:
                self._accounts[i] = Account({})

    def holds(self, instances: Iterable[int], version: Version) -> bool:
        """Are these instances here, and would they be as this version left them if they were settled?"""
        return all(version in (self._at[i], self._open[i]) for i in instances)

    def open(self, instances: Iterable[int], version: Version) -> None:
        """From here on writes can be taken back."""
        for i in instances:
            self._open[i] = version
            self.journals[i].active = True
            arena = self.arenas[i]
            if arena is not None:
                arena.logging = True

    def is_open(self, version: Version) -> bool:
        """Is every instance still here as this version began to write it?"""
        return all(v == version for v in self._open)

    def settle(self, instances: Iterable[int], committed: Version, latest: Version) -> None:
        """Keep what `committed` wrote, take back what any other version up to `latest` did."""
        for i in instances:
            version, journal, arena = self._open[i], self.journals[i], self.arenas[i]
            if version is None or version > latest:
                continue
            if version == committed:
                if self.follow is not None and self.own is not None:
                    self.follow(partial(self._changes, i, self.own))
                if self._accounts and len(journal):
                    self._accounts[i].count(journal)
                    self._accounts[i].clear()
                journal.clear()
                self._at[i] = committed
            else:
                journal.rollback()
                if self._accounts:
                    self._accounts[i].back(0)
                if arena is not None:
                    arena.roll_back(START)
            if self._accounts and self._accounts[i].pressed:
                self._accounts[i].tidy()
            journal.active = False
            if arena is not None:
                arena.clear()
                arena.logging = False
            self._open[i] = None

    def changes(self, instances: Iterable[int], own: OwnCodec) -> list[Change]:
        """What the open versions of these instances have written. All copies of replicated state are alike: that of
        instance 0 says what has become of it.
        """
        found = []
        for i in instances:
            if self._open[i] is not None:
                found += self._changes(i, own)
        return found

    def _changes(self, instance: int, own: OwnCodec) -> list[Change]:
        journal, arena = self.journals[instance], self.arenas[instance]
        parts = {
            state.name: self.of_instance[instance][state.name]
            for state in self.graph.states
            if instance == 0 or state.distribution is not Distribution.REPLICATED
        }
        flat = {} if arena is None else {name: part for name, part in parts.items() if name in arena.stores}
        found = []
        if len(journal):
            for name, keys in written(journal, parts).items():
                rows = rows_of(self.graph.state(name), parts[name], keys, own)
                found.append(Change(name, instance, keys is None, rows))
        if flat:
            from anabranch.kernels.native.saving import changed

            arena_log: Any = arena
            found += [Change(name, instance, False, rows) for name, rows in changed(arena_log, flat).items()]
        return found

    def commit(self, version: Version) -> None:
        """All instances are in this address space and nobody works on them: what they hold now is this version."""
        self._open = [None if opened is None else version for opened in self._open]
        self.settle(range(self.routing.instances), version, version)
        self._at = [version] * self.routing.instances

    def become(self, instances: Iterable[int], version: Version) -> None:
        """What these instances hold, and nobody has open, is this version."""
        for i in instances:
            self._at[i] = version

    def mark(self) -> Marks:
        """A point to which all instances can be rolled back."""
        return [
            (journal.mark(), START if arena is None else arena.mark())
            for journal, arena in zip(self.journals, self.arenas, strict=True)
        ]

    def undo(self) -> None:
        """Take back all that the open version has written."""
        self.rollback([(0, START)] * len(self.journals))

    def rollback(self, marks: Marks) -> None:
        for journal, arena, (mark, at) in zip(self.journals, self.arenas, marks, strict=True):
            journal.rollback(mark)
            if arena is not None:
                arena.roll_back(at)
        for account, (mark, _) in zip(self._accounts, marks, strict=False):
            account.back(mark)

    def leave(self) -> None:
        """It is no longer used."""
        if self.budget is not None:
            self.budget.leave(self._accounts, self.arenas)

    # -- the budget ---------------------------------------------------------------------------------------------------

    def refuse_excess(self, instances: Iterable[int] | None = None) -> None:
        """Raise `MemoryFull` if what was written to these instances, or to all, does not fit."""
        budget = self.budget
        if budget is None:
            return
        grown = False
        for i in range(self.routing.instances) if instances is None else instances:
            if len(self.journals[i]):
                grown |= self._accounts[i].count(self.journals[i])
        if grown and budget.room < 0:
            raise budget.refuse("the request", -budget.room)

    def recount(self, when: str) -> None:
        """States were filled past the journals: see how large they are, and refuse what does not fit."""
        if self.budget is not None:
            for account in self._accounts:
                account.recount()
            self.budget.check(when)

    def tidy(self) -> bool:
        """After a refusal, while nothing is written: have back what nobody needs; whether that was worth it."""
        worth = [holder.tidy() for holder in (*self.arenas, *self._accounts) if holder is not None]
        return any(worth)
