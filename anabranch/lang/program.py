"""`Program`: what users derive from.

A program is ordinary Python. Its declared fields are states, created before `__init__`; assigning one in `__init__`
sets its template, of which the state starts as a copy; everything else set there is configuration, frozen when
`__init__` has ended.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from anabranch.lang.dense import DenseVector
from anabranch.lang.dense_matrix import DenseMatrix
from anabranch.lang.distribution import Distribution
from anabranch.lang.entry import Entry, EntryMethod
from anabranch.lang.errors import OF_CONFIG, FrozenAttribute, ProgramError
from anabranch.lang.frozen import ConfigDict, ConfigList, ConfigSet
from anabranch.lang.journal import Journal
from anabranch.lang.marks import bind, copy_state, type_state
from anabranch.lang.merges import Merge, PartialTemplate, default_merge
from anabranch.lang.scalars import show
from anabranch.lang.scope import defining_frames
from anabranch.lang.similar import ByName
from anabranch.lang.spec import Problem, ProgramSpec, StateSpec, describe, public
from anabranch.lang.types import Type
from anabranch.lang.value import Value
from anabranch.lang.values import coerce, type_of

if TYPE_CHECKING:
    from typing import Self


class ProgramType(type):
    """Knows when `__init__` has ended, which is all it is for."""

    if not TYPE_CHECKING:  # a typed __call__ would hide the constructors' signatures from type checkers

        def __call__(cls, *args, **kwargs):
            program = super().__call__(*args, **kwargs)
            seal(program)
            return program


class Program(metaclass=ProgramType):
    """Derive from this, declare states, write entries: public methods with annotated parameters and result. A name that
    begins with an underscore is a helper. What `__init__` sets beside states is configuration, and read-only
    afterwards.

    Called as it is, it runs as plain Python, which is the specification; `ab.run` gives the same on many workers.

    >>> from anabranch.lang.distribution import Partitioned
    >>> from anabranch.lang.table import Table
    >>> class Count(Program):
    ...     seen: Partitioned[Table[str, int]]
    ...     def see(self, word: str) -> int:
    ...         self.seen[word] = self.seen.get(word, 0) + 1
    ...         return self.seen[word]
    >>> count = Count()
    >>> count.see("a"), count.see("a"), count.see.many({"word": ["a", "b"]})
    (1, 2, {'result': [3, 1]})
    """

    __anabranch_root__ = True
    __anabranch_states__: dict[str, Any]
    __anabranch_templates__: dict[str, Any]
    __anabranch_merges__: dict[str, Merge | None]
    __anabranch_config__: dict[str, Any]
    __anabranch_journal__: Journal
    __anabranch_open__: bool

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        type.__setattr__(cls, "__anabranch_frames__", defining_frames())
        for base in reversed(cls.__mro__):
            if base is not cls and (issubclass(base, Program) or base is object):
                continue
            for name, member in list(vars(base).items()):
                own = base is cls or name not in vars(cls)
                if own and public(name) and inspect.isfunction(member) and not hasattr(member, "__anabranch_pure__"):
                    setattr(cls, name, EntryMethod(member, cls, name))

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        spec = describe(cls)
        if spec.problems:
            raise _breaks_rules(cls, spec.problems)
        program = super().__new__(cls)
        vars(program).update(
            __anabranch_states__={},
            __anabranch_templates__={},
            __anabranch_merges__={},
            __anabranch_config__={},
            __anabranch_journal__=Journal(),
            __anabranch_open__=True,
        )
        for state in spec.states.values():
            _create(program, state)
        return program

    def __init__(self) -> None:
        """States exist already; an own `__init__` need not call this one."""

    @property
    def entries(self) -> Mapping[str, Entry]:
        """All entries by name."""
        return MappingProxyType(ByName("entry", {name: getattr(self, name) for name in describe(type(self)).entries}))

    def __setattr__(self, name: str, value: Any) -> None:
        spec = describe(type(self))
        if not self.__anabranch_open__:
            raise FrozenAttribute(_why_closed(spec, name, value))
        if name in spec.states:
            _set_template(self, spec.states[name], value)
        elif name in spec.entries or name in spec.helpers or name.startswith("__"):
            raise FrozenAttribute(f"{name} is a method of {type(self).__name__}: give the attribute another name")
        else:
            _check_config(spec, name, value)
            vars(self)[name] = value

    def __delattr__(self, name: str) -> None:
        if not self.__anabranch_open__ or name in self.__anabranch_states__:
            raise FrozenAttribute(
                f"{name} cannot be deleted: states and configuration are fixed when __init__ has ended"
            )
        super().__delattr__(name)

    def __copy__(self) -> Self:
        """A program of the same configuration with a copy of every state."""
        new: Self = object.__new__(type(self))
        vars(new).update(vars(self), __anabranch_journal__=Journal(), __anabranch_states__={})
        for name, state in self.__anabranch_states__.items():
            _install(new, name, copy_state(state))
        return new

    def __deepcopy__(self, memo: object) -> Self:
        return self.__copy__()


def _breaks_rules(cls: type, problems: tuple[Problem, ...]) -> ProgramError:
    lines = "".join(f"\n  {problem}" for problem in problems)
    return ProgramError(f"{cls.__name__} breaks the rules of the language:{lines}")


def _why_closed(spec: ProgramSpec, name: str, value: Any) -> str:
    if name not in spec.states:
        return f"{name} {OF_CONFIG}"
    if spec.states[name].cls is Value:
        return f"{name} is a state: write self.{name}.value = ..."
    return f"{name} is a state: it cannot be replaced, change its content with self.{name}.assign(...)"


def _install(program: Program, name: str, state: Any) -> None:
    bind(state, program.__anabranch_journal__)
    program.__anabranch_states__[name] = state
    vars(program)[name] = state


def _create(program: Program, spec: StateSpec) -> None:
    """An empty state, or a copy of a template given in the class body; None where only a template can say."""
    program.__anabranch_merges__[spec.name] = default_merge(spec.cls) if _is_partial(spec) else None
    given = inspect.getattr_static(type(program), spec.name, None)
    if given is not None:
        _set_template(program, spec, given)
        return
    if spec.cls in (Value, DenseVector, DenseMatrix):
        return
    try:
        state = spec.cls()
    except TypeError:  # an own type that needs arguments
        return
    type_state(state, spec.key, spec.value)
    _install(program, spec.name, state)


def _is_partial(spec: StateSpec) -> bool:
    return spec.distribution is Distribution.PARTIAL


def _set_template(program: Program, spec: StateSpec, value: Any) -> None:
    where = f"{type(program).__name__}.{spec.name}"
    if isinstance(value, PartialTemplate):
        if not _is_partial(spec):
            raise ProgramError(
                f"{where} is {spec.text}: only Partial state has instances to merge; assign the template alone"
            )
        if value.merge is not None:
            program.__anabranch_merges__[spec.name] = value.merge
        value = value.template
    if type(value) is not spec.cls:
        hint = f"write self.{spec.name} = {_example(spec)}"
        raise ProgramError(f"{where} is {spec.text}: expected a {spec.cls.__name__}, got {show(value)}; {hint}")
    state = copy_state(value)
    try:
        type_state(state, spec.key, spec.value)
    except (TypeError, ValueError, OverflowError) as error:
        raise ProgramError(f"{where} is {spec.text}: the template does not fit: {error}") from None
    _install(program, spec.name, state)


def _example(spec: StateSpec) -> str:
    examples = {
        "Value": "ab.Value(...)",
        "DenseVector": "ab.DenseVector.zeros(d)",
        "DenseMatrix": "ab.DenseMatrix.zeros(r, c)",
    }
    return examples.get(spec.cls.__name__, f"{spec.cls.__name__}(...)")


def _check_config(spec: ProgramSpec, name: str, value: Any) -> None:
    """Raise at the line that sets an attribute to what configuration cannot be."""
    _freeze_config(spec, name, value)


def _freeze_config(spec: ProgramSpec, name: str, value: Any) -> Any:
    declared = spec.config.get(name)
    try:
        if isinstance(value, np.ndarray):
            return _freeze_array(value)
        if isinstance(declared, Type):
            return _as_config(coerce(declared, value, freeze=True))
        return _as_config(coerce(type_of(value, spec.namespace), value, freeze=True))
    except (TypeError, ValueError, OverflowError) as error:
        raise ProgramError(
            f"{spec.cls.__name__}.{name} cannot be configuration: {error}; configuration is values, dict, list, set "
            f"and numpy arrays; what changes is declared as state, for example {name}: ab.Partial[ab.Table[int, float]]"
        ) from None


def _freeze_array(array: Any) -> Any:
    if array.dtype.hasobject:
        raise TypeError("an array of objects has no Arrow type")
    array = array.copy()
    array.setflags(write=False)
    return array


def _as_config(value: Any) -> Any:
    """Frozen containers whose error says configuration, not state."""
    if isinstance(value, list):
        return ConfigList([_as_config(x) for x in value])
    if isinstance(value, dict):
        return ConfigDict({k: _as_config(x) for k, x in value.items()})
    if isinstance(value, set):
        return ConfigSet(value)
    if type(value) is tuple:
        return tuple(_as_config(x) for x in value)
    return value


def seal(program: Program) -> None:
    """`__init__` has ended: freeze the configuration, take the templates."""
    spec = describe(type(program))
    for state in spec.states.values():
        if state.name not in program.__anabranch_states__:
            hint = f"write self.{state.name} = {_example(state)} in __init__"
            problem = Problem("AB210", f"state:{state.name}", f"{state.text} needs a template", hint)
            raise _breaks_rules(type(program), (problem,))
        program.__anabranch_templates__[state.name] = copy_state(program.__anabranch_states__[state.name])
    for name in [*spec.config, *vars(program)]:
        if name in spec.states or name.startswith("__anabranch_") or name in program.__anabranch_config__:
            continue
        value = vars(program).get(name, inspect.getattr_static(type(program), name, _UNSET))
        if value is not _UNSET:
            frozen = _freeze_config(spec, name, value)
            vars(program)[name] = program.__anabranch_config__[name] = frozen
    vars(program)["__anabranch_open__"] = False


_UNSET = object()
