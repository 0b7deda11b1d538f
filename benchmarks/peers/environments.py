"""The environments of the peers, made when they are first needed, and the servers they talk to.

An environment is a virtual environment with pinned packages in a folder of the cache. A peer that cannot be installed,
or whose server is not on the machine, is not dropped: the reason is part of the report.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep

from registry import Contender

SERVERS = {"redis-server": "Debian, Ubuntu: apt-get install redis-server"}
READY = "installed.txt"  # what an environment holds when it is whole


class Missing(Exception):
    """A contender cannot run on this machine; the message is the reason."""


def default_folder() -> Path:
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache, "anabranch-benchmarks")


def python_of(contender: Contender, folder: Path) -> str:
    """The interpreter that runs the contender; its environment is made if it is not there yet."""
    if contender.server and not shutil.which(contender.server):
        raise Missing(f"there is no {contender.server} on the path ({SERVERS[contender.server]})")
    if contender.java:
        find_java()
    if contender.packages is None:
        return sys.executable
    home = folder / contender.environment
    wanted = "\n".join(contender.packages) + "\n"
    if not ((home / READY).exists() and (home / READY).read_text(encoding="utf-8") == wanted):
        install(home, contender.packages)
        (home / READY).write_text(wanted, encoding="utf-8")
    return str(home / "bin" / "python")


def install(home: Path, packages: tuple[str, ...]) -> None:
    print(f"installing {', '.join(packages)} into {home}", file=sys.stderr)
    steps = [
        [sys.executable, "-m", "venv", "--clear", str(home)],
        [str(home / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages],
    ]
    for step in steps:
        done = subprocess.run(step, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            lines = [line.strip() for line in done.stdout.splitlines() if line.strip()]
            errors = [line for line in lines if "error" in line.lower()] or lines[-1:]
            raise Missing(f"cannot be installed with {' '.join(packages)}: {' / '.join(errors[-2:])}")


def find_java() -> str:
    """The JAVA_HOME that those who need one get."""
    from tests.jvm import find_jvm

    try:
        return str(find_jvm())
    except (OSError, RuntimeError, SystemExit) as error:
        raise Missing(f"there is no Java: {error}") from error


@contextmanager
def server(name: str | None) -> Iterator[dict[str, int]]:
    """A server on a loopback port of its own for one run of a contender, with nothing in it; stopped at the end.

    It keeps nothing on disk, as the others of the comparison do not.
    """
    if name is None:
        yield {}
        return
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        settings = {"port": str(port), "bind": "127.0.0.1", "dir": folder, "save": "", "appendonly": "no"}
        command = [name, *(word for key, value in settings.items() for word in (f"--{key}", value))]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait_for(port, process)
            yield {"port": port}
        finally:
            process.terminate()
            process.wait(timeout=30)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(port: int, process: subprocess.Popen[bytes], seconds: float = 20) -> None:
    end = monotonic() + seconds
    while monotonic() < end and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            sleep(0.05)
    raise Missing(f"the server did not answer on port {port} within {seconds:.0f} s")
