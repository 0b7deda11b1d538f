"""Lists and text that a row makes, in scratch memory, and what is handed out of a kernel.

The head of a list is three words: the address of its items, how many there are, room for how many. Items are rows of
words of equal width. Items that are not the list's own, as those of a column, have no room at all (-1): they are copied
before they change. A list that belongs to state or configuration is `FROZEN`: what would change it leaves the kernel.
The head at address 0 is that of no list, where there might have been one.
"""

from __future__ import annotations

from anabranch.kernels.native.lines import COUNT
from anabranch.kernels.native.memory import FULL_KEPT, KEPT, KEPT_END
from anabranch.kernels.native.tables import full, take_heap, take_scratch
from anabranch.kernels.native.words import Leave, copy, inlined, load, move, store

FROZEN = -2
LONG = 1 << 24  # more items or bytes than this at once are Python's


@inlined
def new_list(context: int, room: int, width: int) -> int:
    """An empty list."""
    head = take_scratch(context, 24 + 8 * room * width)
    store(head, head + 24)
    store(head + 8, 0)
    store(head + 16, room)
    return head


@inlined
def list_head(context: int, items: int, count: int) -> int:
    """A head for items that are in memory already."""
    head = take_scratch(context, 24)
    store(head, items)
    store(head + 8, count)
    store(head + 16, -1)
    return head


@inlined
def frozen(head: int) -> int:
    """The list, which must not change from now on."""
    store(head + 16, FROZEN)
    return head


@inlined
def check_frozen(head: int) -> None:
    """Python knows what comes of a change to what is frozen: an error, or a new list."""
    if load(head + 16) == FROZEN:
        raise Leave


@inlined
def list_items(head: int) -> int:
    return 0 if head == 0 else load(head)


@inlined
def list_count(head: int) -> int:
    return 0 if head == 0 else load(head + 8)


@inlined
def own_items(context: int, head: int, width: int) -> int:
    """The address of items that may be changed."""
    if load(head + 16) < 0:
        check_frozen(head)
        count = load(head + 8)
        items = take_scratch(context, 8 * count * width)
        copy(items, load(head), 8 * count * width)
        store(head, items)
        store(head + 16, count)
    return load(head)


@inlined
def new_item(context: int, head: int, width: int) -> int:
    """The address of one more item, at the end."""
    count = load(head + 8)
    if count >= load(head + 16):
        check_frozen(head)
        room = 2 * count + 4
        items = take_scratch(context, 8 * room * width)
        copy(items, load(head), 8 * count * width)
        store(head, items)
        store(head + 16, room)
    store(head + 8, count + 1)
    return load(head) + 8 * count * width


@inlined
def item_at(head: int, index: int, width: int) -> int:
    count = load(head + 8)
    if index < 0:
        index += count
    if index < 0 or index >= count:
        raise Leave
    return load(head) + 8 * index * width


@inlined
def joined_lists(context: int, a: int, b: int, width: int) -> int:
    n, m = load(a + 8), load(b + 8)
    head = new_list(context, n + m, width)
    copy(load(head), load(a), 8 * n * width)
    copy(load(head) + 8 * n * width, load(b), 8 * m * width)
    store(head + 8, n + m)
    return head


@inlined
def slice_bounds(length: int, low: int, high: int) -> tuple[int, int]:
    """From where to where a slice goes, in a sequence of this length; a bound that is not given is 0 or very large."""
    if low < 0:
        low = max(low + length, 0)
    if high < 0:
        high = max(high + length, 0)
    high = min(high, length)
    low = min(low, high)
    return low, high


@inlined
def sliced_list(context: int, head: int, low: int, high: int, width: int) -> int:
    low, high = slice_bounds(load(head + 8), low, high)
    made = new_list(context, high - low, width)
    copy(load(made), load(head) + 8 * low * width, 8 * (high - low) * width)
    store(made + 8, high - low)
    return made


@inlined
def step_bounds(length: int, low: int, high: int, step: int) -> tuple[int, int]:
    """Where a slice with a step begins and how many items it has; see `PySlice_AdjustIndices`."""
    if step == 0 or step < -LONG or step > LONG:
        raise Leave
    least, most = (-1, length - 1) if step < 0 else (0, length)
    if low < 0:
        low = max(low + length, least)
    if high < 0:
        high = max(high + length, least)
    low, high = min(low, most), min(high, most)
    if step < 0:
        return low, (low - high - 1) // -step + 1 if high < low else 0
    return low, (high - low - 1) // step + 1 if low < high else 0


@inlined
def stepped_list(context: int, head: int, low: int, high: int, step: int, width: int) -> int:
    start, count = step_bounds(load(head + 8), low, high, step)
    made = new_list(context, count, width)
    for i in range(count):
        copy(load(made) + 8 * i * width, load(head) + 8 * (start + i * step) * width, 8 * width)
    store(made + 8, count)
    return made


@inlined
def repeated_list(context: int, head: int, times: int, width: int) -> int:
    """`xs * times`; leaves where that is very long."""
    count = load(head + 8)
    if times <= 0 or count == 0:
        return new_list(context, 0, width)
    if times > LONG or count * times > LONG:
        raise Leave
    made = new_list(context, count * times, width)
    for i in range(times):
        copy(load(made) + 8 * i * count * width, load(head), 8 * count * width)
    store(made + 8, count * times)
    return made


@inlined
def extend_list(context: int, head: int, other: int, width: int) -> None:
    """`xs.extend(ys)`, which may be the same list."""
    count, more = load(head + 8), load(other + 8)
    if count + more > load(head + 16):
        check_frozen(head)
        room = 2 * (count + more) + 4
        items = take_scratch(context, 8 * room * width)
        copy(items, load(head), 8 * count * width)
        store(head, items)
        store(head + 16, room)
    copy(load(head) + 8 * count * width, load(other), 8 * more * width)
    store(head + 8, count + more)


@inlined
def insert_item(context: int, head: int, index: int, width: int) -> int:
    """The address of a new item before the one at an index, as `list.insert` takes it."""
    count = load(head + 8)
    if index < 0:
        index = max(index + count, 0)
    index = min(index, count)
    new_item(context, head, width)
    at = load(head) + 8 * index * width
    move(at + 8 * width, at, 8 * (count - index) * width)
    return at


@inlined
def delete_item(context: int, head: int, index: int, width: int) -> None:
    """Take an item out, whose words were read before."""
    item_at(head, index, width)
    if index < 0:
        index += load(head + 8)
    at = own_items(context, head, width) + 8 * index * width
    rest = load(head + 8) - index - 1
    move(at, at + 8 * width, 8 * rest * width)
    store(head + 8, load(head + 8) - 1)


@inlined
def clear_list(head: int) -> None:
    check_frozen(head)
    store(head + 8, 0)


@inlined
def reverse_items(items: int, count: int, width: int) -> None:
    low, high = items, items + 8 * (count - 1) * width
    while low < high:
        for i in range(width):
            kept = load(low + 8 * i)
            store(low + 8 * i, load(high + 8 * i))
            store(high + 8 * i, kept)
        low += 8 * width
        high -= 8 * width


@inlined
def joined_text(context: int, a: int, n: int, b: int, m: int) -> int:
    address = take_scratch(context, n + m)
    copy(address, a, n)
    copy(address + n, b, m)
    return address


@inlined
def take_kept(context: int, size: int) -> int:
    address = load(context + KEPT)
    rounded = (size + 7) & -8
    if address + rounded > load(context + KEPT_END):
        full(context, FULL_KEPT, 0, rounded)
    store(context + KEPT, address + rounded)
    return address


@inlined
def hand_text(context: int, address: int, size: int) -> int:
    """Text as a result refers to it: a copy that lives as long as the result."""
    if size == 0:
        return 0
    kept = take_kept(context, size)
    copy(kept, address, size)
    return kept


@inlined
def hand_room(context: int, size: int) -> int:
    return take_kept(context, size)


@inlined
def keep_room(context: int, hdr: int, size: int) -> int:
    return take_heap(context, hdr, size)


@inlined
def hand_items(context: int, head: int, width: int) -> int:
    size = 8 * list_count(head) * width
    kept = take_kept(context, size)
    copy(kept, list_items(head), size)
    return kept


@inlined
def keep_items(context: int, hdr: int, head: int, width: int) -> int:
    """The items of a list in the heap of a store."""
    size = 8 * list_count(head) * width
    kept = take_heap(context, hdr, size)
    copy(kept, list_items(head), size)
    return kept


@inlined
def both_end(a: bool, b: bool) -> bool:
    """`zip(..., strict=True)`: leaves where one source goes on and another does not."""
    if a != b:
        raise Leave
    return a


@inlined
def line_count(line: int) -> int:
    return 0 if line == 0 else load(line + COUNT)


@inlined
def same_number(a: float, b: float) -> bool:
    """Are two floats inside tuples equal? CPython takes one NaN for equal to itself, which needs its objects."""
    if a != a and b != b:
        raise Leave
    return a == b
