"""More of str and bytes: parts by number, made text, integers as text.

Law as for `text`: what CPython gives, or it leaves. A str is valid UTF-8. What is new text lies in scratch memory; all
else is a part of what was given, as start and end in bytes.
"""

from __future__ import annotations

from anabranch.kernels.native.lists import LONG, slice_bounds, step_bounds
from anabranch.kernels.native.tables import take_scratch
from anabranch.kernels.native.text import _space, find, is_ascii, strip, text_equal, text_length
from anabranch.kernels.native.words import Leave, add, copy, inlined, load, load_byte, multiply, store_byte, subtract

# -- code points by number --------------------------------------------------------------------------------------------


@inlined
def char_width(a: int) -> int:
    """The bytes of the code point that begins here."""
    c = load_byte(a)
    return 1 if c < 0x80 else 2 if c < 0xE0 else 3 if c < 0xF0 else 4


@inlined
def _offset(a: int, position: int, count: int) -> int:
    """Where so many code points after a byte position end."""
    for _ in range(count):
        position += char_width(a + position)
    return position


@inlined
def text_slice(a: int, n: int, low: int, high: int) -> tuple[int, int]:
    if is_ascii(a, n):
        return slice_bounds(n, low, high)
    low, high = slice_bounds(text_length(a, n), low, high)
    start = _offset(a, 0, low)
    return start, _offset(a, start, high - low)


@inlined
def bytes_slice(a: int, n: int, low: int, high: int) -> tuple[int, int]:
    return slice_bounds(n, low, high)


@inlined
def bytes_steps(context: int, a: int, n: int, low: int, high: int, step: int) -> tuple[int, int]:
    """Address and length of a slice with a step."""
    start, count = step_bounds(n, low, high, step)
    made = take_scratch(context, count)
    for i in range(count):
        store_byte(made + i, load_byte(a + start + i * step))
    return made, count


@inlined
def text_steps(context: int, a: int, n: int, low: int, high: int, step: int) -> tuple[int, int]:
    """The same of a str; leaves where it is not ASCII."""
    if not is_ascii(a, n):
        raise Leave
    return bytes_steps(context, a, n, low, high, step)


@inlined
def text_item(a: int, n: int, index: int) -> tuple[int, int]:
    length = text_length(a, n)
    if index < 0:
        index += length
    if index < 0 or index >= length:
        raise Leave
    start = index if length == n else _offset(a, 0, index)
    return start, start + char_width(a + start)


@inlined
def bytes_item(a: int, n: int, index: int) -> int:
    if index < 0:
        index += n
    if index < 0 or index >= n:
        raise Leave
    return load_byte(a + index)


@inlined
def code_point(a: int, n: int) -> int:
    """`ord` of a str."""
    if n == 0 or char_width(a) != n:
        raise Leave
    c = load_byte(a)
    if n == 1:
        return c
    found = c & (0x7F >> n)
    for i in range(1, n):
        found = (found << 6) | (load_byte(a + i) & 0x3F)
    return found


# -- searches ---------------------------------------------------------------------------------------------------------


@inlined
def bytes_find(a: int, n: int, b: int, m: int) -> int:
    return find(a, n, 0, b, m)


@inlined
def text_find(a: int, n: int, b: int, m: int) -> int:
    at = find(a, n, 0, b, m)
    return at if at <= 0 else text_length(a, at)


@inlined
def bytes_rfind(a: int, n: int, b: int, m: int) -> int:
    at = n - m
    while at >= 0:
        if text_equal(a + at, m, b, m):
            return at
        at -= 1
    return -1


@inlined
def text_rfind(a: int, n: int, b: int, m: int) -> int:
    at = bytes_rfind(a, n, b, m)
    return at if at <= 0 else text_length(a, at)


@inlined
def bytes_count(a: int, n: int, b: int, m: int) -> int:
    if m == 0:
        return n + 1
    count, at = 0, 0
    while True:
        at = find(a, n, at, b, m)
        if at < 0:
            return count
        count += 1
        at += m


@inlined
def text_count(a: int, n: int, b: int, m: int) -> int:
    return text_length(a, n) + 1 if m == 0 else bytes_count(a, n, b, m)


# -- kinds of characters: of ASCII alone ------------------------------------------------------------------------------


@inlined
def _is_lower(c: int) -> bool:
    return 97 <= c <= 122


@inlined
def _is_upper(c: int) -> bool:
    return 65 <= c <= 90


@inlined
def is_digits(a: int, n: int) -> bool:
    for i in range(n):
        c = load_byte(a + i)
        if c >= 0x80:
            raise Leave
        if c < 48 or c > 57:
            return False
    return n > 0


@inlined
def is_letters(a: int, n: int) -> bool:
    for i in range(n):
        c = load_byte(a + i)
        if c >= 0x80:
            raise Leave
        if not _is_lower(c | 0x20):
            return False
    return n > 0


@inlined
def is_alphanumeric(a: int, n: int) -> bool:
    for i in range(n):
        c = load_byte(a + i)
        if c >= 0x80:
            raise Leave
        if not _is_lower(c | 0x20) and not 48 <= c <= 57:
            return False
    return n > 0


@inlined
def is_lower_case(a: int, n: int) -> bool:
    found = False
    for i in range(n):
        c = load_byte(a + i)
        if c >= 0x80:
            raise Leave
        if _is_upper(c):
            return False
        found = found or _is_lower(c)
    return found


@inlined
def is_upper_case(a: int, n: int) -> bool:
    found = False
    for i in range(n):
        c = load_byte(a + i)
        if c >= 0x80:
            raise Leave
        if _is_lower(c):
            return False
        found = found or _is_upper(c)
    return found


@inlined
def is_spaces(a: int, n: int) -> bool:
    i = 0
    while i < n:
        width = _space(a, n, i)
        if width == 0:
            return False
        i += width
    return n > 0


# -- new text ---------------------------------------------------------------------------------------------------------


@inlined
def replaced(context: int, a: int, n: int, b: int, m: int, new: int, size: int) -> tuple[int, int]:
    """Address and length of `text.replace(old, new)`; an empty `old` leaves."""
    if m == 0:
        raise Leave
    count = bytes_count(a, n, b, m)
    if count == 0:
        return a, n
    length = n + count * (size - m)
    if length > LONG:
        raise Leave
    made = take_scratch(context, length)
    at, to = 0, made
    for _ in range(count):
        found = find(a, n, at, b, m)
        copy(to, a + at, found - at)
        to += found - at
        copy(to, new, size)
        to += size
        at = found + m
    copy(to, a + at, n - at)
    return made, length


@inlined
def repeated_text(context: int, a: int, n: int, times: int) -> tuple[int, int]:
    """Leaves where the result is very long."""
    if times <= 0 or n == 0:
        return a, 0
    if times > LONG or n * times > LONG:
        raise Leave
    made = take_scratch(context, n * times)
    for i in range(times):
        copy(made + i * n, a, n)
    return made, n * times


@inlined
def joined_parts(context: int, a: int, n: int, head: int) -> tuple[int, int]:
    """`text.join(parts)`, of a list of text."""
    items, count = load(head), load(head + 8)
    if count == 0:
        return a, 0
    length = n * (count - 1)
    for i in range(count):
        length += load(items + 16 * i + 8)
    made = take_scratch(context, length)
    to = made
    for i in range(count):
        if i > 0:
            copy(to, a, n)
            to += n
        size = load(items + 16 * i + 8)
        copy(to, load(items + 16 * i), size)
        to += size
    return made, length


# -- integers as text -------------------------------------------------------------------------------------------------


@inlined
def int_text(context: int, x: int) -> tuple[int, int]:
    """`str(x)`."""
    end = take_scratch(context, 24) + 24
    at, rest = end, min(x, -x)  # below zero every integer has its negative: the least one stays as it is
    while True:
        digit = (10 - rest % 10) % 10
        rest = (rest + digit) // 10
        at -= 1
        store_byte(at, 48 + digit)
        if rest == 0:
            break
    if x < 0:
        at -= 1
        store_byte(at, 45)
    return at, end - at


@inlined
def text_int(a: int, n: int) -> int:
    """`int(text)`; leaves for all but digits of ASCII with a sign and white space around."""
    i, end = strip(a, n)
    negative = i < end and load_byte(a + i) == 45
    if i < end and (negative or load_byte(a + i) == 43):
        i += 1
    if i == end:
        raise Leave
    found = 0
    while i < end:
        c = load_byte(a + i)
        if c < 48 or c > 57:
            raise Leave
        found = multiply(found, 10)
        found = subtract(found, c - 48) if negative else add(found, c - 48)
        i += 1
    return found
