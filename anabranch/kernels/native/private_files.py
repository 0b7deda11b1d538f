"""Files and folders that only this user can have written.

What is in them becomes code of this process. Law: `read_private` returns bytes only of a regular file that belongs to
this user and that no other user may write. It checks the open file, so the bytes it returns are those it checked.
"""

from __future__ import annotations

import os
import shlex
import stat
from pathlib import Path

OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


class Untrusted(Exception):
    """Another user may have written this file."""


def make_folder(path: Path) -> None:
    """The folder, and those above it that are missing; only for this user."""
    if not path.parent.exists():
        make_folder(path.parent)
    path.mkdir(0o700, exist_ok=True)


def folder_problem(path: Path) -> str:
    """Why files in a folder may be from another user, and what to do; "" if they cannot be."""
    found = path.lstat()
    mode = stat.S_IMODE(found.st_mode)
    if not stat.S_ISDIR(found.st_mode):
        return "it is no folder"
    if not _is_ours(found):
        return f"it belongs to user {found.st_uid}"
    if mode & OTHERS_WRITE:
        return (
            f"others may write it (mode {mode:o}) and may have put code there. Remove it with all that it holds; "
            f"the next start makes a private one: rm -r {shlex.quote(str(path))}"
        )
    for parent in path.resolve().parents:
        mode = stat.S_IMODE(parent.stat().st_mode)
        if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
            return f"others may exchange it, because they may write {parent} (mode {mode:o}): name another folder"
    return ""


def read_private(path: Path) -> bytes:
    """All bytes of a file; `Untrusted` if another user may have written it, OSError if it cannot be read."""
    flags = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    file = os.open(path, flags)
    try:
        if problem := _file_problem(os.fstat(file)):
            raise Untrusted(f"{path} {problem}, so it is not loaded")
        with os.fdopen(file, "rb", closefd=False) as opened:
            return opened.read()
    finally:
        os.close(file)


def _file_problem(found: os.stat_result) -> str:
    mode = stat.S_IMODE(found.st_mode)
    if not stat.S_ISREG(found.st_mode):
        return "is no regular file"
    if not _is_ours(found):
        return f"belongs to user {found.st_uid}"
    return f"may be written by others (mode {mode:o})" if mode & OTHERS_WRITE else ""


def write_private(path: Path, data: bytes) -> None:
    """A new file that only this user may read and write, whatever the umask is."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), 0o600)
    with os.fdopen(file, "wb") as opened:
        opened.write(data)


def _is_ours(found: os.stat_result) -> bool:
    return not hasattr(os, "getuid") or found.st_uid == os.getuid()
