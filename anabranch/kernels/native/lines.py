"""Lines: the rows or columns of a sparse matrix, each the value of an entry of a store.

A line is five words: the address of its cells, how many are not zero, how many there is room for, the lowest index and
whether it is dense. A sparse line has pairs (index, value) in ascending order; a dense one has the values from the
lowest index on, zero where there is no cell. A line becomes dense where that takes no more memory, and sparse again
where it takes more than twice that. A long one may take four times as much, if its cells are reached one by one: a walk
would pass over what is not there.

Laws: no cell of a sparse line is zero; cells ascend by index; `set_cell` logs what it changes; the store counts as live
the lines that have cells.
"""

from __future__ import annotations

from anabranch.kernels.native.memory import (
    ENTRIES,
    FULL_HEAP,
    FULL_LOG,
    FULL_SCRATCH,
    GARBAGE,
    HEAP,
    HEAP_END,
    LIVE,
    LOG_AT,
    LOG_END,
    LOGGING,
    NEAR_BITS,
    NEAR_SHIFT,
    NEED,
    NUMBER,
    REASON,
    SCRATCH,
    SCRATCH_END,
    SIZE,
    SPREAD,
    VALUE,
    WAS_CELL,
    WAS_NEAR,
    WHAT,
)
from anabranch.kernels.native.words import (
    Leave,
    bits_of,
    copy,
    inlined,
    load,
    load_float,
    move,
    prefetch,
    store,
    store_float,
)

CELLS, COUNT, ROOM, LOW, DENSE = 0, 8, 16, 24, 32
LINE_WORDS = 5
LONG = 64  # cells of a line
LEAST, GREATEST = -(1 << 63), (1 << 63) - 1


@inlined
def first_not_below(cells: int, count: int, index: int) -> int:
    """The first pair of a sparse line whose index is at least this."""
    low, high = 0, count
    while low < high:
        middle = (low + high) >> 1
        if load(cells + 16 * middle) < index:
            low = middle + 1
        else:
            high = middle
    return low


@inlined
def get_cell(line: int, index: int) -> float:
    """0.0 if there is none; `line` is 0 where a matrix has no such line."""
    if line == 0:
        return 0.0
    cells = load(line + CELLS)
    if load(line + DENSE) != 0:
        at = index - load(line + LOW)
        if at < 0 or at >= load(line + ROOM):
            return 0.0
        return load_float(cells + 8 * at)
    count = load(line + COUNT)
    at = first_not_below(cells, count, index)
    if at < count and load(cells + 16 * at) == index:
        return load_float(cells + 16 * at + 8)
    return 0.0


@inlined
def prefetch_cell(line: int, index: int) -> None:
    """Ask for the memory of a cell; of a sparse line, for where a search begins."""
    if load(line + DENSE) != 0:
        prefetch(load(line + CELLS) + 8 * (index - load(line + LOW)))
    else:
        prefetch(load(line + CELLS) + 16 * (load(line + COUNT) >> 1))


@inlined
def line_steps(line: int) -> int:
    """How many steps it takes to walk a line; those whose value is zero are to be passed over."""
    if line == 0:
        return 0
    return load(line + ROOM) if load(line + DENSE) != 0 else load(line + COUNT)


@inlined
def step_index(line: int, step: int) -> int:
    if load(line + DENSE) != 0:
        return load(line + LOW) + step
    return load(load(line + CELLS) + 16 * step)


@inlined
def step_value(line: int, step: int) -> float:
    if load(line + DENSE) != 0:
        return load_float(load(line + CELLS) + 8 * step)
    return load_float(load(line + CELLS) + 16 * step + 8)


@inlined
def _take(context: int, hdr: int, size: int) -> int:
    address = load(hdr + HEAP)
    if address + size > load(hdr + HEAP_END):
        store(context + REASON, FULL_HEAP)
        store(context + WHAT, hdr)
        store(context + NEED, size)
        raise Leave
    store(hdr + HEAP, address + size)
    return address


@inlined
def _drop(hdr: int, size: int) -> None:
    store(hdr + GARBAGE, load(hdr + GARBAGE) + size)


@inlined
def _bytes(line: int) -> int:
    return load(line + ROOM) * (8 if load(line + DENSE) != 0 else 16)


@inlined
def _make_sparse(context: int, hdr: int, line: int, room: int) -> None:
    """Move the cells to a sparse line with this much room."""
    cells = _take(context, hdr, 16 * room)
    count = 0
    for step in range(line_steps(line)):
        value = step_value(line, step)
        if value != 0.0:
            store(cells + 16 * count, step_index(line, step))
            store_float(cells + 16 * count + 8, value)
            count += 1
    _drop(hdr, _bytes(line))
    store(line + CELLS, cells)
    store(line + COUNT, count)
    store(line + ROOM, room)
    store(line + DENSE, 0)


@inlined
def _make_dense(context: int, hdr: int, line: int, low: int, room: int) -> None:
    """Move the cells to a dense line of this range."""
    cells = _take(context, hdr, 8 * room)
    for i in range(room):
        store(cells + 8 * i, 0)
    count = 0
    for step in range(line_steps(line)):
        value = step_value(line, step)
        if value != 0.0:
            store_float(cells + 8 * (step_index(line, step) - low), value)
            count += 1
    _drop(hdr, _bytes(line))
    store(line + CELLS, cells)
    store(line + COUNT, count)
    store(line + ROOM, room)
    store(line + LOW, low)
    store(line + DENSE, 1)


@inlined
def index_span(low: int, high: int) -> int:
    """How many indices there are from low to high; a very large number where that is no 64-bit integer."""
    span = high - low
    return 1 << 60 if span < 0 or span > (1 << 59) else span + 1


@inlined
def _dense_span(hdr: int, count: int) -> int:
    """Over how many indices a line of one more cell than this is worth being dense.

    A short one if that takes no more memory; a long one sooner, for there a search takes long, and a new cell longer.
    """
    return (2 if count < LONG else load(hdr + SPREAD)) * (count + 1)


@inlined
def _make_dense_around(context: int, hdr: int, line: int, first: int, span: int, spare: int, down: bool) -> None:
    """Move the cells to a dense line from `first` on, with spare room where it grows; no index is beyond 64 bits."""
    room = span + spare
    if down:
        low = first - spare if first >= LEAST + spare else LEAST
    else:
        low = first if first <= GREATEST - room + 1 else GREATEST - room + 1
    _make_dense(context, hdr, line, low, room)


@inlined
def _make_room(context: int, hdr: int, line: int, index: int) -> None:
    """Let the line have room for one more cell, at `index`."""
    count = load(line + COUNT)
    if load(line + DENSE) != 0:
        room, low = load(line + ROOM), load(line + LOW)
        first = min(low, index)
        span = index_span(first, max(low + room - 1, index))
        most = 2 * _dense_span(hdr, count)
        if span <= most:
            spare = min(span // 4 + 8, most - span)
            _make_dense_around(context, hdr, line, first, span, spare, index < low)
        else:
            _make_sparse(context, hdr, line, 2 * count + 4)
        return
    if count >= 8:
        cells = load(line + CELLS)
        first = min(load(cells), index)
        span = index_span(first, max(load(cells + 16 * (count - 1)), index))
        if span <= _dense_span(hdr, count):
            spare = min(span // 4 + 8, 2 * (count + 1))
            _make_dense_around(context, hdr, line, first, span, spare, index == first)
            return
    _make_sparse(context, hdr, line, 2 * count + 4)


@inlined
def set_line(context: int, instance: int, hdr: int, entry: int, line: int, index: int, value: float) -> None:
    """Let the cell of a line have a value; zero removes it."""
    if load(line + DENSE) != 0:  # most often another value where there was one: short enough to be inlined
        at, log = index - load(line + LOW), load(instance + LOG_AT)
        if (
            at >= 0
            and at < load(line + ROOM)
            and log + 16 <= load(instance + LOG_END)
            and (entry | index) >> NEAR_BITS == 0
        ):
            cell = load(line + CELLS) + 8 * at
            old = load_float(cell)
            if old != 0.0 and value != 0.0:
                if load(instance + LOGGING) != 0:
                    store(log, bits_of(old))
                    store(log + 8, (index << NEAR_SHIFT) | (entry << 16) | (load(hdr + NUMBER) << 4) | WAS_NEAR)
                    store(instance + LOG_AT, log + 16)
                store_float(cell, value)
                return
    _set_line(context, instance, hdr, entry, line, index, value)


@inlined
def _set_line(context: int, instance: int, hdr: int, entry: int, line: int, index: int, value: float) -> None:
    dense = load(line + DENSE) != 0
    inside = False
    at = 0
    old = 0.0
    if dense:
        at = index - load(line + LOW)
        inside = at >= 0 and at < load(line + ROOM)
        if inside:
            old = load_float(load(line + CELLS) + 8 * at)
    else:
        count = load(line + COUNT)
        at = first_not_below(load(line + CELLS), count, index)
        inside = at < count and load(load(line + CELLS) + 16 * at) == index
        if inside:
            old = load_float(load(line + CELLS) + 16 * at + 8)
    if old == 0.0 and value == 0.0:
        return
    logging = load(instance + LOGGING) != 0
    log = load(instance + LOG_AT)
    if logging and log + 24 > load(instance + LOG_END):
        store(context + REASON, FULL_LOG)
        store(context + WHAT, instance)
        store(context + NEED, 24)
        raise Leave
    if old == 0.0 and ((dense and not inside) or (not dense and load(line + COUNT) == load(line + ROOM))):
        _make_room(context, hdr, line, index)
        dense = load(line + DENSE) != 0
        cells = load(line + CELLS)
        at = index - load(line + LOW) if dense else first_not_below(cells, load(line + COUNT), index)
    if logging:
        store(log, index)
        store(log + 8, bits_of(old))
        store(log + 16, (entry << 16) | (load(hdr + NUMBER) << 4) | WAS_CELL)
        store(instance + LOG_AT, log + 24)
    cells, count = load(line + CELLS), load(line + COUNT)
    if dense:
        store_float(cells + 8 * at, value if value != 0.0 else 0.0)
    elif old == 0.0:
        move(cells + 16 * at + 16, cells + 16 * at, 16 * (count - at))
        store(cells + 16 * at, index)
        store_float(cells + 16 * at + 8, value)
    elif value == 0.0:
        move(cells + 16 * at, cells + 16 * at + 16, 16 * (count - at - 1))
    else:
        store_float(cells + 16 * at + 8, value)
    if old == 0.0:
        store(line + COUNT, count + 1)
        if count == 0:
            store(hdr + LIVE, load(hdr + LIVE) + 1)
    elif value == 0.0:
        store(line + COUNT, count - 1)
        if count == 1:
            store(hdr + LIVE, load(hdr + LIVE) - 1)


@inlined
def set_cell(context: int, instance: int, hdr: int, entry: int, index: int, value: float) -> None:
    line = load(hdr + ENTRIES) + entry * load(hdr + SIZE) + load(hdr + VALUE)
    set_line(context, instance, hdr, entry, line, index, value)


@inlined
def copy_line(context: int, line: int) -> int:
    """A copy in scratch memory, which later writes to the matrix do not change."""
    if line == 0:
        return 0
    size = _bytes(line)
    address = load(context + SCRATCH)
    if address + 8 * LINE_WORDS + size > load(context + SCRATCH_END):
        store(context + REASON, FULL_SCRATCH)
        store(context + WHAT, 0)
        store(context + NEED, 8 * LINE_WORDS + size)
        raise Leave
    store(context + SCRATCH, address + 8 * LINE_WORDS + size)
    copy(address, line, 8 * LINE_WORDS)
    copy(address + 8 * LINE_WORDS, load(line + CELLS), size)
    store(address + CELLS, address + 8 * LINE_WORDS)
    return address
