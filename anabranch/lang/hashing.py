"""A hash that users may keep: the same on every engine, machine, run and version."""

from __future__ import annotations

from anabranch.lang.keys import hash_key, hash_tuple

Hashed = int | str | bytes | tuple["Hashed", ...]


def stable_hash(value: Hashed) -> int:
    """An int from 0 to 2**63 - 1 that depends on the value only, whatever the engine, machine, run and version.

    It is for hashed features and sketches: `ab.stable_hash(word) % buckets`. Values are str, bytes, bool, int of 64
    bits and tuples of these, also nested. Values that are equal in Python have one hash, so True has that of 1. Type
    and grouping count: "a" and b"a", ("a",) and "a", ("a", "b") and ("ab",) are hashed as different values. It is not
    for secrets: someone who chooses the values can choose some with equal hashes.

    >>> stable_hash("word"), stable_hash(("user", 7))
    (975694157487399214, 2744567963410578044)

    The algorithm never changes. All is modulo 2**64, and the result is `bits(value) >> 1`:

    - `mix(x)`: x += 0x9E3779B97F4A7C15; x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9; x = (x ^ x >> 27) * 0x94D049BB133111EB;
      x ^ x >> 31. This is splitmix64.
    - `words(data)`: h = the length in bytes; for each eight bytes, the first in the lowest bits and zeros behind the
      last: h = (h ^ word) * 0x9FB21C651E98DF25; h ^= h >> 32.
    - `bits` of an int (a bool is one) is mix(x); of a str mix(words(its UTF-8) ^ 0x9AE16A3B2F90404F); of bytes
      mix(words(it) ^ 0xC949D7C7509E6557). Of a tuple: h = 0xA0761D6478BD642F ^ its length; for each item
      h = mix(31 * h + bits(item)).
    """
    return _bits(value) >> 1


def _bits(value: Hashed) -> int:
    if isinstance(value, tuple):
        return hash_tuple([_bits(item) for item in value])
    if isinstance(value, int):
        if not -(1 << 63) <= value < 1 << 63:
            raise OverflowError(f"stable_hash takes an int of 64 bits, got {value}: hash its text, stable_hash(str(x))")
        return hash_key(int(value))
    if isinstance(value, str | bytes):
        return hash_key(value)
    raise TypeError(
        f"stable_hash takes str, bytes, int, bool and tuples of these, got {value!r} ({type(value).__name__}): "
        "floats may be unequal and look alike, and other values have no fixed form; hash a text of it"
    )
