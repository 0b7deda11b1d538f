"""`math` of floats, through the libm that CPython itself uses.

Law as for `numbers`: CPython's result bit for bit, or it leaves.

`libm` is called under names of our own, which LLVM does not know: under its real name, `pow(2.0, x)` would become
`exp2(x)` and `pow(x, 2.0)` `x * x`, which differ from it in the last bit. `math.hypot` is missing, as CPython does not
ask libm for it.
"""

from __future__ import annotations

import ctypes
import math
from typing import Any

from llvmlite import binding, ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from anabranch.kernels.native.words import F64, Leave, inlined

_INFINITY = math.inf
_DEGREES, _RADIANS = 180.0 / math.pi, math.pi / 180.0

_LIBM = ctypes.CDLL(getattr(math, "__file__", None))  # the very libm that CPython's own `math` is linked with


def _calling(name: str, operands: int) -> Any:
    kind, signature = ir.FunctionType(F64, [F64] * operands), types.float64(*(types.float64,) * operands)

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), args)

    def one(typing: Any, x: Any) -> Any:
        return signature, emit

    def two(typing: Any, x: Any, y: Any) -> Any:
        return signature, emit

    return intrinsic(one if operands == 1 else two)


def _libm(symbol: str, operands: int = 1) -> Any:
    """The function of libm: called each time as it is, neither folded nor replaced by LLVM."""
    name = f"anabranch_{symbol}"
    binding.add_symbol(name, ctypes.cast(getattr(_LIBM, symbol), ctypes.c_void_p).value)
    return _calling(name, operands)


def _exact(name: str) -> Any:
    """An operation whose result IEEE 754 fixes, so that LLVM may do it in any way."""
    return _calling(f"llvm.{name}.f64", 1)


libm_pow, libm_fmod, libm_atan2 = _libm("pow", 2), _libm("fmod", 2), _libm("atan2", 2)
floor_float, ceil_float, rint_float, _sqrt = _exact("floor"), _exact("ceil"), _exact("rint"), _exact("sqrt")


@inlined
def isnan(x: float) -> bool:
    return x != x


@inlined
def isinf(x: float) -> bool:
    return x == _INFINITY or x == -_INFINITY


@inlined
def isfinite(x: float) -> bool:
    return -_INFINITY < x < _INFINITY


@inlined
def degrees(x: float) -> float:
    return x * _DEGREES


@inlined
def radians(x: float) -> float:
    return x * _RADIANS


@inlined
def atan2(y: float, x: float) -> float:
    return libm_atan2(y, x)


def _of_math(name: str, call: Any = None) -> Any:
    """A function of one float: leaves where NaN comes of a number, or an infinity of a finite one."""
    call = call or _libm(name)

    def checked(x: float) -> float:
        result = call(x)
        if not isfinite(result) and (isfinite(x) or (result != result and x == x)):
            raise Leave
        return result

    checked.__qualname__ = f"checked_{name}"  # code from disk is told apart by its name
    return inlined(checked)


sqrt = _of_math("sqrt", _sqrt)
exp, expm1 = _of_math("exp"), _of_math("expm1")
log, log1p, log2, log10 = _of_math("log"), _of_math("log1p"), _of_math("log2"), _of_math("log10")
sin, cos, tan = _of_math("sin"), _of_math("cos"), _of_math("tan")
asin, acos, atan = _of_math("asin"), _of_math("acos"), _of_math("atan")
sinh, cosh, tanh = _of_math("sinh"), _of_math("cosh"), _of_math("tanh")
