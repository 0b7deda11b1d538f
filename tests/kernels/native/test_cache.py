"""Compiled kernels on disk: private, found again, and never the reason why something does not run."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import pickle
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from anabranch.kernels.native import cache

TEXT = "import numba\n\n@numba.njit\ndef kernel(c):\n    return c + {}\n"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "made" / "kernels"
    monkeypatch.setenv("ANABRANCH_CACHE", str(path))
    return path


def build(by: int = 1) -> bool:
    """Does it run, and was it on disk?"""
    function, from_disk = cache.build(TEXT.format(by))
    assert function(41) == 41 + by
    return from_disk


def test_the_folder_is_made_and_private(place: Path) -> None:
    old = os.umask(0)
    try:
        assert cache.folder() == place
        assert stat.S_IMODE(place.stat().st_mode) == 0o700
        assert not build()
        (file,) = place.glob("*.nbi")
        for each in [*place.iterdir()]:
            each.unlink()
        place.rmdir()
        assert not build(), "someone has emptied the cache"
        assert stat.S_IMODE(place.stat().st_mode) == 0o700 and file.exists()
    finally:
        os.umask(old)


def test_the_default_is_in_the_folder_of_caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANABRANCH_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache.folder() == tmp_path / "anabranch" / "kernels"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache.folder() == tmp_path / "home" / ".cache" / "anabranch" / "kernels"


def make_symlink(place: Path) -> None:
    (place.parent / "other").mkdir()
    place.symlink_to(place.parent / "other")


UNSAFE: dict[str, Callable[[Path], Any]] = {
    "others may write it (mode 770) and may have put code there": lambda place: place.mkdir() or place.chmod(0o770),
    "others may write it (mode 702) and may have put code there": lambda place: place.mkdir() or place.chmod(0o702),
    "it is no folder": make_symlink,
    "cannot be used": lambda place: place.write_text("a file"),
}


@pytest.mark.parametrize("problem", UNSAFE)
def test_a_folder_that_is_not_safe_is_not_used(problem: str, place: Path, caplog: pytest.LogCaptureFixture) -> None:
    place.parent.mkdir()
    UNSAFE[problem](place)
    with caplog.at_level(logging.WARNING):
        assert not build() and not build()
    assert problem in caplog.text and caplog.text.count("compiled anew at each start") == 1
    assert not place.is_dir() or not [*place.iterdir()]
    assert not cache.is_kept("kernel", cache.fingerprint(TEXT.format(1)))


def test_the_advice_removes_what_others_may_have_put_there(place: Path, caplog: pytest.LogCaptureFixture) -> None:
    place.mkdir(parents=True)
    place.chmod(0o777)
    assert cache.folder() is None
    advice = caplog.text.rpartition("makes a private one: ")[2].splitlines()[0]
    subprocess.run(advice, shell=True, check=True)
    cache._checked.cache_clear()
    assert cache.folder() == place and not build() and build()


def test_a_folder_that_others_may_exchange_is_not_used(place: Path, caplog: pytest.LogCaptureFixture) -> None:
    place.mkdir(parents=True, mode=0o700)
    place.parent.chmod(0o777)
    assert cache.folder() is None and f"they may write {place.parent} (mode 777)" in caplog.text
    cache._checked.cache_clear()
    place.parent.chmod(0o1777)  # as /tmp: what is ours only we can exchange
    assert cache.folder() == place


class Payload:
    def __init__(self, proof: Path) -> None:
        self.proof = proof

    def __reduce__(self) -> tuple[object, ...]:
        return Path.touch, (self.proof,)


def give_away(file: Path) -> None:
    """As if another user had written it; who is not root cannot give files away, so that others may write it."""
    if os.getuid() == 0:
        os.chown(file, 65534, 65534)
    else:
        file.chmod(0o602)


def make_link(file: Path) -> None:
    file.rename(file.parent.parent / "elsewhere")
    file.symlink_to(file.parent.parent / "elsewhere")


def make_pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


PLANTED: dict[str, Callable[[Path], Any]] = {
    "of another user": give_away,
    "its group may write": lambda file: file.chmod(0o660),
    "all may write": lambda file: file.chmod(0o606),
    "a link": make_link,
    "a pipe": make_pipe,
}


@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
@pytest.mark.parametrize("how", PLANTED)
def test_a_planted_file_is_never_loaded(how: str, suffix: str, place: Path) -> None:
    proof = place.parent / "proof"
    build()
    (file,) = place.glob(f"*.{suffix}")
    evil = pickle.dumps(Payload(proof))
    file.write_bytes(evil + hashlib.sha256(evil).digest())
    PLANTED[how](file)
    assert not build() and not proof.exists()
    (file,) = place.glob(f"*.{suffix}")
    assert stat.S_ISREG(file.lstat().st_mode) and stat.S_IMODE(file.stat().st_mode) == 0o600, "it was replaced"
    assert build()


def test_a_file_that_passes_is_loaded(place: Path) -> None:
    """The payload of the test above does run where it is ours: so that test can fail."""
    build()
    (file,) = place.glob("*.nbc")
    evil = pickle.dumps(Payload(place.parent / "proof"))
    file.write_bytes(evil + hashlib.sha256(evil).digest())
    build()
    assert (place.parent / "proof").exists()


def test_a_folder_of_someone_else_is_not_used(
    place: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    owner = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: owner + 1)
    assert cache.folder() is None and f"it belongs to user {owner}" in caplog.text
    assert not build() and not build()


def test_a_kernel_is_found_by_its_text(place: Path) -> None:
    key = cache.fingerprint(TEXT.format(1))
    assert not cache.is_kept("kernel", key)
    assert not build(1)
    assert cache.is_kept("kernel", key) and not cache.is_kept("kernel", cache.fingerprint(TEXT.format(2)))
    assert build(1) and not build(2) and build(2) and build(1)


def test_the_key_depends_on_text_and_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    cache._versions.cache_clear()
    first = cache.fingerprint("text")
    assert first == cache.fingerprint("text") != cache.fingerprint("texts")
    for version in ("numba", "llvmlite"):
        cache._versions.cache_clear()
        with monkeypatch.context() as patch:
            patch.setattr(getattr(cache, version), "__version__", "another")
            assert cache.fingerprint("text") != first
        cache._versions.cache_clear()
    assert cache.fingerprint("text") == first


def flipped(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "short": lambda data: data[:10],
    "half": lambda data: data[: len(data) // 2],
    "all but a byte": lambda data: data[:-1],
    "without checksum": lambda data: data[: -cache.CHECKSUM],
    "longer": lambda data: data + b"\0",
    "rubbish": lambda data: bytes(range(256)) * 4,
    "another pickle": lambda data: pickle.dumps(["something", "else"]),
    "a bit at the start": lambda data: flipped(data, 3),
    "a bit in the middle": lambda data: flipped(data, len(data) // 2),
    "a bit near the end": lambda data: flipped(data, len(data) - 40),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_file_is_compiled_anew(damage: str, place: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert not build() and build()
    for suffix in ("nbi", "nbc"):
        for file in place.glob(f"*.{suffix}"):
            file.write_bytes(DAMAGE[damage](file.read_bytes()))
        caplog.clear()
        assert not build(), suffix
        assert "is compiled anew" in caplog.text and "is not as it was written" in caplog.text
        assert build(), "and kept"


def test_a_missing_file_is_compiled_anew(place: Path) -> None:
    for suffix in ("nbi", "nbc"):
        build()
        for file in place.glob(f"*.{suffix}"):
            file.unlink()
        assert not build() and build()


def test_what_cannot_be_kept_still_runs(
    place: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*args: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", full)
        assert not build()
        assert "is not kept on disk: [Errno 28]" in caplog.text
    assert not [*place.iterdir()], "no half files"
    assert not build() and build()


SCRIPT = """
import json, sys
import anabranch as ab
from anabranch.kernels.native.code import NativeCode

class Count(ab.Program):
    total: ab.Partitioned[ab.Vector]

    def add(self, key: int, by: float) -> None:
        self.total[key] = self.total[key] + by

code = NativeCode(ab.compile(Count), Count(), 1)
print(json.dumps([code.is_kept("add"), code.prepare("add").from_disk, code.is_kept("add")]))
"""


def test_another_process_finds_it(tmp_path: Path) -> None:
    script = tmp_path / "count.py"
    script.write_text(SCRIPT)
    environment = {**os.environ, "ANABRANCH_CACHE": str(tmp_path / "cache")}

    def run() -> Any:
        done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True, env=environment)
        assert done.stderr == ""
        return json.loads(done.stdout)

    assert run() == [False, False, True]
    assert run() == [True, True, True]
