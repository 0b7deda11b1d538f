"""The graph of a program as immutable values: states, entries, tasks and flows.

Laws, checked by `verify`: every flow connects two tasks of one entry; every `Send` names a flow that leaves its task;
a task touches only states of the program and only at its own place; a flow carries exactly the variables its target
reads; what a flow carries has a value type.
"""

from __future__ import annotations

import builtins
import enum
from dataclasses import dataclass, field

from anabranch.graph.code import Body, Expr, Function
from anabranch.graph.span import Span
from anabranch.lang.distribution import Distribution
from anabranch.lang.types import Type


class Dispatch(enum.Enum):
    """How the rows of a flow find their instance of the target."""

    BY_KEY = "by key"
    ANY = "any"
    ALL = "all"
    GATHER = "gather"


class Where(enum.Enum):
    """The kinds of place at which a task works."""

    KEY = "key"  # the owner of a key of partitioned state
    HERE = "here"  # the instance of partial and replicated state that belongs to the row
    EVERYWHERE = "everywhere"  # every instance
    NOWHERE = "nowhere"  # touches no state: runs wherever it is reached


@dataclass(frozen=True, slots=True)
class Variable:
    """A typed name; `multi` if it has one value per instance."""

    name: str
    type: Type
    multi: bool = False

    def __str__(self) -> str:
        return f"{self.name}: {'each ' if self.multi else ''}{self.type}"


@dataclass(frozen=True, slots=True)
class State:
    """A declared field; `type` is the text of its state type.

    `axis` says what a key of a partitioned state names: an entry, or a row or column of it.
    """

    name: str
    distribution: Distribution
    type: str
    cls: builtins.type
    key: Type | None
    value: Type | None
    axis: str | None
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class Task:
    """A piece of an entry that works at one place."""

    name: str
    entry: str
    where: Where
    key: str | None  # the text of the key, when `where` is KEY
    number: int  # the value number of the key within the entry; 0 where there is no key
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    inputs: tuple[Variable, ...]
    body: Body
    span: Span = field(compare=False)

    @property
    def states(self) -> tuple[str, ...]:
        """The states it touches, in the order of their names."""
        return tuple(sorted({*self.reads, *self.writes}))


@dataclass(frozen=True, slots=True)
class Flow:
    """An edge between two tasks. `each` marks one message per iteration of a fan-out loop; others end their task.

    A gather waits. With `over="instances"` it waits for one message per instance; the multi-valued variable it carries
    arrives as the list `collects`, the others are equal on all instances. With `over="iterations"` it waits for the
    flow of the loop's task, whose variables go on, and for the `each` flows of its iterations: what each of them
    carries becomes one tuple of the list `collects`, in the order of the iterations.
    """

    number: int
    source: str
    target: str
    dispatch: Dispatch
    key: Expr | None
    carries: tuple[Variable, ...]
    span: Span = field(compare=False)
    each: bool = False
    over: str | None = None
    collects: str | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """A public method. `winding` holds the reason, and is None for a straight entry.

    `body` is the whole entry before it was cut: what runs where all state is in one address space.
    """

    name: str
    parameters: tuple[Variable, ...]
    defaults: tuple[tuple[str, object], ...]
    result: Type
    start: str
    dispatch: Dispatch
    key: Expr | None
    winding: str | None
    body: Body
    span: Span = field(compare=False)

    @property
    def straight(self) -> bool:
        return self.winding is None


@dataclass(frozen=True, slots=True)
class Graph:
    """A program as `ab.compile` gives it: states, entries, tasks and flows. Notebooks show it as a picture.

    >>> import anabranch as ab
    >>> from anabranch.demo import Recommender
    >>> graph = ab.compile(Recommender)
    >>> [task.name for task in graph.tasks], [state.name for state in graph.states]
    (['rate.1', 'rate.2', 'recommend.1', 'recommend.2', 'recommend.3'], ['ratings', 'together'])
    """

    name: str
    states: tuple[State, ...]
    entries: tuple[Entry, ...]
    tasks: tuple[Task, ...]
    flows: tuple[Flow, ...]
    functions: tuple[Function, ...]
    program: type
    span: Span = field(compare=False)

    def state(self, name: str) -> State:
        """The state of this name."""
        return next(s for s in self.states if s.name == name)

    def entry(self, name: str) -> Entry:
        """The entry of this name."""
        return next(e for e in self.entries if e.name == name)

    def task(self, name: str) -> Task:
        """The task of this name."""
        return next(t for t in self.tasks if t.name == name)

    def flow(self, number: int) -> Flow:
        """The flow of this number."""
        return self.flows[number]

    def function(self, name: str) -> Function:
        """The helper of this name."""
        return next(f for f in self.functions if f.name == name)

    def __str__(self) -> str:
        from anabranch.graph.text import write_graph

        return write_graph(self)

    def to_dot(self) -> str:
        """A picture as text for Graphviz."""
        from anabranch.graph.draw_dot import draw_dot

        return draw_dot(self)

    def to_mermaid(self) -> str:
        """A picture as text for Mermaid."""
        from anabranch.graph.draw_mermaid import draw_mermaid

        return draw_mermaid(self)

    def to_svg(self) -> str:
        """A picture as a file of its own, for light and dark pages."""
        from anabranch.graph.draw_svg import draw_svg

        return draw_svg(self)

    def draw(self, width: int = 100) -> str:
        """A picture for a terminal."""
        from anabranch.graph.draw_text import draw_text

        return draw_text(self, width)

    def _repr_html_(self) -> str:
        return self.to_svg()
