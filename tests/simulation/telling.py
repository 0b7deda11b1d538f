"""How stories name what happens."""

from __future__ import annotations

from typing import Any

from anabranch.runtime.messages import DRIVER

COORDINATOR = -2


def name(machine: int) -> str:
    return {COORDINATOR: "coordinator", DRIVER: "driver"}.get(machine, f"worker {machine}")


def brief(message: Any) -> str:
    text = repr(message)
    return text if len(text) < 160 else f"{text[:157]}..."
