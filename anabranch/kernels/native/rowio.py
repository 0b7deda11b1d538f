"""How a kernel walks over rows, reads their words and writes their results."""

from __future__ import annotations

from collections.abc import Sequence

from anabranch.kernels.native.layout import kinds
from anabranch.kernels.native.once import ARGS, LINES
from anabranch.kernels.native.registers import Value
from anabranch.kernels.native.scope import Scope
from anabranch.lang.types import Dense, List, Optional, Record, Scalar, Sparse, Tuple, Type, thaw

FAR, NEAR, CLOSE = 32, 16, 6  # rows; see `ahead`


def write_loop(prologue: str, body: str, ahead: str = "", begin: str = "") -> str:
    """`kernel(c)`: for each row i from where it stands to the end the lines of `body`.

    `begin` stands before the first row, and may use what is looked up once. `ahead` is how row number {} is named,
    where there are `far`, `near` and `close`.
    """
    lines = ["@compiled", "def kernel(c):", "    first, end, scratch = load(c), load(c + 8), load(c + 88)"]
    lines += [f"    {line}" for line in prologue.splitlines()] + [LINES]
    lines += [f"    {line}" for line in begin.splitlines()]
    lines += [f"    i = first - {FAR if ahead else 0}", "    while i < end:"]
    if ahead:
        lines += [
            f"        if i + {FAR} < end:",
            f"            far(c, {ahead.format(f'(i + {FAR})')}, i + {FAR}{ARGS})",
            f"        if first <= i + {NEAR} < end:",
            f"            near(c, i + {NEAR}{ARGS})",
            f"        if first <= i + {CLOSE} < end:",
            f"            close(c, i + {CLOSE}{ARGS})",
        ]
    lines.append("        if first <= i:")
    lines += [f"            {line}" for line in body.splitlines()]
    return "\n".join([*lines, "        i += 1", "    store(c, end)", "    return 0", ""])


def parameters(
    scope: Scope,
    given: dict[str, Type],
    row: str,
    layout: Sequence[tuple[str, Type]] | None = None,
    lists: bool = True,
) -> None:
    """Read the words of a row, laid out as `given` or `layout` say, into the variables of the given names.

    Without `lists` those are not looked at, so nothing that is written here can leave the kernel.
    """
    at = 0
    for name, t in layout or list(given.items()):
        if name not in given:
            at += len(kinds(thaw(t)))
            continue
        words: list[str] = []
        at = _read(scope, thaw(t), at, row, words, lists)
        scope.receive(name, Value(thaw(t), tuple(words)))


def _read(scope: Scope, t: Type, at: int, row: str, words: list[str], lists: bool) -> int:
    """As `Scope.load`, from columns: word number `at` of a row has an address and a stride of its own."""
    match t:
        case Scalar():
            for kind in kinds(t):
                place = scope.module.once.input(at, row)
                words.append({"i": f"load({place})", "f": f"load_float({place})", "b": f"(load({place}) != 0)"}[kind])
                at += 1
        case Optional(of):
            place = scope.module.once.input(at, row)
            words.append(f"(load({place}) != 0)")
            at = _read(scope, of, at + 1, row, words, lists)
        case Tuple(items):
            for item in items:
                at = _read(scope, item, at, row, words, lists)
        case Record(_, fields):
            for _, field in fields:
                at = _read(scope, field, at, row, words, lists)
        case List() | Dense():
            start, size = (f"load({scope.module.once.input(a, row)})" for a in (at, at + 1))
            words.append(scope.out.let(f"list_head(c, {start}, {size})") if lists else "0")
            at += 2
        case Sparse():
            start, size = (f"load({scope.module.once.input(a, row)})" for a in (at, at + 1))
            words.append(scope.out.let(f"pairs_line(c, {start}, {size})") if lists else "0")
            at += 2
        case _:
            kinds(t)
    return at


def put_result(scope: Scope, value: Value, row: str) -> None:
    """Write the words of a result into the columns of results."""
    value = scope.write.name_words(scope.kept(scope.write.name_words(value), "c"))
    if not kinds(value.type):
        return
    _put(scope, value, 0, row)


def _put(scope: Scope, value: Value, at: int, row: str) -> int:
    from anabranch.kernels.native.registers import items_of

    place = scope.module.once.output(at, row)
    match value.type:
        case Scalar():
            for kind, word in zip(kinds(value.type), value.words, strict=True):
                place = scope.module.once.output(at, row)
                put = {"i": "store({}, {})", "f": "store_float({}, {})", "b": "store({}, int({}))"}[kind]
                scope.out.line(put.format(place, word))
                at += 1
        case Optional(of):
            scope.out.line(f"store({place}, int({value.words[0]}))")
            at = _put(scope, Value(of, value.words[1:]), at + 1, row)
        case Tuple() | Record():
            for item in items_of(value):
                at = _put(scope, item, at, row)
        case List() | Dense():
            second = scope.module.once.output(at + 1, row)
            scope.out.line(f"store({place}, list_items({value.word}))")
            scope.out.line(f"store({second}, list_count({value.word}))")
            at += 2
        case Sparse():
            second = scope.module.once.output(at + 1, row)
            scope.out.line(f"store({place}, line_pairs({value.word}))")
            scope.out.line(f"store({second}, line_count({value.word}))")
            at += 2
    return at
