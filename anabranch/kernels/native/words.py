"""Memory as kernels see it: 64-bit words at addresses, and the one way to leave a kernel.

A kernel works on integers, floats and booleans alone; what is larger (text, a list, a table) is an address. Nothing
here checks an address: whoever makes one answers for it.

`Leave` is raised, inside compiled code, for everything that a kernel does not do itself: an overflow, a missing key, an
exception of the program, memory that is full. The caller takes back what the row has written and goes on from there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from anabranch.kernels.native.cache import Lazy
from anabranch.kernels.native.linked import shared

I8, I32, I64, F64 = ir.IntType(8), ir.IntType(32), ir.IntType(64), ir.DoubleType()


class Leave(Exception):
    """The kernel has left the row at hand."""


def inlined(function: Callable[..., Any]) -> Any:
    """A primitive: part of each kernel that calls it, where LLVM inlines it as it sees fit."""
    dispatcher = shared(function)
    dispatcher._cache = Lazy(function)
    return dispatcher


def _load(kind: ir.Type, result: Any, widen: Callable[[Any, Any], Any] | None = None) -> Any:
    def load(typing: Any, address: Any) -> Any:
        def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            found = builder.load(builder.inttoptr(args[0], kind.as_pointer()))
            return found if widen is None else widen(builder, found)

        return result(types.int64), emit

    return intrinsic(load)


def _store(kind: ir.Type, given: Any, narrow: Callable[[Any, Any], Any] | None = None) -> Any:
    def store(typing: Any, address: Any, value: Any) -> Any:
        def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            value = args[1] if narrow is None else narrow(builder, args[1])
            builder.store(value, builder.inttoptr(args[0], kind.as_pointer()))
            return context.get_dummy_value()

        return types.void(types.int64, given), emit

    return intrinsic(store)


load = _load(I64, types.int64)
load_float = _load(F64, types.float64)
load_32 = _load(I32, types.int64, lambda b, x: b.sext(x, I64))
load_byte = _load(I8, types.int64, lambda b, x: b.zext(x, I64))
store = _store(I64, types.int64)
store_float = _store(F64, types.float64)
store_32 = _store(I32, types.int64, lambda b, x: b.trunc(x, I32))
store_byte = _store(I8, types.int64, lambda b, x: b.trunc(x, I8))


@intrinsic
def bits_of(typing: Any, value: Any) -> Any:
    """The word that a float is in memory."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], I64)

    return types.int64(types.float64), emit


@intrinsic
def float_of(typing: Any, bits: Any) -> Any:
    """The float that a word is."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], F64)

    return types.float64(types.int64), emit


@intrinsic
def prefetch(typing: Any, address: Any) -> Any:
    """Ask for a line of memory that will be needed soon; any address will do."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = builder.inttoptr(args[0], I8.as_pointer())
        kind = ir.FunctionType(ir.VoidType(), [pointer.type, I32, I32, I32])
        function = builder.module.declare_intrinsic("llvm.prefetch", [pointer.type], kind)
        builder.call(function, [pointer, I32(0), I32(3), I32(1)])
        return context.get_dummy_value()

    return types.void(types.int64), emit


def _transfer(name: str) -> Any:
    def transfer(typing: Any, target: Any, source: Any, size: Any) -> Any:
        def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            to, of = (builder.inttoptr(a, I8.as_pointer()) for a in args[:2])
            kind = ir.FunctionType(ir.VoidType(), [to.type, of.type, I64, ir.IntType(1)])
            function = builder.module.declare_intrinsic(f"llvm.{name}", [to.type, of.type, I64], kind)
            builder.call(function, [to, of, args[2], ir.IntType(1)(0)])
            return context.get_dummy_value()

        return types.void(types.int64, types.int64, types.int64), emit

    return intrinsic(transfer)


copy = _transfer("memcpy")  # (target, source, bytes) that do not overlap
move = _transfer("memmove")


def _checked(name: str) -> Any:
    """An operation on 64-bit integers that leaves the kernel where the result does not fit."""

    def checked(typing: Any, a: Any, b: Any) -> Any:
        def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            both = getattr(builder, f"{name}_with_overflow")(*args)
            with cgutils.if_unlikely(builder, builder.extract_value(both, 1)):
                context.call_conv.return_user_exc(builder, Leave, ())
            return builder.extract_value(both, 0)

        return types.int64(types.int64, types.int64), emit

    return intrinsic(checked)


add = _checked("sadd")
subtract = _checked("ssub")
multiply = _checked("smul")


def _wrapping(operation: str) -> Any:
    """An operation on 64 bits that drops what does not fit: for hashes."""

    def wrapping(typing: Any, a: Any, b: Any) -> Any:
        def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return getattr(builder, operation)(*args)

        return types.int64(types.int64, types.int64), emit

    return intrinsic(wrapping)


wrap_add = _wrapping("add")
wrap_multiply = _wrapping("mul")
shift_right = _wrapping("lshr")  # zeros come in from the left
