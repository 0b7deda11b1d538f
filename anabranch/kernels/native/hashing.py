"""Hashes of keys, the same as `anabranch.lang.keys.hash_key` gives in Python.

Law: each function gives the 64 bits of `hash_key` as a signed integer. The hash of a tuple of k items is
`hash_tuple_start(k)`, then `hash_tuple_step(h, hash of the item)` for each item in order.
"""

from __future__ import annotations

from anabranch.kernels.native.text import text_hash
from anabranch.kernels.native.words import inlined, shift_right, wrap_add, wrap_multiply
from anabranch.lang.keys import _BOOL_SALT, _BYTES_SALT, _STR_SALT, _TUPLE_SALT


def _signed(bits: int) -> int:
    return bits - 2**64 if bits >= 2**63 else bits


_BOOL, _STR, _BYTES, _TUPLE = (_signed(salt) for salt in (_BOOL_SALT, _STR_SALT, _BYTES_SALT, _TUPLE_SALT))
_STEP = _signed(0x9E3779B97F4A7C15)
_FIRST, _SECOND = _signed(0xBF58476D1CE4E5B9), _signed(0x94D049BB133111EB)


@inlined
def hash_int(x: int) -> int:
    """`splitmix64`."""
    z = wrap_add(x, _STEP)
    z = wrap_multiply(z ^ shift_right(z, 30), _FIRST)
    z = wrap_multiply(z ^ shift_right(z, 27), _SECOND)
    return z ^ shift_right(z, 31)


@inlined
def hash_bool(x: bool) -> int:
    return hash_int((2 if x else 1) ^ _BOOL)


@inlined
def hash_text(a: int, n: int) -> int:
    return hash_int(text_hash(a, n) ^ _STR)


@inlined
def hash_bytes(a: int, n: int) -> int:
    return hash_int(text_hash(a, n) ^ _BYTES)


@inlined
def hash_tuple_start(k: int) -> int:
    return k ^ _TUPLE


@inlined
def hash_tuple_step(h: int, item_hash: int) -> int:
    return hash_int(wrap_add(wrap_multiply(h, 31), item_hash))
