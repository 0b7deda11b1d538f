"""Entries of a store: find, add, change and remove them, log what was, take it back.

Laws: an entry is found as long as its store lives, present or not; what is logged since a mark and rolled back leaves
every key with the value it had, and absent where it was absent; only `Leave` is raised, and before anything is changed.
"""

from __future__ import annotations

from anabranch.kernels.native.lines import set_cell
from anabranch.kernels.native.memory import (
    BOX_COUNT,
    BOX_MARK,
    BOX_ROOM,
    BOX_ROWS,
    BOX_SIZE,
    BOX_WORDS,
    BOXES,
    CAPACITY,
    CHUNK,
    CHUNK_SHIFT,
    CHUNKS,
    ENTRIES,
    FULL_ENTRIES,
    FULL_HEAP,
    FULL_LOG,
    FULL_OUT,
    FULL_SCRATCH,
    GARBAGE,
    HASH,
    HEAP,
    HEAP_END,
    INDEX,
    KEY,
    LIVE,
    LOG_AT,
    LOG_END,
    LOGGING,
    LOW,
    MASK,
    NEAR_ENTRY,
    NEAR_SHIFT,
    NEED,
    NUMBER,
    NUMBERS,
    PRESENT,
    REASON,
    SCRATCH,
    SCRATCH_END,
    SECRET,
    SIZE,
    SLOT_SHIFT,
    STORES,
    TEXTS,
    USED,
    VALUE,
    WAS_ABSENT,
    WAS_CELL,
    WAS_NEAR,
    WAS_PRESENT,
    WAS_VALUE,
    WAS_WORD,
    WHAT,
    WIDTH,
    WORD_RECORD,
)
from anabranch.kernels.native.text import text_equal
from anabranch.kernels.native.words import (
    Leave,
    copy,
    float_of,
    inlined,
    load,
    load_32,
    prefetch,
    shift_right,
    store,
    store_32,
    wrap_multiply,
)

TAG_BITS = (1 << 31) - 1


@inlined
def full(context: int, reason: int, what: int, need: int) -> int:
    """Leave the row: something has to grow first."""
    store(context + REASON, reason)
    store(context + WHAT, what)
    store(context + NEED, need)
    raise Leave


@inlined
def entry_at(hdr: int, entry: int) -> int:
    return load(hdr + ENTRIES) + entry * load(hdr + SIZE)


@inlined
def is_present(address: int) -> bool:
    return load(address) < 0


@inlined
def same_key(address: int, key: int, words: int, texts: int) -> bool:
    """Is the key of an entry, at `address`, equal to the words at `key`?"""
    i = 0
    while i < words:
        if (texts >> i) & 1:
            n = load(address + 8 * i + 8)
            if n != load(key + 8 * i + 8) or not text_equal(load(address + 8 * i), n, load(key + 8 * i), n):
                return False
            i += 2
        else:
            if load(address + 8 * i) != load(key + 8 * i):
                return False
            i += 1
    return True


@inlined
def tag_of(hashed: int, numbers: int) -> int:
    """What a slot holds beside the number of an entry: as many bits of its hash as there is room for."""
    return shift_right(hashed, 32) & TAG_BITS & ~numbers


@inlined
def slot_of(hashed: int, mask: int, chunks: int, low: int, secret: int) -> int:
    """The slot at which a search begins. Without a branch: nobody could guess which way it goes."""
    mixed = wrap_multiply(hashed & HASH, secret)
    number = shift_right(mixed, CHUNK_SHIFT) & (2 * low + 1)
    is_beyond = (chunks - 1 - number) >> 63  # -1 if it is
    return (number - (is_beyond & (low + 1))) * CHUNK + (shift_right(mixed, SLOT_SHIFT) & mask)


@inlined
def next_slot(slot: int, mask: int) -> int:
    return (slot & ~mask) | ((slot + 1) & mask)


@inlined
def find_words(hdr: int, hashed: int, key: int) -> int:
    """The entry of a key given as words in memory, -1 - slot if there is none."""
    mask, index, entries, size = load(hdr + MASK), load(hdr + INDEX), load(hdr + ENTRIES), load(hdr + SIZE)
    words, texts, numbers = load(hdr + KEY), load(hdr + TEXTS), load(hdr + NUMBERS)
    slot = slot_of(hashed, mask, load(hdr + CHUNKS), load(hdr + LOW), load(hdr + SECRET))
    wanted = tag_of(hashed, numbers)
    while True:
        word = load_32(index + 4 * slot)
        if word < 0:
            return -1 - slot
        if (word & ~numbers) == wanted:
            address = entries + (word & numbers) * size
            if (load(address) & HASH) == (hashed & HASH) and same_key(address + 8, key, words, texts):
                return word & numbers
        slot = next_slot(slot, mask)


@inlined
def entry_by_tag(index: int, slot: int, mask: int, numbers: int, hashed: int) -> int:
    """The entry that a key with this hash most likely has, for a search that begins at `slot`; -1 if it has none."""
    wanted = tag_of(hashed, numbers)
    while True:
        word = load_32(index + 4 * slot)
        if word < 0:
            return -1
        if (word & ~numbers) == wanted:
            return word & numbers
        slot = next_slot(slot, mask)


@inlined
def add_entry(context: int, hdr: int, found: int, hashed: int) -> int:
    """A new, absent entry in the slot that a search ended at; its key is still to be written."""
    entry = load(hdr + USED)
    if entry >= load(hdr + CAPACITY):
        full(context, FULL_ENTRIES, hdr, 0)
    store(entry_at(hdr, entry), hashed & HASH)
    store_32(load(hdr + INDEX) + 4 * (-1 - found), entry | tag_of(hashed, load(hdr + NUMBERS)))
    store(hdr + USED, entry + 1)
    return entry


@inlined
def take_heap(context: int, hdr: int, size: int) -> int:
    """So many bytes of the heap of a store."""
    address = load(hdr + HEAP)
    rounded = (size + 7) & -8
    if address + rounded > load(hdr + HEAP_END):
        full(context, FULL_HEAP, hdr, rounded)
    store(hdr + HEAP, address + rounded)
    return address


@inlined
def take_scratch(context: int, size: int) -> int:
    address = load(context + SCRATCH)
    rounded = (size + 7) & -8
    if address + rounded > load(context + SCRATCH_END):
        full(context, FULL_SCRATCH, 0, rounded)
    store(context + SCRATCH, address + rounded)
    return address


@inlined
def keep_text(context: int, hdr: int, address: int, size: int) -> int:
    """Text as a store keeps it: its own copy."""
    if size == 0:
        return 0
    kept = take_heap(context, hdr, size)
    copy(kept, address, size)
    return kept


@inlined
def drop_heap(hdr: int, size: int) -> None:
    store(hdr + GARBAGE, load(hdr + GARBAGE) + ((size + 7) & -8))


@inlined
def log_room(context: int, instance: int, words: int) -> int:
    """Where the next record of the log begins."""
    at = load(instance + LOG_AT)
    if at + 8 * words > load(instance + LOG_END):
        full(context, FULL_LOG, instance, 8 * words)
    return at


@inlined
def tag(hdr: int, entry: int, what: int) -> int:
    return (entry << 16) | (load(hdr + NUMBER) << 4) | what


@inlined
def log_value(context: int, instance: int, hdr: int, entry: int, address: int) -> None:
    """Remember the value of a present entry, which is about to change."""
    if load(instance + LOGGING) == 0:
        return
    width = load(hdr + WIDTH)
    at = log_room(context, instance, width + 1)
    copy(at, address + load(hdr + VALUE), 8 * width)
    store(at + 8 * width, tag(hdr, entry, WAS_VALUE))
    store(instance + LOG_AT, at + 8 * width + 8)


@inlined
def log_words(context: int, instance: int, entry: int, value: int, width: int, number: int) -> None:
    """As `log_value`, where a kernel is written: its numbers are known, so it is but a few moves."""
    if load(instance + LOGGING) == 0:
        return
    at = log_room(context, instance, width + 1)
    copy(at, value, 8 * width)
    store(at + 8 * width, (entry << 16) | (number << 4) | WAS_VALUE)
    store(instance + LOG_AT, at + 8 * width + 8)


@inlined
def log_tag(context: int, instance: int, hdr: int, entry: int, what: int) -> None:
    if load(instance + LOGGING) == 0:
        return
    at = log_room(context, instance, 1)
    store(at, tag(hdr, entry, what))
    store(instance + LOG_AT, at + 8)


@inlined
def log_word(context: int, instance: int, hdr: int, address: int) -> None:
    """Remember a word of memory that is about to change."""
    if load(instance + LOGGING) == 0:
        return
    at = log_room(context, instance, 3)
    store(at, address)
    store(at + 8, load(address))
    store(at + 16, tag(hdr, 0, WAS_WORD))
    store(instance + LOG_AT, at + WORD_RECORD)


@inlined
def log_all(instance: int, hdr: int, first: int, words: int) -> None:
    """Remember all words from `first` on, as if they were about to change; there is room."""
    at, what = load(instance + LOG_AT), tag(hdr, 0, WAS_WORD)
    for i in range(words):
        store(at, first + 8 * i)
        store(at + 8, load(first + 8 * i))
        store(at + 16, what)
        at += WORD_RECORD
    store(instance + LOG_AT, at)


@inlined
def appear(context: int, instance: int, hdr: int, entry: int, address: int) -> None:
    """Mark an absent entry present."""
    log_tag(context, instance, hdr, entry, WAS_ABSENT)
    store(address, load(address) | PRESENT)
    store(hdr + LIVE, load(hdr + LIVE) + 1)


@inlined
def vanish(context: int, instance: int, hdr: int, entry: int, address: int) -> None:
    """Mark a present entry absent. Its value is logged: a new one may come before this is taken back."""
    log_value(context, instance, hdr, entry, address)
    log_tag(context, instance, hdr, entry, WAS_PRESENT)
    store(address, load(address) & HASH)
    store(hdr + LIVE, load(hdr + LIVE) - 1)


@inlined
def roll_back(context: int, instance: int, mark: int) -> None:
    """Take back what the log holds behind `mark`, newest first; logging must be off.

    What it has taken back is out of the log at once: where it leaves for want of memory it can be called again.
    """
    at = load(instance + LOG_AT)
    while at > mark:
        word = load(at - 8)
        what, number, entry = word & 15, (word >> 4) & 4095, word >> 16
        hdr = load(instance + STORES + 8 * number)
        address = entry_at(hdr, entry)
        if what == WAS_WORD:
            at -= 24
            store(load(at), load(at + 8))
        elif what == WAS_CELL:
            set_cell(context, instance, hdr, entry, load(at - 24), float_of(load(at - 16)))
            at -= 24
        elif what == WAS_NEAR:
            set_cell(context, instance, hdr, entry & NEAR_ENTRY, word >> NEAR_SHIFT, float_of(load(at - 16)))
            at -= 16
        elif what == WAS_VALUE:
            width = load(hdr + WIDTH)
            at -= 8 * width + 8
            copy(address + load(hdr + VALUE), at, 8 * width)
        elif what == WAS_ABSENT:
            at -= 8
            store(address, load(address) & HASH)
            store(hdr + LIVE, load(hdr + LIVE) - 1)
        else:
            at -= 8
            store(address, load(address) | PRESENT)
            store(hdr + LIVE, load(hdr + LIVE) + 1)
        store(instance + LOG_AT, at)


@inlined
def _enter(hdr: int, index: int, word: int, hashed: int) -> None:
    """Let the next free slot for a hash hold this number."""
    mask = load(hdr + MASK)
    slot = slot_of(hashed, mask, load(hdr + CHUNKS), load(hdr + LOW), load(hdr + SECRET))
    while load_32(index + 4 * slot) >= 0:
        slot = next_slot(slot, mask)
    store_32(index + 4 * slot, word)


@inlined
def rebuild(hdr: int) -> None:
    """Enter all entries into an index that is empty."""
    index, entries, size, numbers = load(hdr + INDEX), load(hdr + ENTRIES), load(hdr + SIZE), load(hdr + NUMBERS)
    for entry in range(load(hdr + USED)):
        hashed = load(entries + entry * size) & HASH
        _enter(hdr, index, entry | tag_of(hashed, numbers), hashed)


@inlined
def split(hdr: int, room: int) -> None:
    """Add a chunk to the index, and put into it what belongs there; `room` is memory for the numbers of a chunk."""
    index, entries, size, numbers = load(hdr + INDEX), load(hdr + ENTRIES), load(hdr + SIZE), load(hdr + NUMBERS)
    chunks, low = load(hdr + CHUNKS), load(hdr + LOW)
    old, new = index + 4 * CHUNK * (chunks - low - 1), index + 4 * CHUNK * chunks
    count = 0
    for slot in range(CHUNK):
        word = load_32(old + 4 * slot)
        if word >= 0:
            store_32(room + 4 * count, word)
            prefetch(entries + (word & numbers) * size)
            count += 1
        store_32(old + 4 * slot, -1)
        store_32(new + 4 * slot, -1)
    store(hdr + CHUNKS, chunks + 1)
    if chunks + 1 == 2 * (low + 1):
        store(hdr + LOW, 2 * low + 1)
    for i in range(count):
        word = load_32(room + 4 * i)
        _enter(hdr, index, word, load(entries + (word & numbers) * size) & HASH)


@inlined
def mark_boxes(context: int, boxes: int) -> None:
    """Remember how full each box is, for a row that is taken back."""
    for i in range(load(context + BOXES)):
        box = boxes + 8 * BOX_WORDS * i
        store(box + BOX_MARK, load(box + BOX_COUNT))


@inlined
def new_row(context: int, boxes: int, number: int) -> int:
    """Room for one more row in a box."""
    box = boxes + 8 * BOX_WORDS * number
    count = load(box + BOX_COUNT)
    if count >= load(box + BOX_ROOM):
        full(context, FULL_OUT, number, 0)
    store(box + BOX_COUNT, count + 1)
    return load(box + BOX_ROWS) + count * load(box + BOX_SIZE)
