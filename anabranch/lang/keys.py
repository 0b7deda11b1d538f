"""Where a key lives: one hash and one bucket function for all partitioned state.

Laws: `hash_key` depends on the key's value only, never on process, machine or `PYTHONHASHSEED`; equal keys of one
type have equal hashes. Keys of different types never meet, because the keys of a table have one type.
"""

from __future__ import annotations

from collections.abc import Sequence

from anabranch.lang.scalars import show

BUCKETS = 1024
BLOCK = 64  # rows without a key go by blocks of sequence numbers to one instance

_MASK = (1 << 64) - 1
_STEP = 0x9FB21C651E98DF25
_STR_SALT = 0x9AE16A3B2F90404F
_BYTES_SALT = 0xC949D7C7509E6557
_BOOL_SALT = 0xB492B66FBE98F273
_TUPLE_SALT = 0xA0761D6478BD642F


def splitmix64(x: int) -> int:
    """The finaliser of the splitmix64 generator: a bijection on 64 bits.

    >>> hex(splitmix64(0))
    '0xe220a8397b1dcdaf'
    """
    z = (x + 0x9E3779B97F4A7C15) & _MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    return z ^ (z >> 31)


def hash_words(data: bytes) -> int:
    """Eight bytes a step, the first in the lowest bits, zeros behind the last; each step is a bijection."""
    h = len(data)
    for at in range(0, len(data), 8):
        h = ((h ^ int.from_bytes(data[at : at + 8], "little")) * _STEP) & _MASK
        h ^= h >> 32
    return h


def hash_key(key: object) -> int:
    """64 bits of a key of a key type.

    >>> hash_key(7) == hash_key(7), hash_key("7") == hash_key(b"7")
    (True, False)
    """
    if isinstance(key, bool):
        return splitmix64((int(key) + 1) ^ _BOOL_SALT)
    if isinstance(key, int):
        return splitmix64(key & _MASK)
    if isinstance(key, str):
        return splitmix64(hash_words(key.encode("utf-8")) ^ _STR_SALT)
    if isinstance(key, bytes):
        return splitmix64(hash_words(key) ^ _BYTES_SALT)
    if isinstance(key, tuple):
        return hash_tuple([hash_key(item) for item in key])
    raise TypeError(f"{show(key)} is no key: use int, str, bytes, bool or a tuple of these")


def hash_tuple(items: Sequence[int]) -> int:
    """The hash of a tuple whose items have these."""
    h = _TUPLE_SALT ^ len(items)
    for item in items:
        h = splitmix64((h * 31 + item) & _MASK)
    return h


def bucket(key: object) -> int:
    """The bucket of a key, 0 <= bucket < BUCKETS."""
    return hash_key(key) % BUCKETS
