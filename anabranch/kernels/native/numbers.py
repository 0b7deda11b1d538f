"""Integers and floats as CPython computes them.

Law: a function gives CPython's result bit for bit, or it leaves. It leaves where CPython raises, where the result does
not fit 64 bits, and where its docstring says so. Which NaN a result is, is no part of the law: nothing here shows it.
"""

from __future__ import annotations

import math

from anabranch.kernels.native.libm import acos as acos
from anabranch.kernels.native.libm import asin as asin
from anabranch.kernels.native.libm import atan as atan
from anabranch.kernels.native.libm import atan2 as atan2
from anabranch.kernels.native.libm import ceil_float, floor_float, libm_fmod, libm_pow, rint_float
from anabranch.kernels.native.libm import cos as cos
from anabranch.kernels.native.libm import cosh as cosh
from anabranch.kernels.native.libm import degrees as degrees
from anabranch.kernels.native.libm import exp as exp
from anabranch.kernels.native.libm import expm1 as expm1
from anabranch.kernels.native.libm import isfinite as isfinite
from anabranch.kernels.native.libm import isinf as isinf
from anabranch.kernels.native.libm import isnan as isnan
from anabranch.kernels.native.libm import log as log
from anabranch.kernels.native.libm import log1p as log1p
from anabranch.kernels.native.libm import log2 as log2
from anabranch.kernels.native.libm import log10 as log10
from anabranch.kernels.native.libm import radians as radians
from anabranch.kernels.native.libm import sin as sin
from anabranch.kernels.native.libm import sinh as sinh
from anabranch.kernels.native.libm import sqrt as sqrt
from anabranch.kernels.native.libm import tan as tan
from anabranch.kernels.native.libm import tanh as tanh
from anabranch.kernels.native.words import Leave, bits_of, float_of, inlined, multiply, subtract

_LEAST = -(2**63)
_BEYOND = 2.0**63  # the least float above every integer of 64 bits
_EXACT = 2**53  # up to here every integer is a float
_INFINITY = math.inf
_SMALLEST_NORMAL = 2.0**-1022
_MAGNITUDE = 2**63 - 1

# Sums of floats, as CPython adds them since 3.12 (Neumaier): with the error of each step kept.


@inlined
def error_of_sum(total: float, value: float, both: float) -> float:
    """What `both`, the rounded sum of the two, lacks of it."""
    if abs(total) >= abs(value):
        return (total - both) + value
    return (value - both) + total


@inlined
def corrected_sum(total: float, error: float) -> float:
    """An error that is no number says nothing of a sum that is infinite, and none must not change the sign of -0.0."""
    return total + error if error != 0.0 and isfinite(error) else total


# Integers. The plain operators are right for `&`, `|`, `^`, `~` and comparisons; `words` has `+`, `-` and `*`.


@inlined
def floor_divide(a: int, b: int) -> int:
    if b == 0 or (b == -1 and a == _LEAST):
        raise Leave
    return a // b


@inlined
def modulo(a: int, b: int) -> int:
    if b == 0:
        raise Leave
    if b == -1:  # the processor's division traps on the least integer
        return 0
    return a % b


@inlined
def negate(a: int) -> int:
    return subtract(0, a)


@inlined
def absolute(a: int) -> int:
    return subtract(0, a) if a < 0 else a


@inlined
def int_power(a: int, b: int) -> int:
    """`a ** b`; a negative exponent leaves, as the result is a float."""
    if b < 0:
        raise Leave
    result = 1
    while True:
        if b & 1:
            result = multiply(result, a)
        b >>= 1
        if b == 0:  # before the square that nobody asks for overflows
            return result
        a = multiply(a, a)


@inlined
def shift_left(a: int, count: int) -> int:
    if count < 0:
        raise Leave
    if a == 0:
        return 0
    if count > 63:
        raise Leave
    result = a << count
    if result >> count != a:
        raise Leave
    return result


@inlined
def shift_right_int(a: int, count: int) -> int:
    if count < 0:
        raise Leave
    return a >> min(count, 63)


@inlined
def true_divide(a: int, b: int) -> float:
    """`a / b`; leaves beyond 2**53, where the operands may be no floats."""
    if b == 0 or a > _EXACT or a < -_EXACT or b > _EXACT or b < -_EXACT:
        raise Leave
    return float(a) / float(b)


@inlined
def int_to_float(a: int) -> float:
    """`float(a)`, rounded half to even."""
    return float(a)


@inlined
def int_to_float_exact(a: int) -> float:
    """The float that equals the integer; leaves if none does."""
    x = float(a)
    if x >= _BEYOND or int(x) != a:
        raise Leave
    return x


# Of two integers or of two floats, never mixed: the first, unless the second is less (greater), which NaN never is.


@inlined
def minimum(a: float, b: float) -> float:
    return b if b < a else a


@inlined
def maximum(a: float, b: float) -> float:
    return b if b > a else a


# An integer beside a float: compared as the numbers that they are, without rounding the integer to a float.


@inlined
def int_float_equal(a: int, x: float) -> bool:
    return float(a) == x and x < _BEYOND and int(x) == a


@inlined
def int_float_less(a: int, x: float) -> bool:
    if x >= _BEYOND:
        return True
    return x > -_BEYOND and a < int(ceil_float(x))


@inlined
def int_float_less_equal(a: int, x: float) -> bool:
    if x >= _BEYOND:
        return True
    return x >= -_BEYOND and a <= int(floor_float(x))


@inlined
def float_int_less(x: float, a: int) -> bool:
    return x == x and not int_float_less_equal(a, x)


@inlined
def float_int_less_equal(x: float, a: int) -> bool:
    return x == x and not int_float_less(a, x)


# Floats. `+`, `-`, `*`, unary minus and comparisons are the plain operators.


@inlined
def fabs(x: float) -> float:
    return float_of(bits_of(x) & _MAGNITUDE)


@inlined
def copysign(x: float, y: float) -> float:
    """Leaves where `y` is NaN: its sign is LLVM's choice, and only here would it be seen."""
    if y != y:
        raise Leave
    return _with_sign(x, y)


@inlined
def _with_sign(x: float, y: float) -> float:
    return float_of((bits_of(x) & _MAGNITUDE) | (bits_of(y) & _LEAST))


@inlined
def float_divide(x: float, y: float) -> float:
    if y == 0.0:
        raise Leave
    return x / y


@inlined
def float_modulo(x: float, y: float) -> float:
    if y == 0.0:
        raise Leave
    rest = libm_fmod(x, y)
    if rest == 0.0:
        return _with_sign(0.0, y)
    return rest + y if (y < 0.0) != (rest < 0.0) else rest


@inlined
def float_floor_divide(x: float, y: float) -> float:
    """The steps of CPython's float_divmod, which are not `floor(x / y)`."""
    if y == 0.0:
        raise Leave
    rest = libm_fmod(x, y)
    quotient = (x - rest) / y
    if rest != 0.0 and (y < 0.0) != (rest < 0.0):
        quotient -= 1.0
    if quotient == 0.0:
        return _with_sign(0.0, x / y)
    below = floor_float(quotient)
    return below + 1.0 if quotient - below > 0.5 else below


@inlined
def pow(x: float, y: float) -> float:
    """`math.pow(x, y)`."""
    result = libm_pow(x, y)
    if not isfinite(result) and isfinite(x) and isfinite(y):
        raise Leave
    return result


@inlined
def float_power(x: float, y: float) -> float:
    """`x ** y`. Leaves at subnormal results too: whether CPython raises there depends on libm's errno."""
    result = pow(x, y)
    if result != 0.0 and fabs(result) < _SMALLEST_NORMAL:
        raise Leave
    return result


@inlined
def fmod(x: float, y: float) -> float:
    result = libm_fmod(x, y)
    if result != result and x == x and y == y:
        raise Leave
    return result


@inlined
def float_to_int(x: float) -> int:
    """`int(x)`, which is `math.trunc(x)` as well."""
    if not -_BEYOND <= x < _BEYOND:
        raise Leave
    return int(x)


@inlined
def round_to_int(x: float) -> int:
    """`round(x)`, half to even."""
    return float_to_int(rint_float(x))


@inlined
def floor(x: float) -> int:
    return float_to_int(floor_float(x))


@inlined
def ceil(x: float) -> int:
    return float_to_int(ceil_float(x))


trunc = float_to_int
