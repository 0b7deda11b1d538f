"""Odd texts, the methods in which they differ, and format specifications."""

from __future__ import annotations

from tests.generator.forms import expression, fit, form, index, leaf, shorter
from tests.generator.valuetypes import BOOL, FLOAT, INT, STR, Type, list_of
from tests.generator.writer import Expr, Writer

ODD_TEXTS = (
    "ß",
    "İi",
    "ǅ",
    "a\u0301",
    "\U0001f600",
    "\x00a",
    "a\nb\r\n",
    "\u2028\x85a",
    "½٣²",
    "٣",
    "{}%'\"\\",
    "x" * 70,
    "\u00a0 a\u3000",
    "ﬁ",
    "Σς",
)
SURROGATES = ("\ud800", "\udcff", "a\udfffb")
SPECS = {
    "int": ("05d", ">8", "+,", "x", "#b", "^9", "e", "_", " d", "%"),
    "float": (".3e", "8.2f", "g", ".0f", "+.1%", ",.2f", "", "012.4f", "<9"),
    "str": (">10", "^9", ".2", "*<6", "", "s"),
    "bool": ("", ">6", "d"),
}


@form("str", weight=4, theme="texts")
def odd_text(w: Writer, type: Type, depth: int) -> Expr | None:
    w.uses("odd texts", "strings")
    text = w.choices.choose(ODD_TEXTS)
    return Expr(ascii(text), STR, size=len(text))


@form("str", weight=5, theme="texts")
def change_odd_text(w: Writer, type: Type, depth: int) -> Expr | None:
    w.uses("odd texts", "strings")
    a = shorter(w, expression(w, STR, depth), 90)
    n = index(w, 12)
    calls = ("{}.casefold()", "{}.title()", "{}.swapcase()", "{}.capitalize()", "{}.zfill({n})", '{}.center({n}, "*")')
    calls += ("{}.ljust({n})", "{}.rjust({n})", "{}.lstrip()", "{}.expandtabs(3)", '{}.replace("a", "ß", 1)')
    calls += ('{}.partition("a")[0]', '{}.rpartition(" ")[2]', '{}.removeprefix("a")', "{}[-2:]", "{}[1:-1]", "{}[::2]")
    calls += ("chr({n} * 50 + 60)", "repr({})", '"".join(sorted({}))', '"".join(reversed({}))')
    return Expr(w.choices.choose(calls).format(a.inner, n=n.inner), STR, size=3 * a.size + 12)


@form("str", weight=3, theme="texts")
def format_by_specification(w: Writer, type: Type, depth: int) -> Expr | None:
    shown = w.pick(lambda v: v.type.kind in SPECS and (v.type != STR or v.value.size <= 100))
    if shown is None:
        return None
    w.uses("format specifications", "strings")
    spec = w.choices.choose(SPECS[shown.type.kind])
    convert = w.choices.choose(("", "", "!r", "!s")) if not spec or spec[0] in "><^*" else ""
    return Expr(f'f"{{{shown.name}{convert}{":" if spec else ""}{spec}}}|"', STR, size=400)


@form("bool", weight=3, theme="texts")
def test_odd_text(w: Writer, type: Type, depth: int) -> Expr | None:
    w.uses("odd texts", "strings")
    names = (
        "isalpha isalnum isdecimal isdigit isnumeric isspace isupper islower istitle isprintable isidentifier isascii"
    )
    return Expr(f"{leaf(w, STR).inner}.{w.choices.choose(names.split())}()", BOOL)


@form("int", weight=2, theme="texts")
def measure_odd_text(w: Writer, type: Type, depth: int) -> Expr | None:
    w.uses("odd texts", "strings")
    a, b = leaf(w, STR), expression(w, STR, min(depth, 1))
    calls = ["{0}.find({1})", "{0}.rfind({1}, 1)", "{0}.count({1})", "len({0})", "{0}.find({1}, 1, 3)"]
    if w.plan.raising:
        calls += ["{0}.index({1})", "ord({0}[0])", "int({0}) % 1000"]
        w.uses("raises")
    return Expr(w.choices.choose(calls).format(a.inner, b.text), INT, -1, 1_200_000, atom=False)


@form("list", weight=3, theme="texts")
def split_odd_text(w: Writer, type: Type, depth: int) -> Expr | None:
    if type != list_of(STR):
        return None
    w.uses("odd texts", "strings")
    calls = (
        "{}.split()",
        "{}.splitlines()",
        '{}.rsplit("a", 1)',
        "{}.splitlines(True)",
        "{}.split(None, 1)",
        "list({})",
    )
    return Expr(f"{w.choices.choose(calls).format(leaf(w, STR).inner)}[:6]", type, size=6)


@form("float", weight=1, theme="texts")
def float_of_text(w: Writer, type: Type, depth: int) -> Expr | None:
    if not w.plan.raising:
        return None
    w.uses("raises", "strings")
    return Expr(f"float({leaf(w, STR).text})", FLOAT)


@form("str", "bool", "int", weight=8, theme="surrogates")
def lone_surrogate(w: Writer, type: Type, depth: int) -> Expr | None:
    """No such text is stored, passed or returned, but it may be looked for."""
    w.uses("lone surrogates", "strings")
    a, lone = leaf(w, STR), ascii(w.choices.choose(SURROGATES))
    text = {"str": f'{a.inner}.replace({lone}, "?")', "bool": f"{lone} in {a.inner}", "int": f"{a.inner}.find({lone})"}
    return fit(w, Expr(text[type.kind], type, -1, 1000, size=a.size, atom=type.kind != "bool"))
