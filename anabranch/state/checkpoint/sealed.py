"""Small files of JSON that carry their own checksum. Law: where one bit differs, `unsealed` raises."""

from __future__ import annotations

import json
import zlib
from typing import Any

from anabranch.state.checkpoint.errors import Damaged
from anabranch.state.checkpoint.location import Location

FORMAT = 2
"""Format 1 does not say which logs are there (`logs` of bases and manifests), nor of which generation a file is."""


def sealed(kind: str, content: dict[str, Any], format: int = FORMAT) -> bytes:
    """The bytes of a file: one line of JSON that says its kind, its format and the crc of its content."""
    return _bytes({"kind": kind, "format": format, "crc": _crc(content), "content": content})


def unsealed(location: Location, name: str, kind: str) -> dict[str, Any]:
    """The content of a file; `Damaged` if it is not what was written, FileNotFoundError if it is not there."""
    data = bytes(location.read(name))
    try:
        whole = json.loads(data)
        if not isinstance(whole, dict):
            raise ValueError("it is no JSON object")
        format = whole.get("format")
        if whole.get("kind") == kind and isinstance(format, int) and format > FORMAT:
            why = f"its format is {format}, this version of anabranch reads up to {FORMAT}"
            raise Damaged(name, 0, None, why)
        content = whole.get("content")
        is_known = isinstance(format, int) and format is not True and 1 <= format <= FORMAT
        if not isinstance(content, dict) or not is_known or sealed(kind, content, format or 0) != data:
            raise ValueError("it does not match its checksum")
    except (ValueError, RecursionError) as error:
        raise Damaged(name, 0, None, f"it is not what was written: {error}") from None
    return content


def _crc(content: dict[str, Any]) -> str:
    return f"{zlib.crc32(_bytes(content)):08x}"


def _bytes(value: object) -> bytes:
    return (json.dumps(value, allow_nan=False, separators=(",", ":")) + "\n").encode("ascii")
