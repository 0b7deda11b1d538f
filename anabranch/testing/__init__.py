"""The kit with which users test their own programs: see docs/testing.md.

Light: pytest loads it at every start, by the plugin.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from anabranch.testing.checking import check as check
    from anabranch.testing.clock import SetClock as SetClock
    from anabranch.testing.disturbing import Disturbance as Disturbance
    from anabranch.testing.disturbing import advance as advance
    from anabranch.testing.disturbing import checkpoint as checkpoint
    from anabranch.testing.disturbing import crash as crash
    from anabranch.testing.disturbing import meanwhile as meanwhile
    from anabranch.testing.disturbing import restart as restart
    from anabranch.testing.disturbing import scale as scale
    from anabranch.testing.feeding import Sink as Sink
    from anabranch.testing.feeding import Source as Source
    from anabranch.testing.kit import Kit as Kit
    from anabranch.testing.kit import app as app
    from anabranch.testing.requests import call as call
    from anabranch.testing.requests import many as many

_LAZY = {
    "Disturbance": "disturbing",
    "Kit": "kit",
    "SetClock": "clock",
    "Sink": "feeding",
    "Source": "feeding",
    "advance": "disturbing",
    "app": "kit",
    "call": "requests",
    "check": "checking",
    "checkpoint": "disturbing",
    "crash": "disturbing",
    "many": "requests",
    "meanwhile": "disturbing",
    "restart": "disturbing",
    "scale": "disturbing",
}


def __dir__() -> list[str]:
    return sorted(_LAZY)


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        from importlib import import_module

        return getattr(import_module(f"anabranch.testing.{_LAZY[name]}"), name)
    raise AttributeError(f"anabranch.testing has no {name!r}: it has {', '.join(_LAZY)}")
