"""Checks of `HoldBack` in a process of its own, where a mistake ends nobody else: prints a line for each."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from types import FunctionType
from typing import Any

from anabranch.drivers.interrupts import HoldBack

CHECKS: dict[str, Callable[[], None]] = {}


def check(function: Callable[[], None]) -> Callable[[], None]:
    CHECKS[function.__name__] = function
    return function


def ctrl_c() -> None:
    signal.raise_signal(signal.SIGINT)


def comes(function: Callable[[], Any]) -> bool:
    try:
        function()
    except KeyboardInterrupt:
        return True
    return False


def as_module(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function as one of another module."""
    return FunctionType(
        function.__code__, {**globals(), "__name__": name}, function.__name__, None, function.__closure__
    )


@check
def it_comes_at_the_end_and_once() -> None:
    done = []

    def work() -> None:
        with HoldBack(work.__code__):
            for _ in range(3):
                ctrl_c()
                done.append(1)

    assert comes(work) and len(done) == 3
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@check
def it_does_not_replace_an_error() -> None:
    with contextlib.suppress(ValueError), HoldBack():
        ctrl_c()
        raise ValueError("first")


@check
def it_comes_where_ours_relent() -> None:
    steps = []

    def work() -> None:
        with HoldBack() as interrupts:
            interrupts.relent()
            ctrl_c()
            steps.append("held")
            try:
                interrupts.relent()
                steps.append("not reached")
            finally:
                ctrl_c()  # the clean-up is not cut off
                steps.append("cleaned")

    assert comes(work) and steps == ["held", "cleaned"]


@check
def it_comes_in_the_users_code_but_not_in_ours() -> None:
    steps: list[str] = []

    def of_a_state() -> None:
        signal.raise_signal(signal.SIGINT)
        steps.append("state")
        sum(range(10))
        steps.append("state still")

    def emitted() -> None:
        steps.append("user")
        method()
        steps.append("not reached")

    def machine(interrupts: HoldBack, through: bool) -> None:
        interrupts.let_through = through
        users()

    def work(through: bool) -> None:
        with HoldBack(base) as interrupts:
            ours(interrupts, through)
            steps.append("end")

    method, users = as_module("anabranch.lang.table", of_a_state), as_module("anabranch.emitted", emitted)
    ours = as_module("anabranch.runtime.worker", machine)
    base = machine.__code__
    assert comes(lambda: work(True)) and steps == ["user", "state", "state still"]
    assert sys.getprofile() is None
    steps.clear()
    assert comes(lambda: work(False)) and steps == ["user", "state", "state still", "not reached", "end"]
    assert sys.getprofile() is None


@check
def an_interrupt_in_ours_comes_as_soon_as_the_users_code_begins() -> None:
    steps: list[str] = []

    def emitted() -> None:
        steps.append("user")

    def machine(interrupts: HoldBack) -> None:
        ctrl_c()
        interrupts.let_through = True
        steps.append("ours")
        users()

    users, ours = as_module("anabranch.emitted", emitted), as_module("anabranch.runtime.worker", machine)

    def work() -> None:
        with HoldBack(machine.__code__) as interrupts:
            ours(interrupts)

    assert comes(work) and steps == ["ours"]


@check
def other_code_that_ours_call_is_not_the_users() -> None:
    """Such as the parts of the standard library that write the note on an error."""
    steps: list[str] = []

    def machine(interrupts: HoldBack) -> None:
        interrupts.let_through = True
        ctrl_c()
        steps.append("ours")

    def work() -> None:
        with HoldBack(machine.__code__) as interrupts:
            machine(interrupts)  # of this module, which is not of the package
            steps.append("end")

    assert comes(work) and steps == ["ours", "end"]


@check
def a_profiler_of_the_users_stays() -> None:
    def profiler(*event: Any) -> None:
        pass

    def work() -> None:
        with HoldBack(work.__code__):
            ctrl_c()

    sys.setprofile(profiler)
    try:
        assert comes(work)
        assert sys.getprofile() is profiler
    finally:
        sys.setprofile(None)


@check
def a_handler_that_does_not_raise_is_called_once() -> None:
    called: list[int] = []
    signal.signal(signal.SIGINT, lambda number, frame: called.append(number))
    try:
        with HoldBack() as interrupts:
            ctrl_c()
            assert called == []
            interrupts.relent()
            assert called == [signal.SIGINT]
            interrupts.relent()
            ctrl_c()
            assert len(called) == 1
        assert len(called) == 2
        with HoldBack():
            ctrl_c()
            ctrl_c()
        assert len(called) == 3
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@check
def an_ignored_signal_stays_ignored() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with HoldBack():
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
            ctrl_c()
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@check
def blocks_may_be_nested() -> None:
    steps = []

    def work() -> None:
        with HoldBack():
            with HoldBack():
                ctrl_c()
                steps.append("inner")
            steps.append("outer")

    assert comes(work) and steps == ["inner", "outer"]


@check
def other_threads_do_not_touch_signals() -> None:
    found = []

    def work() -> None:
        with HoldBack() as interrupts:
            interrupts.relent()
            found.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [signal.default_int_handler]


def main() -> None:
    for name, function in CHECKS.items():
        try:
            function()
            print(f"{name} ok", flush=True)
        except BaseException:
            print(f"{name} {traceback.format_exc()!r}", flush=True)


if __name__ == "__main__":
    main()
