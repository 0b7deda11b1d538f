"""Compiled kernels on disk, so that a second start does not compile.

numba keeps compiled code as pickles, and whoever can write one can run code as us. So they live in a folder that is
ours and that nobody else may write, and are not used where that cannot be had. The same is checked of each file before
it is loaded: a folder may have been open to others before. What fails is compiled anew. A kernel is found by a hash of
its text, of the primitives it is made of, and of the versions of Python, numba and LLVM; numba itself adds the
processor.

`ANABRANCH_CACHE` names another folder; the default is `anabranch/kernels` in the user's folder for caches.
"""

from __future__ import annotations

import hashlib
import io
import logging
import os
import pickle
import secrets
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

import llvmlite
import numba
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile, NullCache, _CacheLocator

from anabranch.kernels.native.linked import Plain, packed, unpacked
from anabranch.kernels.native.private_files import folder_problem, make_folder, read_private, write_private

log = logging.getLogger(__name__)

CHECKSUM = 32  # bytes
PRIMITIVES = (
    *"linked words libm numbers text hashing lines lists dicts sparse sorting strings tables memory driver".split(),
    *"dense moments products merging gathering pouring".split(),
)


def folder() -> Path | None:
    """The private folder, made if need be; None, with a warning, where it is not safe."""
    named = os.environ.get("ANABRANCH_CACHE")
    home = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    path = Path(named) if named else Path(home).expanduser() / "anabranch" / "kernels"
    return _checked(path)


@lru_cache(maxsize=16)
def _checked(path: Path) -> Path | None:
    try:
        make_folder(path)
        problem = folder_problem(path)
    except OSError as error:
        log.warning("kernels are compiled anew at each start: %s cannot be used (%s)", path, error)
        return None
    if problem:
        log.warning("kernels are compiled anew at each start: %s is not used, %s", path, problem)
        return None
    return path


@lru_cache(maxsize=1)
def _versions() -> bytes:
    """What a compiled kernel depends on besides its text."""
    here = Path(__file__).parent
    digest = hashlib.sha256()
    for name in PRIMITIVES:
        digest.update((here / f"{name}.py").read_bytes())
    digest.update(f"{sys.version} {numba.__version__} {llvmlite.__version__}".encode())
    return digest.digest()


def fingerprint(text: str) -> str:
    return hashlib.sha256(_versions() + text.encode()).hexdigest()[:32]


class _Locator(_CacheLocator):
    def __init__(self, path: Path, key: str) -> None:
        self._path, self._key = path, key

    def ensure_cache_path(self) -> None:
        make_folder(self._path)

    def get_cache_path(self) -> str:
        return str(self._path)

    def get_source_stamp(self) -> str:
        return self._key

    def get_disambiguator(self) -> str:
        return self._key

    @classmethod
    def from_function(cls, function: Any, file: str) -> _Locator | None:
        path = folder()
        return None if path is None else cls(path, function.__globals__["__kernel__"])


class _Impl(CompileResultCacheImpl):
    _locator_classes = (_Locator,)


class _Part(_Impl):
    """Of functions that kernels link."""

    def reduce(self, result: Any) -> Any:
        return packed(result)

    def rebuild(self, context: Any, payload: Any) -> Any:
        return unpacked(context, *payload)


class Damaged(Exception):
    """A file is not as it was written."""


class _File(IndexDataCacheFile):
    """Files that end with a checksum of what is before it: numba would run whatever it finds."""

    @contextmanager
    def _open_for_write(self, path: str) -> Iterator[io.BytesIO]:
        whole = io.BytesIO()
        yield whole
        partial = Path(f"{path}.tmp.{secrets.token_hex(8)}")
        try:
            write_private(partial, whole.getvalue() + hashlib.sha256(whole.getvalue()).digest())
            os.replace(partial, path)  # noqa: PTH105 (numba's name of the file is a str)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise

    def _load_index(self) -> Any:
        try:
            data = io.BytesIO(_verified(Path(self._index_path)))
        except FileNotFoundError:
            return {}
        if pickle.load(data) != self._version:  # another version's pickles may not load
            return {}
        stamp, overloads = pickle.loads(data.read())
        return overloads if stamp == self._source_stamp else {}

    def _load_data(self, name: str) -> Any:
        return pickle.loads(_verified(Path(self._data_path(name))))


def _verified(path: Path) -> bytes:
    """The bytes that were written; they are read once, so that nobody can change them after they were checked."""
    data = read_private(path)
    content, checksum = data[:-CHECKSUM], data[-CHECKSUM:]
    if hashlib.sha256(content).digest() != checksum:
        raise Damaged(f"{path} is not as it was written")
    return content


class _Cache(FunctionCache):
    """A cache that is never the reason why something does not run: what it cannot read is compiled anew."""

    _impl_class = _Impl

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        locator = self._impl.locator
        self._cache_file = _File(self._cache_path, self._impl.filename_base, locator.get_source_stamp())

    def load_overload(self, signature: Any, context: Any) -> Any:
        try:
            return super().load_overload(signature, context)
        except Exception as error:
            log.warning("%s is compiled anew: %s", self._name, error)
            with suppress(OSError):  # it is replaced; where it cannot be, saving says so
                Path(self._cache_file._index_path).unlink()
            return None

    def save_overload(self, signature: Any, data: Any) -> None:
        try:
            super().save_overload(signature, data)
        except Exception as error:
            log.warning("%s is not kept on disk: %s", self._name, error)


class _PartCache(_Cache):
    _impl_class = _Part


class Lazy:
    """The cache of a primitive, which is made when something is compiled and not when it is imported."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._cache: Any = None

    def _made(self) -> Any:
        if self._cache is None:
            self._function.__globals__["__kernel__"] = fingerprint("primitives")
            self._cache = NullCache() if folder() is None else _PartCache(self._function)
        return self._cache

    def load_overload(self, signature: Any, context: Any) -> Any:
        return self._made().load_overload(signature, context)

    def save_overload(self, signature: Any, data: Any) -> None:
        self._made().save_overload(signature, data)

    @property
    def cache_path(self) -> Any:
        return self._made().cache_path

    def enable(self) -> None: ...
    def disable(self) -> None: ...
    def flush(self) -> None: ...


def compiled(function: Callable[..., Any], signature: tuple[Any, ...], key: str) -> tuple[Any, bool]:
    """The function as machine code for this signature, and whether it was on disk."""
    function.__globals__["__kernel__"] = key
    dispatcher = numba.njit(function, nogil=True, error_model="numpy", no_cfunc_wrapper=True, pipeline_class=Plain)
    if folder() is not None:
        dispatcher._cache = _Cache(function)
    dispatcher.compile(signature)
    dispatcher.disable_compile()
    hits = dispatcher.stats.cache_hits
    return dispatcher, bool(hits)


def is_kept(name: str, key: str) -> bool:
    """Is compiled code with this key on disk?"""
    path = folder()
    return path is not None and any(path.glob(f"*.{name}-{key}.*.nbi"))


def build(text: str) -> tuple[Any, bool]:
    """The function `kernel` of the text of a module, as machine code, and whether it was on disk."""
    key = fingerprint(text)
    names: dict[str, Any] = {"__name__": "anabranch.kernels.native.module"}
    exec(compile(text, f"<kernel-{key}>", "exec"), names)
    kernel = names["kernel"].py_func
    return compiled(kernel, (numba.types.int64,), key)
