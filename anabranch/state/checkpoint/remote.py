"""Files in any place that fsspec knows: objects, each written whole.

There is no append: what an `Appending` has at each `sync` becomes an object `NAME.000001`, `NAME.000002` and so on.
`read` puts them together, `list` shows one file.
"""

from __future__ import annotations

import errno
import importlib
import re
import secrets
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from anabranch.state.checkpoint.errors import Damaged, NotExclusive
from anabranch.state.checkpoint.location import FIRST, Part, checked

AT_ONCE = 32 << 20
"""Bytes that wait before they become an object without a sync, so that memory stays bounded."""

_PIECE = re.compile(r"(.+)\.(\d{6,})")


class FsspecLocation:
    """Objects below a URL, if the place there can create one only if it is absent."""

    def __init__(self, url: str, *, fence: str = "create", writing: bool = True) -> None:
        try:
            fsspec: Any = importlib.import_module("fsspec.core")
        except ImportError as error:
            raise ImportError(
                f"the checkpoint location {url} needs the package fsspec, which is not installed: pip install fsspec, "
                "and the package that its documentation names for this kind of URL"
            ) from error
        self.name = url
        self._files, root = fsspec.url_to_fs(url)
        self._root: str = root.rstrip("/")
        self._mode = "xb" if fence == "create" else "wb"
        if writing and fence == "create":
            self._probe()

    def create(self, name: str, data: bytes) -> None:
        self._write(_single(name), data)

    def open(self, name: str) -> FsspecAppending:
        if self.exists(_single(name)):
            raise FileExistsError(errno.EEXIST, "a file of a checkpoint is written once", name)
        return FsspecAppending(self, name)

    def read(self, name: str) -> memoryview:
        checked(name)
        try:
            return memoryview(self._files.cat_file(self._path(name)))
        except FileNotFoundError:
            pieces = self._pieces(name)
        if not pieces:
            raise FileNotFoundError(errno.ENOENT, f"no such file in the checkpoint {self.name}", name)
        if max(pieces) != len(pieces):
            missing = min(set(range(1, len(pieces) + 1)) - pieces)
            raise Damaged(name, 0, None, f"its object number {missing} is missing, of {max(pieces)}")
        return memoryview(b"".join(self._files.cat_file(self._path(piece_name(name, n))) for n in sorted(pieces)))

    def sync(self, name: str) -> None:
        """Nothing: what can be read there is durable."""

    def exists(self, name: str) -> bool:
        self._files.invalidate_cache()
        if self._files.exists(self._path(checked(name))):
            return True
        return name.split("/")[0] not in FIRST and bool(self._files.exists(self._path(piece_name(name, 1))))

    def list(self, folder: str) -> dict[str, int]:
        found: dict[str, int] = {}
        for name, size in self._objects(checked(folder)).items():
            whole = match[1] if (match := _PIECE.fullmatch(name)) else name
            found[whole] = found.get(whole, 0) + size
        return found

    def remove(self, name: str) -> None:
        names = [checked(name)]
        if name.split("/")[0] not in FIRST:
            names += [piece_name(name, n) for n in sorted(self._pieces(name))]
        for one in names:
            try:
                self._files.rm_file(self._path(one))
            except FileNotFoundError:
                continue

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}"

    def _objects(self, folder: str) -> dict[str, int]:
        self._files.invalidate_cache()
        try:
            found = self._files.find(self._path(folder), detail=True)
        except FileNotFoundError:
            return {}
        return {path[path.index(self._root) + len(self._root) + 1 :]: entry["size"] for path, entry in found.items()}

    def _pieces(self, name: str) -> set[int]:
        matches = (_PIECE.fullmatch(one) for one in self._objects(name.rpartition("/")[0] or "."))
        return {int(m[2]) for m in matches if m and m[1] == name}

    def _write(self, name: str, data: bytes) -> None:
        if self._mode == "wb" and self.exists(name):
            raise FileExistsError(errno.EEXIST, "a file of a checkpoint is written once", name)
        path = self._path(name)
        self._files.makedirs(path.rpartition("/")[0], exist_ok=True)
        file = self._files.open(path, self._mode)
        try:
            file.write(data)
        except BaseException:
            with suppress(Exception):
                file.discard()  # to close it could make an object of a part
            raise
        file.close()

    def _probe(self) -> None:
        """Create a name twice: the second must fail."""
        name = f"probes/{secrets.token_hex(8)}"
        try:
            self._write(name, b"first")
            self._write(name, b"second")
        except FileExistsError:
            return
        except (ValueError, NotImplementedError) as error:
            raise self._refusal(f"it cannot be asked to ({error})") from error
        finally:
            self.remove(name)
        raise self._refusal("a second file of the same name replaced the first")

    def _refusal(self, why: str) -> NotExclusive:
        return NotExclusive(
            f"{self.name} cannot create a file only if it is absent: {why}. Two runs that open it could then both "
            'write to it and neither would know. Use another location, or pass fence="none" and see to it '
            "yourself that only one run writes to it at a time"
        )


class FsspecAppending:
    """A file as numbered objects, one for each sync."""

    def __init__(self, location: FsspecLocation, name: str) -> None:
        self._location, self._name, self.size = location, name, 0
        self._waiting: list[bytes] = []
        self._number = self._written = 0
        self._broken: BaseException | None = None
        self._closed = False

    def append(self, parts: Sequence[Part]) -> None:
        self._check()
        copies = [bytes(p) for p in parts]
        self._waiting += copies
        self.size += sum(map(len, copies))
        if self.size - self._written >= AT_ONCE:
            self._write()

    def sync(self) -> None:
        self._check()
        if self._waiting or not self._number:
            self._write()

    def _write(self) -> None:
        try:
            self._location._write(piece_name(self._name, self._number + 1), b"".join(self._waiting))
        except BaseException as error:
            self._broken = error
            raise
        self._number += 1
        self._waiting, self._written = [], self.size

    def close(self) -> None:
        self._closed = True
        self._waiting = []

    def _check(self) -> None:
        if self._broken is not None:
            number = self._broken.errno if isinstance(self._broken, OSError) else None
            why = f"an earlier write failed ({self._broken!r}): nothing more is written"
            raise OSError(number or errno.EIO, why, self._name) from self._broken
        if self._closed:
            raise OSError(errno.EBADF, "the file was closed", self._name)


def piece_name(name: str, number: int) -> str:
    """The object of a file that grows."""
    return f"{name}.{number:06}"


def _single(name: str) -> str:
    if _PIECE.fullmatch(checked(name)):
        raise ValueError(f"{name!r} ends like the objects of a file that grows there: use another name")
    return name
