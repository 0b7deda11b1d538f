"""Dicts and sets that a row makes, in scratch memory.

Entries stand in the order in which they came, each a row of words: the meta word, the key, the value; a set has no
values. The meta word is the hash of the key, its highest bit set while the entry is there; one that was removed stays
where it is until there is no more room. Few entries are searched one after the other, more of them through an index of
32-bit numbers that is probed linearly.

Whoever asks for a key puts its words into the head first. `size` is that of an entry in bytes, `words` the number of
words of a key, `texts` says which of them are addresses of text (see `layout.texts`). The head at address 0 is that of
no dict, where there might have been one.
"""

from __future__ import annotations

from typing import Final

from anabranch.kernels.native.memory import HASH, PRESENT
from anabranch.kernels.native.tables import same_key, take_scratch
from anabranch.kernels.native.words import Leave, copy, inlined, load, load_32, shift_right, store, store_32

ENTRIES: Final = 0
USED: Final = 8  # entries, removed ones included
ROOM: Final = 16
LIVE: Final = 24
INDEX: Final = 32  # 0 if there is none
MASK: Final = 40
KEY: Final = 48  # the key that is asked for
HEAD: Final = 112
FEW: Final = 8


@inlined
def new_dict(context: int) -> int:
    head = take_scratch(context, HEAD)
    for i in range(6):
        store(head + 8 * i, 0)
    return head


@inlined
def _insert(head: int, entry: int, hashed: int) -> None:
    index, mask = load(head + INDEX), load(head + MASK)
    slot = shift_right(hashed, 10) & mask
    while load_32(index + 4 * slot) >= 0:
        slot = (slot + 1) & mask
    store_32(index + 4 * slot, entry)


@inlined
def _fill(context: int, head: int, other: int, room: int, size: int) -> None:
    """Let the entries be those of a dict, which may be the same, and there be room for more."""
    entries = take_scratch(context, room * size)
    old, used = load(other + ENTRIES), load(other + USED)
    live = 0
    for i in range(used):
        if load(old + i * size) < 0:
            copy(entries + live * size, old + i * size, size)
            live += 1
    store(head + ENTRIES, entries)
    store(head + USED, live)
    store(head + LIVE, live)
    store(head + ROOM, room)
    store(head + INDEX, 0)
    if room > FEW:
        slots = 32
        while slots < 2 * room:
            slots *= 2
        index = take_scratch(context, 4 * slots)
        for i in range(slots):
            store_32(index + 4 * i, -1)
        store(head + INDEX, index)
        store(head + MASK, slots - 1)
        for i in range(live):
            _insert(head, i, load(entries + i * size))


@inlined
def copied_dict(context: int, other: int, size: int) -> int:
    head = new_dict(context)
    _fill(context, head, other, max(load(other + LIVE), 1), size)
    return head


@inlined
def find_entry(head: int, hashed: int, size: int, words: int, texts: int) -> int:
    """The address of the entry of the key in the head, 0 if there is none."""
    meta, entries, index = hashed | PRESENT, load(head + ENTRIES), load(head + INDEX)
    if index == 0:
        end = entries + load(head + USED) * size
        while entries < end:
            if load(entries) == meta and same_key(entries + 8, head + KEY, words, texts):
                return entries
            entries += size
        return 0
    mask = load(head + MASK)
    slot = shift_right(hashed, 10) & mask
    while True:
        entry = load_32(index + 4 * slot)
        if entry < 0:
            return 0
        address = entries + entry * size
        if load(address) == meta and same_key(address + 8, head + KEY, words, texts):
            return address
        slot = (slot + 1) & mask


@inlined
def new_entry(context: int, head: int, hashed: int, size: int, words: int) -> int:
    """An entry for the key in the head, which has none; its value is still to be written."""
    used = load(head + USED)
    if used >= load(head + ROOM):
        _fill(context, head, head, max(2 * load(head + LIVE), FEW), size)
        used = load(head + USED)
    address = load(head + ENTRIES) + used * size
    store(address, hashed | PRESENT)
    copy(address + 8, head + KEY, 8 * words)
    store(head + USED, used + 1)
    store(head + LIVE, load(head + LIVE) + 1)
    if load(head + INDEX) != 0:
        _insert(head, used, hashed)
    return address


@inlined
def drop_entry(head: int, address: int) -> None:
    store(address, load(address) & HASH)
    store(head + LIVE, load(head + LIVE) - 1)


@inlined
def clear_dict(head: int) -> None:
    for i in range(6):
        store(head + 8 * i, 0)


# Several entries at once. The hash in an entry lacks its highest bit, which neither search nor index look at.


@inlined
def _sought(head: int, entry: int, size: int, words: int, texts: int) -> int:
    """The entry of a key that is that of another dict's entry."""
    copy(head + KEY, entry + 8, 8 * words)
    return find_entry(head, load(entry), size, words, texts)


@inlined
def update_dict(context: int, head: int, other: int, size: int, words: int, texts: int) -> None:
    if head == other:
        return
    entry = load(other + ENTRIES)
    for _ in range(load(other + USED)):
        if load(entry) < 0:
            found = _sought(head, entry, size, words, texts)
            if found == 0:
                found = new_entry(context, head, load(entry), size, words)
            copy(found + 8 + 8 * words, entry + 8 + 8 * words, size - 8 - 8 * words)
        entry += size


@inlined
def selected_keys(context: int, a: int, b: int, size: int, words: int, texts: int, wanted: bool) -> int:
    """Those of the first set that are, or are not, in the second."""
    head = new_dict(context)
    entry = load(a + ENTRIES)
    for _ in range(load(a + USED)):
        if load(entry) < 0 and (_sought(b, entry, size, words, texts) != 0) == wanted:
            copy(head + KEY, entry + 8, 8 * words)
            new_entry(context, head, load(entry), size, words)
        entry += size
    return head


@inlined
def become_dict(head: int, other: int) -> None:
    """Let a dict have the entries of another, which nobody uses any more."""
    copy(head, other, KEY)


@inlined
def has_all(a: int, b: int, size: int, words: int, texts: int) -> bool:
    """Are all keys of the second in the first?"""
    entry = load(b + ENTRIES)
    for _ in range(load(b + USED)):
        if load(entry) < 0 and _sought(a, entry, size, words, texts) == 0:
            return False
        entry += size
    return True


# A walk over entries: five words, the head, the next entry, what USED and LIVE were, the address of the entry at hand.


@inlined
def start_walk(context: int, head: int) -> int:
    walk = take_scratch(context, 40)
    store(walk, head)
    store(walk + 8, 0)
    store(walk + 16, load(head + USED))
    store(walk + 24, load(head + LIVE))
    store(walk + 32, 0)
    return walk


@inlined
def next_entry(walk: int, size: int) -> bool:
    """Go to the next entry; leaves where entries have come or gone meanwhile."""
    head, i = load(walk), load(walk + 8)
    if load(head + USED) != load(walk + 16) or load(head + LIVE) != load(walk + 24):
        raise Leave
    while i < load(head + USED):
        address = load(head + ENTRIES) + i * size
        i += 1
        if load(address) < 0:
            store(walk + 8, i)
            store(walk + 32, address)
            return True
    store(walk + 8, i)
    return False
