"""The names visible where a class was defined, so that annotations resolve inside functions too.

Frames are kept, not copies of their names, because a name may be defined after the class that mentions it.
"""

from __future__ import annotations

import sys
import typing
from collections import ChainMap
from collections.abc import Mapping, MutableMapping
from types import CodeType, FrameType
from typing import Any


def defining_frames() -> list[FrameType]:
    """The frame whose code runs the class statement, then those of its enclosing functions that are still running."""
    frame: FrameType | None = sys._getframe(1)
    # Ours, and those of users' own bases that call super().
    while frame is not None and frame.f_code.co_name == "__init_subclass__":
        frame = frame.f_back
    frames: list[FrameType] = []
    while frame is not None:
        frames.append(frame)
        frame = _enclosing(frame)
    return frames


def _enclosing(frame: FrameType) -> FrameType | None:
    # Callers are not enclosing functions: only the one that holds this code among its constants is.
    code: CodeType = frame.f_code
    caller = frame.f_back
    while caller is not None:
        if any(constant is code for constant in caller.f_code.co_consts):
            return caller
        caller = caller.f_back
    return None


def names_in(frames: list[FrameType], cls: type) -> Mapping[str, Any]:
    """What a name means in the annotations of `cls`: its own classes, enclosing locals, then module globals."""
    own = {name: x for name, x in vars(cls).items() if isinstance(x, type)}
    maps: list[MutableMapping[str, Any]] = [own]
    maps += [dict(frame.f_locals) for frame in frames if frame.f_locals is not frame.f_globals]
    maps.append(frames[0].f_globals if frames else vars(sys.modules[cls.__module__]))
    return ChainMap(*maps)


def resolve(annotation: Any, names: Mapping[str, Any]) -> Any:
    """The annotation with all text in it evaluated; raises what evaluating it raises."""
    holder = type("holder", (), {"__annotations__": {"x": annotation}})
    return typing.get_type_hints(holder, globalns={}, localns=dict(names), include_extras=True)["x"]
