"""Logs, files, sockets and locks are input and output, by whatever name an entry reaches them."""

from __future__ import annotations

import pytest

import anabranch as ab
from tests.frontend.mutate import programs_in

HEAD = """
import anabranch as ab
import logging as lg
import logging, os, pprint, random, socket, subprocess, sys, threading, time, urllib.request, warnings
from logging import getLogger
from pathlib import Path

log = logging.getLogger(__name__)
DICE = random.Random(1)
FILE = sys.stdout
LOCK = threading.Lock()
PATH = Path("x")

def note(x: str) -> None:
    log.info(x)
"""
PROGRAM = """
class P(ab.Program):
    seen: ab.Partitioned[ab.Table[str, int]]

    def __init__(self) -> None:
        self.log = logging.getLogger("x")
        self.other = log
        self.path = Path("x")
        self.sock = socket.socket()
        self.dice = random.Random(1)

    def _note(self, x: str) -> None:
        self.log.info(x)

    def act(self, k: str) -> None:
{body}
        self.seen[k] = 1
"""
READ_BEFORE = "read before and pass it as a parameter, or return what is to be shown or saved"
CASES = {
    'log.info("x")': "log",
    "log.info(k, extra={})": "log",
    'self.log.info("x")': "self.log",
    'self.other.info("x")': "self.other",
    'logging.getLogger("x").info("e")': "logging.getLogger",
    'getLogger("x").warning("e")': "getLogger",
    'lg.info("x")': "lg.info",
    'x = self.log; x.info("x")': "self.log",
    'x = log; x.info("x")': "log",
    'if log.isEnabledFor(10): k = k + "a"': "log",
    'note("x")': "log",
    'self._note("x")': "self.log",
    'warnings.warn("x")': "warnings.warn",
    'print("x")': "print",
    'pprint.pprint("x")': "pprint.pprint",
    'k = input("x")': "input",
    'k = open("x").read()': "open",
    'with open("x") as f: k = f.read()': "open",
    "with PATH.open() as f: k = f.read()": "PATH",
    'with LOCK: k = k + "a"': "LOCK",
    "LOCK.acquire()": "LOCK",
    'FILE.write("x")': "FILE",
    'sys.stderr.write("x")': "sys.stderr",
    "k = PATH.read_text()": "PATH",
    'k = Path("x").read_text()': "Path",
    'self.path.write_text("x")': "self.path",
    'k = os.environ["X"]': "os.environ",
    'k = os.getenv("X")': "os.getenv",
    'subprocess.run("x")': "subprocess.run",
    'urllib.request.urlopen("x")': "urllib.request.urlopen",
    's = socket.socket(); s.send(b"x")': "socket.socket",
    'socket.create_connection(("a", 1))': "socket.create_connection",
    'self.sock.send(b"x")': "self.sock",
}


def told(body: str) -> list[ab.Diagnostic]:
    lines = "\n".join(f"        {line}" for line in body.split("; "))
    with programs_in(HEAD + PROGRAM.replace("{body}", lines)) as programs:
        return [d for d in ab.check(programs[0]) if d.severity == "error"]


@pytest.mark.parametrize("body", CASES)
def test_it_is_input_or_output_and_nothing_else_is_said(body: str) -> None:
    (found,) = told(body)
    assert found.code == "AB506"
    assert found.message == f"'{CASES[body]}' is input or output: entries must give the same result whenever they run"
    assert found.hint == READ_BEFORE


@pytest.mark.parametrize("name", ["DICE", "self.dice"])
def test_a_source_of_random_numbers_is_randomness(name: str) -> None:
    (found,) = told(f"x = {name}.random()")
    assert (found.code, found.message.partition(":")[0]) == ("AB505", f"'{name}' is randomness")


def test_a_with_over_anything_else_is_syntax_that_programs_do_not_have() -> None:
    (found,) = told('with memoryview(b"x") as view: k = k + "a"; k = k + "b"')
    assert (found.code, found.message) == ("AB501", "programs have no with")


def test_a_logger_in_the_class_body_is_told_once_at_its_line() -> None:
    source = HEAD + PROGRAM.replace("    def __init__", "    shared = log\n\n    def __init__").replace(
        "{body}", "        self.shared.info(k)"
    )
    with programs_in(source) as programs:
        (found,) = [d for d in ab.check(programs[0]) if d.severity == "error"]
    assert found.code == "AB204" and "the constant shared = <Logger" in found.message
    assert source.splitlines()[found.span.line - 1] == "    shared = log"
