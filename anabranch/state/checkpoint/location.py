"""A place for files that are written once: what a checkpoint needs from a disk or an object store.

Laws. What `create` made is whole and durable when it returns, or it is not there. Of what an `Appending` has written,
all up to the last `sync` that returned survives a crash, with its name. A name is written once and never changed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol
from urllib.parse import unquote, urlparse

Part = bytes | memoryview
Where = str | os.PathLike[str]

FIRST = ("generations", "manifests")
"""Folders of single files that are few and small, and say which of the others count."""

_PART = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*", re.ASCII)


class Appending(Protocol):
    """A new file that grows. After a failed write or sync it is broken: every later call raises OSError."""

    @property
    def size(self) -> int:
        """How many bytes were appended."""
        ...

    def append(self, parts: Sequence[Part]) -> None:
        """Write them behind each other. They may be lost until `sync` returns."""
        ...

    def sync(self) -> None:
        """When it returns, all that was appended is durable, and so is the name."""
        ...

    def close(self) -> None:
        """Let it go. It syncs nothing."""
        ...


class Location(Protocol):
    """Files by name: relative, separated by "/". What is no such name is a ValueError."""

    @property
    def name(self) -> str:
        """What to show to people."""
        ...

    def create(self, name: str, data: bytes) -> None:
        """A new file, whole or not at all, durable when it returns; FileExistsError if there is one."""
        ...

    def open(self, name: str) -> Appending:
        """A new file to append to; FileExistsError if there is one."""
        ...

    def read(self, name: str) -> memoryview:
        """All of it; FileNotFoundError if there is none."""
        ...

    def exists(self, name: str) -> bool: ...

    def sync(self, name: str) -> None:
        """What is in a file, whoever wrote it, is durable when this returns."""
        ...

    def list(self, folder: str) -> dict[str, int]:
        """All files below the folder, by the names that `read` takes, with their bytes; none if it is not there."""
        ...

    def remove(self, name: str) -> None:
        """No such file is fine. It may be there again after a crash."""
        ...


def checked(name: str) -> str:
    """The name, if it is one.

    >>> checked("log/00000001-w0-000000")
    'log/00000001-w0-000000'
    >>> checked("../secret")
    Traceback (most recent call last):
    ValueError: not the name of a file in a checkpoint: '../secret'; ...
    """
    if not all(_PART.fullmatch(part) for part in name.split("/")):
        raise ValueError(
            f"not the name of a file in a checkpoint: {name!r}; a name is relative, of parts separated by '/' that "
            "have letters, digits, '_', '-' and '.' only and do not begin with '.'"
        )
    return name


def open_location(where: Where | Sequence[Where], fence: str = "create", *, writing: bool = True) -> Location:
    """The location at a path, at several paths over which files are spread, or at a URL that fsspec knows.

    `fence="none"` also takes a location that cannot create a file only if it is absent; then nothing stops two runs
    from writing to it at once. With `writing=False` nothing is made or changed there by opening it.
    """
    from anabranch.state.checkpoint.local import LocalLocation

    if fence not in ("create", "none"):
        raise ValueError(f'fence is "create" or "none", got {fence!r}')
    places = [where] if isinstance(where, str | os.PathLike) else list(where)
    if not places:
        raise ValueError("a checkpoint location needs a path or a URL, got an empty sequence")
    remote = [p for p in places if isinstance(p, str) and "://" in p and not p.startswith("file://")]
    if not remote:
        return LocalLocation([_local_path(p) for p in places], writing=writing)
    if len(places) > 1:
        raise ValueError(f"files are spread over local paths only, got {places!r}: give one URL, or only paths")
    from anabranch.state.checkpoint.remote import FsspecLocation

    return FsspecLocation(remote[0], fence=fence, writing=writing)


def _local_path(where: Where) -> Path:
    text = os.fspath(where)
    if not text:
        raise ValueError("a checkpoint location needs a path, got ''")
    if not text.startswith("file://"):
        return Path(text)
    url = urlparse(text)
    if url.netloc not in ("", "localhost") or not url.path.startswith("/"):
        raise ValueError(f"a file URL has the form file:///absolute/path, got {text!r}")
    return Path(unquote(url.path))
