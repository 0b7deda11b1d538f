"""The types of generated values, and literals of them.

They mirror the value types of the language, without needing the classes of a module that is still being written.
A type is a key or not, mutable or not, and has one text: its annotation.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.generator.choices import Choices


@dataclass(frozen=True, slots=True)
class Type:
    """`kind` says which; `args` are the types inside, `name` and `fields` belong to records."""

    kind: str
    args: tuple[Type, ...] = ()
    name: str = ""
    fields: tuple[tuple[str, Type], ...] = ()
    frozen_dataclass: bool = False

    def __str__(self) -> str:
        match self.kind:
            case "optional":
                return f"{self.args[0]} | None"
            case "tuple" | "list" | "dict" | "set":
                return f"{self.kind}[{', '.join(map(str, self.args))}]"
            case "record":
                return self.name
            case "Vector" | "DenseVector":
                return f"ab.{self.kind}"
        return self.kind

    @property
    def of(self) -> Type:
        return self.args[0]

    @property
    def mutable(self) -> bool:
        return self.kind in ("list", "dict", "set", "Vector", "DenseVector")

    @property
    def sharing(self) -> bool:
        """Can two names hold one value of it, of which a part can be changed?"""
        inside = (*self.args, *(type for _, type in self.fields))
        return self.mutable or any(type.sharing for type in inside)


INT, FLOAT, BOOL, STR, NONE = Type("int"), Type("float"), Type("bool"), Type("str"), Type("None")
VECTOR, DENSE = Type("Vector"), Type("DenseVector")
BYTES, DATE, DATETIME, TIMEDELTA = Type("bytes"), Type("date"), Type("datetime"), Type("timedelta")
TIMES = (DATE, DATETIME, TIMEDELTA)
SCALARS = (INT, STR, FLOAT, BOOL)

# Integers inside containers, records and most states stay in +-SMALL, so that no local variable leaves 64 bits:
# a plain run would not notice, but an engine that sends the variable must refuse it.
# What is stored is small, what is read back may have grown by additions.
SMALL = 2**20
GROWN = 2**40
WIDEST = 2**63 - 1

WORDS = ("a", "b", "ab", "Abc", "zeta", "", "b a", "A-b")
FLOATS = (0.0, 1.0, 0.5, -1.5, 2.25, 0.1, -3.3, 1e3, 7.0)
ODD_FLOATS = (-0.0, float("inf"), float("-inf"), float("nan"), 1e308, 5e-324, 2.0**53)
EXACT_FLOATS = (1.0, 0.0, 0.5, 2.0, -1.0, 1.5, -0.5, 4.0)
OCTETS = (b"a", b"b", b"", b"ab", b"\x00\xff", b"a b", b"b" * 70)
DATES = ("2024, 2, 29", "2023, 12, 31", "1970, 1, 1", "1, 1, 1", "9999, 12, 31", "1969, 7, 20")
CLOCKS = ("0, 0", "23, 59, 59, 999999", "12, 30", "6, 0, 0, 1")
SPANS = (
    "",
    "days=1",
    "hours=-3",
    "days=-1, microseconds=1",
    "minutes=90",
    "seconds=59, microseconds=999999",
    "weeks=2",
)
INTS = (0, 1, 2, 3, 5, 7, 10, -1, -4, 100)
BOUNDARY_INTS = (WIDEST, -WIDEST - 1, 2**62, 2**31, -(2**31) - 1, 2**53 + 1)


def optional(of: Type) -> Type:
    return Type("optional", (of,))


def list_of(of: Type) -> Type:
    return Type("list", (of,))


def set_of(of: Type) -> Type:
    return Type("set", (of,))


def dict_of(key: Type, value: Type) -> Type:
    return Type("dict", (key, value))


def tuple_of(*items: Type) -> Type:
    return Type("tuple", items)


def literal(choices: Choices, type: Type) -> str:
    """A short literal of the type; integers are small, floats finite."""
    match type.kind:
        case "int":
            return str(choices.choose(INTS))
        case "float":
            return repr(choices.choose(FLOATS))
        case "bool":
            return choices.choose(("False", "True"))
        case "str":
            return repr(choices.choose(WORDS)).replace("'", '"')
        case "bytes":
            return repr(choices.choose(OCTETS))
        case "date":
            return f"date({choices.choose(DATES)})"
        case "datetime":
            return f"datetime({choices.choose(DATES)}, {choices.choose(CLOCKS)})"
        case "timedelta":
            return f"timedelta({choices.choose(SPANS)})"
        case "optional":
            return "None" if choices.chance(30) else literal(choices, type.of)
        case "tuple":
            return f"({', '.join(literal(choices, t) for t in type.args)})"
        case "list":
            return f"[{', '.join(literal(choices, type.of) for _ in range(choices.integer(0, 3)))}]"
        case "set":
            items = dict.fromkeys(literal(choices, type.of) for _ in range(choices.integer(0, 3)))
            return f"{{{', '.join(items)}}}" if items else "set()"
        case "dict":
            key, value = type.args
            keys = dict.fromkeys(literal(choices, key) for _ in range(choices.integer(0, 3)))
            return f"{{{', '.join(f'{k}: {literal(choices, value)}' for k in keys)}}}"
        case "record":
            return f"{type.name}({', '.join(literal(choices, t) for _, t in type.fields)})"
        case "Vector":
            return "ab.Vector()"
        case "DenseVector":
            return "ab.DenseVector.zeros(4)"
    raise AssertionError(f"no literal of {type}")
