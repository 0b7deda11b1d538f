"""Text as kernels see it: an address and a length in bytes, UTF-8 for str. Positions are in bytes too.

Laws: on the UTF-8 of a str each function gives what the method of str gives. Equality, order, search and splitting at a
separator work on bytes alone, so that they are right for bytes as well; white space is that of str, not of bytes.
UTF-8 makes this possible: its order is the order of code points, and no character begins inside another.

Nothing here reads outside `a .. a + n`. Eight bytes are looked at together where there are eight, the first in the
lowest bits: little-endian processors only.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from anabranch.kernels.native.words import I32, I64, Leave, inlined, load_byte, shift_right, store_byte, wrap_add
from anabranch.kernels.native.words import wrap_multiply as times
from anabranch.lang.keys import _STEP

_ONES = 0x0101010101010101
_HIGH = -0x7F7F7F7F7F7F7F80  # 0x80 in each byte
_HASH_STEP = _STEP - 2**64  # as a signed integer
_ASCII_SPACES = sum(1 << c for c in range(33) if chr(c).isspace())


@intrinsic
def _load_8(typing: Any, address: Any) -> Any:
    """Eight bytes at any address: `words.load` may assume that a word is aligned, and text is not."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load(builder.inttoptr(args[0], I64.as_pointer()), align=1)

    return types.int64(types.int64), emit


@intrinsic
def _load_4(typing: Any, address: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.zext(builder.load(builder.inttoptr(args[0], I32.as_pointer()), align=1), I64)

    return types.int64(types.int64), emit


@intrinsic
def _store_8(typing: Any, address: Any, value: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.store(args[1], builder.inttoptr(args[0], I64.as_pointer()), align=1)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), emit


@intrinsic
def _first_flag(typing: Any, flags: Any) -> Any:
    """The number of the lowest byte that has a bit set; there is one."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.lshr(builder.cttz(args[0], ir.IntType(1)(1)), I64(3))

    return types.int64(types.int64), emit


@inlined
def text_equal(a: int, n: int, b: int, m: int) -> bool:
    if n != m:
        return False
    i = 0
    while i + 8 <= n:
        if _load_8(a + i) != _load_8(b + i):
            return False
        i += 8
    # What is left, with bytes that were compared before where that saves a loop: how long it is nobody can predict.
    if n >= 8:
        return _load_8(a + n - 8) == _load_8(b + n - 8)
    if n >= 4:
        return (_load_4(a) == _load_4(b)) & (_load_4(a + n - 4) == _load_4(b + n - 4))
    if n == 0:
        return True
    half, last = n >> 1, n - 1
    first_is, half_is = load_byte(a) == load_byte(b), load_byte(a + half) == load_byte(b + half)
    return first_is & half_is & (load_byte(a + last) == load_byte(b + last))


@inlined
def text_compare(a: int, n: int, b: int, m: int) -> int:
    """-1, 0 or 1 as the first is less than, equal to or greater than the second."""
    i, end = 0, min(n, m)
    while i + 8 <= end and _load_8(a + i) == _load_8(b + i):
        i += 8
    while i < end:
        x, y = load_byte(a + i), load_byte(b + i)
        if x != y:
            return -1 if x < y else 1
        i += 1
    return 0 if n == m else -1 if n < m else 1


@inlined
def text_hash(a: int, n: int) -> int:
    """The bits of `anabranch.lang.keys.hash_words`."""
    h, i = n, 0
    while i + 8 <= n:
        h = times(h ^ _load_8(a + i), _HASH_STEP)
        h ^= shift_right(h, 32)
        i += 8
    if i == n:
        return h
    if n >= 8:
        last = shift_right(_load_8(a + n - 8), 8 * (i + 8 - n))
    elif n >= 4:  # two halves that may overlap
        last = _load_4(a) | (_load_4(a + n - 4) << (8 * (n - 4)))
    else:
        half = n >> 1
        last = load_byte(a) | (load_byte(a + half) << (8 * half)) | (load_byte(a + n - 1) << (8 * (n - 1)))
    h = times(h ^ last, _HASH_STEP)
    return h ^ shift_right(h, 32)


@inlined
def text_length(a: int, n: int) -> int:
    """`len` of the str: the bytes that are no continuation 0b10xxxxxx."""
    length, i = n, 0
    while i + 8 <= n:
        w = _load_8(a + i)
        length -= shift_right(times(shift_right(w, 7) & ~shift_right(w, 6) & _ONES, _ONES), 56)
        i += 8
    while i < n:
        if load_byte(a + i) & 0xC0 == 0x80:
            length -= 1
        i += 1
    return length


@inlined
def is_ascii(a: int, n: int) -> bool:
    i = 0
    while i + 8 <= n:
        if _load_8(a + i) & _HIGH != 0:
            return False
        i += 8
    while i < n:
        if load_byte(a + i) >= 0x80:
            return False
        i += 1
    return True


@inlined
def starts_with(a: int, n: int, b: int, m: int) -> bool:
    return m <= n and text_equal(a, m, b, m)


@inlined
def ends_with(a: int, n: int, b: int, m: int) -> bool:
    return m <= n and text_equal(a + n - m, m, b, m)


@inlined
def _find_byte(a: int, n: int, position: int, byte: int) -> int:
    """Where the byte is next, from `position` on; -1 if nowhere."""
    i, pattern = position, times(byte, _ONES)
    while i + 8 <= n:
        w = _load_8(a + i) ^ pattern
        zeros = wrap_add(w, -_ONES) & ~w & _HIGH  # the lowest flag is right; those above may be borrowed
        if zeros != 0:
            return i + _first_flag(zeros)
        i += 8
    while i < n:
        if load_byte(a + i) == byte:
            return i
        i += 1
    return -1


@inlined
def find(a: int, n: int, position: int, b: int, m: int) -> int:
    """Where the second text is next in the first, from byte `position` <= n on; -1 if nowhere."""
    if m == 0:
        return position
    first, i = load_byte(b), position
    while True:
        i = _find_byte(a, n - m + 1, i, first)
        if i < 0 or text_equal(a + i, m, b, m):
            return i
        i += 1


@inlined
def contains(a: int, n: int, b: int, m: int) -> bool:
    """Whether the second text is in the first."""
    return find(a, n, 0, b, m) >= 0


@inlined
def next_part(a: int, n: int, position: int, separator: int, m: int) -> tuple[int, int, int]:
    """Start and end of the next part of `str.split(separator)`, and where to go on: -1 after the last part.

    Begin with position 0; an empty separator leaves.
    """
    if m == 0:
        raise Leave
    end = find(a, n, position, separator, m)
    if end < 0:
        return position, n, -1
    return position, end, end + m


@inlined
def _space(a: int, n: int, i: int) -> int:
    """How many bytes the white space at byte `i` < n has; 0 if there is none."""
    c = load_byte(a + i)
    if c <= 32:
        return (_ASCII_SPACES >> c) & 1
    if c < 0xC2 or c > 0xE3:
        return 0
    if c == 0xC2:
        d = load_byte(a + i + 1)
        return 2 if d == 0x85 or d == 0xA0 else 0
    if c < 0xE1 or i + 3 > n:
        return 0
    d, e = load_byte(a + i + 1), load_byte(a + i + 2)
    if c == 0xE1:  # U+1680
        return 3 if d == 0x9A and e == 0x80 else 0
    if c == 0xE3:  # U+3000
        return 3 if d == 0x80 and e == 0x80 else 0
    if d == 0x80:  # U+2000 to U+200A, U+2028, U+2029, U+202F
        return 3 if e <= 0x8A or e == 0xA8 or e == 0xA9 or e == 0xAF else 0
    return 3 if d == 0x81 and e == 0x9F else 0  # U+205F


@inlined
def _skip_spaces(a: int, n: int, i: int) -> int:
    while i < n:
        width = _space(a, n, i)
        if width == 0:
            break
        i += width
    return i


@inlined
def _word_end(a: int, n: int, i: int) -> int:
    while i < n:
        if i + 8 <= n:
            w = _load_8(a + i)
            # Bytes up to 32 or from 128 on; the lowest flag is right, those above it may be borrowed.
            flags = (wrap_add(w, -33 * _ONES) | w) & _HIGH
            if flags == 0:
                i += 8
                continue
            i += _first_flag(flags)
        if _space(a, n, i) > 0:
            break
        i += 1
    return i


@inlined
def next_word(a: int, n: int, position: int) -> tuple[int, int]:
    """Start and end of the next word of `str.split()` from byte `position` on; start is -1 if there is none.

    Begin with position 0 and go on at the end of the last word.
    """
    start = _skip_spaces(a, n, position)
    if start == n:
        return -1, n
    return start, _word_end(a, n, start)


@inlined
def strip_left(a: int, n: int) -> tuple[int, int]:
    """Start and end of `str.lstrip()`."""
    return _skip_spaces(a, n, 0), n


@inlined
def strip_right(a: int, n: int) -> tuple[int, int]:
    """Start and end of `str.rstrip()`."""
    while n > 0:
        width = 1 if load_byte(a + n - 1) < 0x80 else 2 if n > 1 and load_byte(a + n - 2) >= 0xC0 else 3
        if width > n or _space(a, n, n - width) != width:
            break
        n -= width
    return 0, n


@inlined
def strip(a: int, n: int) -> tuple[int, int]:
    """Start and end of `str.strip()`; they are equal if nothing is left."""
    end = strip_right(a, n)[1]
    return _skip_spaces(a, end, 0), end


def _changing_case(first: str, last: str) -> Any:
    """Letters of ASCII from `first` to `last` change their case, which is bit 0x20."""
    low, high = ord(first), ord(last)
    from_low, above_high = (0x80 - low) * _ONES, (0x7F - high) * _ONES

    def change(a: int, n: int, target: int) -> None:
        i = 0
        while i + 8 <= n:
            w = _load_8(a + i)
            if w & _HIGH != 0:
                raise Leave
            letters = wrap_add(w, from_low) & ~wrap_add(w, above_high) & _HIGH  # no byte carries into the next
            _store_8(target + i, w ^ shift_right(letters, 2))
            i += 8
        while i < n:
            c = load_byte(a + i)
            if c >= 0x80:
                raise Leave
            store_byte(target + i, c ^ 0x20 if low <= c <= high else c)
            i += 1

    change.__qualname__ = f"change_from_{first}"  # code from disk is told apart by its name
    return inlined(change)


# (address, length, target): the n bytes with the case changed go to `target`. Leaves at the first byte that is not
# ASCII, where one letter may become three; what is at `target` then is undefined.
lower_ascii, upper_ascii = _changing_case("A", "Z"), _changing_case("a", "z")
