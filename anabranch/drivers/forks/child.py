"""A process that goes on with a copy of another's memory, which the system copies page by page as one of them writes.

Of the threads of a process only the one that forks lives on in the copy, and what another had locked at that moment
stays locked there. So whoever forks holds what the copy will need: the compilers, and all state. The copy tries its
tools before it is used; one that cannot is ended, and another is made.

Laws: a copy touches no file or connection that the other had open; it ends when the other end of its doors does; it
gives back nothing: no handler that was registered for the end of the process runs in it.
"""

from __future__ import annotations

import gc
import logging
import os
import signal
import socket
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from typing import Any, NoReturn

import pyarrow as pa

from anabranch.drivers.crossing import pack_table, unpack_table
from anabranch.drivers.forks.doors import Doors
from anabranch.drivers.leaving import leave, print_whole_lines
from anabranch.drivers.streams import Broken

log = logging.getLogger(__name__)

PATIENCE = 10.0  # seconds in which a copy says that it is ready
TRIES = 3
LONGEST = 4096  # bytes that a copy says of itself at the start

Work = Callable[[Doors], None]


class Child:
    """The other end of a fork. `doors` lead there; it ends when they are closed."""

    def __init__(self, pid: int, doors: Doors) -> None:
        self.pid, self.doors = pid, doors

    def end(self, patience: float) -> str:
        """Let it end, and wait for that; gives what it has to say of an end that is not one in peace."""
        told = self.doors.end(patience)
        if told is None:
            self.kill()
            told = f"it has not ended within {patience:g} s, and was killed"
        return told

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)


def pair() -> tuple[socket.socket, socket.socket]:
    """Both ends of what `Doors` need."""
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)


def until_ready(make: Callable[[socket.socket], int | None]) -> Child:
    """Let `make` fork with one end of a pair, and wait until the copy is ready; again if it never is.

    `make` gives the number of the copy, if it is one of this process.
    """
    for left in reversed(range(TRIES)):
        ours, theirs = pair()
        try:
            pid = make(theirs)
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        ours.settimeout(PATIENCE)
        try:
            told = ours.recv(LONGEST).decode()
        except TimeoutError:
            told = ""
        ours.settimeout(None)
        if told.isdigit():
            return Child(int(told), Doors(ours))
        ours.close()
        if pid is not None and not told:
            Child(pid, Doors(ours)).kill()  # it may wait for a lock for ever, and would not see that it is not wanted
        why = told or "it has not said a word"
        if told or not left:
            raise Broken(f"the fork could not start: {why}")
        log.warning("a fork is not ready after %g s; another is made", PATIENCE)
    raise AssertionError("there is a last try")


def fork(
    theirs: socket.socket, still: AbstractContextManager[Any], work: Work, ended: Callable[[], None] = lambda: None
) -> int:
    """Start a copy of this process that does this work behind `theirs`, and nothing else; gives its number.

    `still` keeps others from what the copy needs; the work calls `doors.ready` when it can be asked something. `ended`
    is told of its end, on another thread.
    """
    _try_tools()  # what they import is then imported once
    with ExitStack() as held:
        held.enter_context(still)
        held.enter_context(_compilers())
        held.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads: see above
        pid = os.fork()
        if not pid:
            _live(theirs, held, work)
    threading.Thread(target=_reap, args=(pid, ended), name=f"anabranch-fork-{pid}", daemon=True).start()
    return pid


def _try_tools() -> None:
    """What had locked one of them when the process was copied has it for ever: then this does not come back."""
    unpack_table(pack_table(pa.table({"x": [1, 2], "y": ["a", "b"]})))


def _live(own: socket.socket, held: ExitStack, work: Work) -> NoReturn:
    code = 1
    try:
        held.close()
        gc.freeze()  # what is there is the other's: it is neither looked through nor ended
        os.setsid()  # Ctrl-C is for the other
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        _let_go_of_files(own.fileno())
        print_whole_lines()
        try:
            _try_tools()
            work(Doors(own))
        except BaseException as error:
            with suppress(OSError):  # nobody waits for it any more
                own.send(f"{type(error).__name__}: {error}".encode()[:LONGEST])
            raise
        code = 0
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        leave(code)


def _let_go_of_files(own: int) -> None:
    """What was open leads nowhere now. It stays open, so that whoever still has its number closes nothing else."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for name in os.listdir("/dev/fd"):  # noqa: PTH208  # these are no paths to go on with
        number = int(name)
        if number not in (1, 2, own, nowhere):
            with suppress(OSError):  # the one that listed them
                os.fstat(number)
                os.dup2(nowhere, number, inheritable=False)


@contextmanager
def _compilers() -> Iterator[None]:
    """Nobody compiles meanwhile, in this whole process: the copy will want to."""
    if "numba" not in sys.modules:
        yield
        return
    from anabranch.kernels.native.code import nobody_compiles

    with nobody_compiles():
        yield


def _reap(pid: int, ended: Callable[[], None]) -> None:
    with suppress(ChildProcessError):
        os.waitpid(pid, 0)
    ended()
