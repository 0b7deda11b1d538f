"""Where kernels find things: the words of a context, of an instance and of a store, by their offsets in bytes.

A *store* is the memory of one state of one instance. Its entries stand one after the other, each a row of words: the
meta word, the words of the key, the words of the value. An index of 32-bit numbers finds the entry of
a key. A number of the index is that of an entry in its low bits and a tag above them: bits of the hash, so that a
search seldom looks at an entry that is not the one; -1 where a slot is free. Entries never move while a kernel runs:
one that is removed stays where it is and is marked absent.

The index is chunks of as many slots, each probed linearly by itself. It grows by linear hashing: the next chunk in
order is split in two, so that to grow takes no longer the larger it is. With m the greatest power of two that is not
more than the number of chunks n, a hash belongs to its chunk of 2 m if that is there, else to its chunk of m. Which
slot and chunk it names depends on a secret of the store: nobody can choose keys that meet in one chunk, and fill it.

The meta word is the hash of the key without its highest bit, which is set while the entry is present.
"""

from __future__ import annotations

from typing import Final

# -- the context of one run of a kernel -----------------------------------------------------------------------------

ROW: Final = 0  # the row at hand
END: Final = 8  # the row before which to stop
REASON: Final = 16  # why the kernel has left a row; see below
WHAT: Final = 24  # what is full: the address of the store or instance
NEED: Final = 32  # how many bytes are needed
INSTANCES: Final = 40  # address of the addresses of the instances
MARKS: Final = 48  # address of one word per instance: how long its log was when the row began
COUNT: Final = 56  # the number of instances
BUCKETS: Final = 64  # address of the instance of each bucket
CONSTANTS: Final = 72  # address of the bytes of constant text
SCRATCH: Final = 80  # where the next piece of scratch memory begins; what a row takes is free again after it
SCRATCH_START: Final = 88
SCRATCH_END: Final = 96
SEQUENCE: Final = 104  # the sequence number of row 0
PICKED: Final = 112  # address of the addresses of the rows of a later stage
HOME: Final = 120  # the instance at which a task runs
INPUTS: Final = 128  # address of pairs (address, stride), one for each word of a row
OUTPUTS: Final = 136  # the same for results
KEPT: Final = 144  # where what results refer to is put next
KEPT_END: Final = 152
BOXES: Final = 160  # how many boxes there are
OUT: Final = 168  # address of the boxes
SEQUENCES: Final = 176  # address of the sequence numbers of the rows; 0 where they are those from SEQUENCE on
RING: Final = 192  # for each key that is known ahead: the hashes of the rows to come, then the entries they may have
RING_ROWS: Final = 64
RING_KEYS: Final = 4
LOOP_RING: Final = RING + 16 * RING_KEYS * RING_ROWS  # the same for steps of loops: the entries they may have
LOOP_STEPS: Final = 16
LOOP_KEYS: Final = 4
CONTEXT_WORDS: Final = LOOP_RING // 8 + LOOP_KEYS * LOOP_STEPS

# -- a box: rows on their way out -----------------------------------------------------------------------------------

BOX_ROWS: Final = 0  # address
BOX_COUNT: Final = 8
BOX_ROOM: Final = 16  # for how many
BOX_SIZE: Final = 24  # bytes of a row
BOX_MARK: Final = 32  # how many there were when the row at hand began
BOX_WORDS: Final = 5

# -- why a kernel left: nothing for what the Python tier shall do ------------------------------------------------------

ASK_PYTHON: Final = 0
FULL_ENTRIES: Final = 1
FULL_HEAP: Final = 2
FULL_LOG: Final = 3
FULL_SCRATCH: Final = 4
FULL_KEPT: Final = 5
FULL_OUT: Final = 6

# -- an instance ------------------------------------------------------------------------------------------------------

LOG: Final = 0  # address of the first word
LOG_AT: Final = 8  # address of the next
LOG_END: Final = 16
LOGGING: Final = 24  # is it on?
STORES: Final = 32  # the addresses of the stores follow

# -- a store ----------------------------------------------------------------------------------------------------------

USED: Final = 0  # entries, absent ones included
CAPACITY: Final = 8
INDEX: Final = 16  # address
MASK: Final = 24  # slots of a chunk - 1
ENTRIES: Final = 32  # address
LIVE: Final = 40  # entries that are present; lines that have cells
SIZE: Final = 48  # bytes of an entry
VALUE: Final = 56  # offset of the value in an entry
WIDTH: Final = 64  # words of the value
HEAP: Final = 72  # where the next piece of text begins
HEAP_END: Final = 80
GARBAGE: Final = 88  # bytes of the heap that nothing refers to
NUMBER: Final = 96  # of the state, as tags of the log name it
TEXTS: Final = 104  # bit i is set where word i of the key is the address of text
KEY: Final = 112  # words of the key
CHUNKS: Final = 120  # of the index
LOW: Final = 128  # the greatest power of two that is not more, - 1
NUMBERS: Final = 136  # the bits of the index that are numbers of entries
SECRET: Final = 144  # an odd number that nobody outside knows
SPREAD: Final = 152  # of a matrix: over how many indices for each cell a long line may be dense
STORE_WORDS: Final = 20

CHUNK: Final = 1 << 15  # slots of a chunk, of an index that has several
CHUNK_SHIFT, SLOT_SHIFT = 48, 33  # the bits that name a chunk and a slot, of the hash times the secret

PRESENT: Final = -(1 << 63)
HASH: Final = (1 << 63) - 1

# -- the log: each record ends with a tag, entry << 16 | state << 4 | what ---------------------------------------

WAS_VALUE: Final = 0  # the words of the value before
WAS_ABSENT: Final = 1
WAS_PRESENT: Final = 2
WAS_CELL: Final = 3  # of a line: its index, its bits
WAS_WORD: Final = 4  # of memory: its address, its bits
WAS_NEAR: Final = 5  # a cell of which index and entry are short: its bits; the tag is index << 40 | entry << 16 | ..
NEAR_BITS: Final = 23
NEAR_SHIFT: Final = 40
NEAR_ENTRY: Final = (1 << (NEAR_SHIFT - 16)) - 1
WORD_RECORD: Final = 24  # bytes of a record that is WAS_WORD, the tag included
