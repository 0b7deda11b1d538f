"""Files in local folders, durable: synced, and so are the folders that name them."""

from __future__ import annotations

import errno
import os
import secrets
import sys
import weakref
import zlib
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from anabranch.state.checkpoint.location import FIRST, Part, checked

PARTIAL = ".partial"
"""Where files are until they are whole. No name begins with ".", so that it is in no list."""

AT_ONCE = 512
"""Parts in one call of writev; systems take 1024 and more."""


class LocalLocation:
    """Files below one or several paths.

    With several, the crc of a name says on which its file is, so that disks work together; generations and manifests
    are on the first. A file that is not where it should be is looked for on the others: paths may be added later.
    """

    def __init__(self, paths: Sequence[Path], *, writing: bool = True) -> None:
        self._paths = [Path(os.path.abspath(p)) for p in paths]  # noqa: PTH100 (links stay as the user gave them)
        if len(set(self._paths)) < len(self._paths):
            raise ValueError(f"each path of a checkpoint location once, got {[str(p) for p in paths]}")
        self.name = ", ".join(map(str, self._paths))
        for path in self._paths[1:]:
            if (path / FIRST[0]).exists():
                raise ValueError(
                    f"{path} is the first path of a checkpoint location: it has its generations. "
                    f"Got it behind {self._paths[0]}; give {path} first"
                )
        self._roots: dict[Path, int] = {}  # open while this writes: so their numbers are given to no other folder
        if writing:
            for path in self._paths:
                make_folder(path)
                self._roots[path] = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
                weakref.finalize(self, os.close, self._roots[path])
                for left in (path / PARTIAL).glob("*"):
                    left.unlink(missing_ok=True)

    def create(self, name: str, data: bytes) -> None:
        if self.exists(name):
            raise FileExistsError(errno.EEXIST, "a file of a checkpoint is written once", name)
        root, path = self._root(name), self._path(name)
        self._check(root)
        make_folder(root / PARTIAL)
        make_folder(path.parent)
        while not _create(root / PARTIAL / f"{os.getpid()}-{secrets.token_hex(8)}", path, data):
            pass  # another run opened the location just now and cleaned up: what we wrote was not yet whole

    def open(self, name: str) -> LocalAppending:
        if self.exists(name):
            raise FileExistsError(errno.EEXIST, "a file of a checkpoint is written once", name)
        path = self._path(name)
        self._check(self._root(name))
        make_folder(path.parent)
        return LocalAppending(path)

    def read(self, name: str) -> memoryview:
        for path in self._places(name):
            try:
                if path.stat().st_size == 0:
                    return memoryview(b"")
                with pa.memory_map(str(path)) as file:  # unlike Python's mmap it holds no file open for its views
                    return memoryview(file.read_buffer())
            except FileNotFoundError:
                continue
        raise FileNotFoundError(errno.ENOENT, f"no such file in the checkpoint {self.name}", name)

    def sync(self, name: str) -> None:
        for path in self._places(name):
            if _is_there(path):
                file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
                try:
                    sync_file(file)
                finally:
                    os.close(file)
                sync_folder(path.parent)

    def exists(self, name: str) -> bool:
        return any(_is_there(path) for path in self._places(name))

    def list(self, folder: str) -> dict[str, int]:
        checked(folder)
        found: dict[str, int] = {}
        for root in self._paths if folder.split("/")[0] not in FIRST else self._paths[:1]:
            for at, folders, files in os.walk(root / folder, onerror=_unless_missing):
                folders[:] = [f for f in folders if not f.startswith(".")]
                for file in files:
                    path = Path(at) / file
                    if not file.startswith("."):
                        try:
                            found[path.relative_to(root).as_posix()] = path.stat().st_size
                        except FileNotFoundError:
                            continue  # removed since
        return found

    def remove(self, name: str) -> None:
        for path in self._places(name):
            path.unlink(missing_ok=True)
            if name.count("/") > 1:
                try:
                    path.parent.rmdir()  # the folder of a snapshot goes with its last file
                except OSError:
                    continue

    def _check(self, root: Path) -> None:
        """Is the folder that was opened still there? Else what is written is lost, or mixed with what another wrote."""
        opened = self._roots.get(root)
        if opened is not None and not _is_same(root, opened):
            raise OSError(
                errno.ESTALE,
                "the folder of the checkpoint was removed or replaced while the app ran. Nothing more is written "
                "there: put it back, or start the app with another location",
                str(root),
            )

    def _root(self, name: str) -> Path:
        if len(self._paths) == 1 or name.split("/")[0] in FIRST:
            return self._paths[0]
        return self._paths[zlib.crc32(name.encode()) % len(self._paths)]

    def _path(self, name: str) -> Path:
        return self._root(checked(name)) / name

    def _places(self, name: str) -> Sequence[Path]:
        """Where the file is, then where it might be if the paths were others when it was written."""
        right = self._path(name)
        if name.split("/")[0] in FIRST:
            return [right]
        return [right, *(p for root in self._paths if (p := root / name) != right)]


class LocalAppending:
    """A new file of a local folder that grows."""

    def __init__(self, path: Path) -> None:
        self._path, self.size = path, 0
        self._broken: BaseException | None = None
        self._named = False
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)

    def append(self, parts: Sequence[Part]) -> None:
        self._check()
        views = [v for p in parts if (v := memoryview(p).cast("B")).nbytes]
        try:
            for at in range(0, len(views), AT_ONCE):
                _write(self._file, views[at : at + AT_ONCE])
        except BaseException as error:
            self._broken = error
            raise
        self.size += sum(v.nbytes for v in views)

    def sync(self) -> None:
        self._check()
        try:
            sync_file(self._file)
            if not _is_same(self._path, self._file):
                raise OSError(
                    errno.ESTALE,
                    "this file of a checkpoint was removed or replaced while the app wrote to it: what it had is lost "
                    "when the app ends. Nothing more is written",
                    str(self._path),
                )
            if not self._named:
                sync_folder(self._path.parent)
                self._named = True
        except BaseException as error:
            self._broken = error  # never again: a system may forget what it could not write, and then say all is well
            raise

    def close(self) -> None:
        if self._file >= 0:
            file, self._file = self._file, -1
            os.close(file)

    def _check(self) -> None:
        if self._broken is not None:
            number = self._broken.errno if isinstance(self._broken, OSError) else None
            raise OSError(
                number or errno.EIO,
                f"an earlier write failed ({self._broken!r}): nothing more is written",
                str(self._path),
            ) from self._broken
        if self._file < 0:
            raise OSError(errno.EBADF, "the file was closed", str(self._path))


def make_folder(path: Path) -> None:
    """The folder, durable, with those above it that are missing; only for its owner."""
    if path.is_dir():
        return
    make_folder(path.parent)
    try:
        path.mkdir(0o700)
    except FileExistsError:
        if not path.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, "a checkpoint needs a folder here", str(path)) from None
    sync_folder(path.parent)


def sync_file(file: int) -> None:
    if sys.platform == "darwin":
        import fcntl

        fcntl.fcntl(file, fcntl.F_FULLFSYNC)  # there fsync leaves it in the cache of the disk
    else:
        os.fdatasync(file)


def sync_folder(path: Path) -> None:
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _is_same(path: Path, file: int) -> bool:
    """Is what is open still what has this name?"""
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    opened = os.fstat(file)
    return (found.st_dev, found.st_ino) == (opened.st_dev, opened.st_ino)


def _is_there(path: Path) -> bool:
    """An error is not an answer: who asks whether it was replaced must not hear no."""
    try:
        path.stat()
    except FileNotFoundError:
        return False
    return True


def _unless_missing(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):
        raise error


def _write(file: int, views: list[memoryview]) -> None:
    """All of them. The system may take less at once than it was given."""
    while views:
        taken = os.writev(file, views)
        if taken == 0:
            raise OSError(errno.EIO, "the system wrote nothing")
        while views and taken >= views[0].nbytes:
            taken -= views[0].nbytes
            views = views[1:]
        if taken:
            views = [views[0][taken:], *views[1:]]


def _create(partial: Path, path: Path, data: bytes) -> bool:
    """Whether it is there now: not if someone removed the partial file before it got its name."""
    file = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        _write(file, [memoryview(data)] if data else [])
        sync_file(file)
        try:
            os.link(partial, path)
        except FileNotFoundError:
            if partial.exists() or not path.parent.exists():
                raise
            return False
        except FileExistsError:
            if os.fstat(file).st_nlink < 2:  # else it is ours: the answer of a network file system was lost
                raise
        sync_folder(path.parent)
        return True
    finally:
        os.close(file)
        partial.unlink(missing_ok=True)
