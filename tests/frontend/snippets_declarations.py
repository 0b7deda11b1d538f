"""Texts that declare something: types, states, members of a class, defaults, decorators. As in the other snippets,
`$e`, `$s` and `$t` are explained at `Material.fill`.
"""

from __future__ import annotations

TYPES = (
    "int", "float", "str", "bool", "bytes", "None", "object", "list", "dict", "set", "tuple", "list[int]", "list[str]",
    "list[float]", "list[list[int]]", "dict[str, int]",
    "dict[int, list[str]]", "set[int]", "set[str]", "tuple[int, str]",
    "tuple[int, ...]", "tuple[()]", "int | None", "str | None", "int | str", "list[int] | None", "list[int | None]",
    "'int'", "'undefined'", "'list[int'", "''", "...", "1", "int or str", "type", "complex", "callable", "ab.Vector",
    "ab.DenseVector", "ab.Table", "ab.Table[str, int]",
    "ab.Partitioned[ab.Table[str, int]]", "ab.Program", "list[ab.Vector]",
    "dict[float, int]", "dict[list[int], int]", "frozenset[int]", "list[...]",
    "list[int, str]", "dict[int]", "[int]", "(int, str)",
    "ab", "print", "ValueError", "Exception", "type(None)",
    "int | float", "list['int']", "ab.Time", "ab.Feed[int]", "ab.Value[int]",
)  # fmt: skip

STATES = (
    "ab.Partitioned[ab.Table[str, int]]",
    "ab.Partitioned[ab.Table[int, float]]",
    "ab.Partitioned[ab.Table[int, list[int]]]",
    "ab.Partitioned[ab.Table[tuple[int, int], int]]",
    "ab.Partitioned[ab.Table[float, int]]",
    "ab.Partitioned[ab.Table[str, dict[str, int]]]",
    "ab.Partitioned[ab.Table]",
    "ab.Partitioned[ab.Table[str]]",
    "ab.Partitioned[ab.Matrix]",
    "ab.Partitioned[ab.Vector]",
    "ab.Partitioned[ab.DenseMatrix]",
    "ab.Partitioned[ab.DenseVector]",
    "ab.Partitioned[ab.Value[int]]",
    "ab.Partitioned[int]",
    "ab.Partitioned[dict[str, int]]",
    "ab.Partitioned",
    "ab.Partial[ab.Table[str, int]]",
    "ab.Partial[ab.Value[int]]",
    "ab.Partial[ab.Vector]",
    "ab.Partial[ab.Matrix]",
    "ab.Partial[ab.DenseVector]",
    "ab.Partial[ab.Partial[ab.Vector]]",
    "ab.Replicated[ab.Table[str, int]]",
    "ab.Replicated[ab.Value[list[int]]]",
    "ab.Replicated[ab.DenseMatrix]",
    "ab.Replicated[ab.Vector]",
    "ab.Table[str, int]",
    "ab.Timeline[int]",
    "'ab.Partitioned[ab.Table[str, int]]'",
    "ab.Partitioned[ab.Table[str, 'undefined']]",
    "ab.Partitioned[undefined] if False else int",
)

MEMBERS = (
    "x = 1",
    "x = $e",
    "x: int",
    "x: int = 1",
    "x: $t = None",
    "x, y = 1, 2",
    "x = y = []",
    "x = lambda self, a: a",
    "_x = lambda self: 1",
    "x = 1j",
    "x = object()",
    "x = len",
    "x = ab",
    "x = ab.Table()",
    "x = property(lambda self: 1)",
    "x: ab.Partitioned[ab.Table[str, int]]",
    "x: ab.Partial[ab.Value[int]] = ab.Value(0)",
    "x: ab.Partial[ab.Value[int]]",
    "x: ab.Replicated[ab.Vector] = 1",
    "x: ab.Partial[ab.Vector] = ab.partial(ab.Vector(), merge=ab.mean)",
    "for x in range(3):\n    pass",
    "if True:\n    def late(self, a: int) -> int:\n        return a",
    "try:\n    x = undefined_name\nexcept NameError:\n    x = 1",
    "with open('/dev/null') as f:\n    pass",
    "class Inner:\n    x = 1",
    "import math as x",
    "'text'",
    "...",
    "def f(self) -> int:\n    return 1",
    "def f(self, a: $t) -> $t:\n    return a",
    "def f(self, a: $t, b: $t = $e) -> $t:\n    return a if b else $s[a]",
    "def f(self, a: int) -> int:\n    return self.f(a - 1) if a else 0",
    "def _f(self, a):\n    return a",
    "def _f(self, a, b=1):\n    for x in a:\n        if x in $s:\n            return x\n    return b",
    "def _f(self):\n    while True:\n        if $s[$e]:\n            return $e\n        return",
    "def _f(self, a: int) -> int:\n    return self._g(a)\n\ndef _g(self, a: int) -> int:\n    return self._f(a)",
    "def _f(self, *a):\n    return a",
    "def f(self):\n    pass",
    "def f():\n    pass",
    "def f(a: int) -> int:\n    return a",
    "def f(*args: int) -> int:\n    return args",
    "def f(self, a: int, /, b: int, *, c: int = 1, **d: int) -> int:\n    return a + b + c",
    "def f(self, self2: int) -> int:\n    self = 1\n    return self",
    "def f(self, a: int) -> int:\n    def g(b: int) -> int:\n        return a + b\n    return g(a)",
    "def f(self, a: int = $e) -> int:\n    return a",
    "def f(self, a: list[int] = []) -> list[int]:\n    a.append(1)\n    return a",
    "async def f(self) -> int:\n    return 1",
    "def f(self) -> int:\n    yield 1",
    "@staticmethod\ndef f(a: int) -> int:\n    return a",
    "@classmethod\ndef f(cls, a: int) -> int:\n    return a",
    "@property\ndef f(self) -> int:\n    return 1",
    "@property\ndef f(self) -> int:\n    return 1\n\n@f.setter\ndef f(self, x: int) -> None:\n    pass",
    "@ab.pure\ndef f(a: int) -> int:\n    return a",
    "@ab.reads\ndef f(self, a: int) -> int:\n    return a",
    "@ab.every\ndef f(self) -> None:\n    pass",
    "def __init__(self) -> None:\n    self.x = $e\n    $s = $e",
    "def __init__(self, a, *b, **c):\n    self.x = a\n    for self.y in b: pass",
    "def __init__(self) -> None:\n    if 1:\n        self.x = 1\n    else:\n        self.x = 'a'"
    "\n    self.z = [self.x, 2.0]\n    self.f = lambda a: a",
    "def __init__(self) -> None:\n    self.a, self.b = 1, [2]\n    self.c = self.d = {}"
    "\n    self.e: int = 1\n    del self.a\n    return None",
    "def __getattr__(self, name):\n    return 1",
    "def __call__(self, a: int) -> int:\n    return a",
    "def __eq__(self, other):\n    return True",
    "def state(self) -> int:\n    return 1",
    "def f(self) -> int:\n    '''text'''",
    "def f(self) -> int: ...",
    "def f(self) -> int:\n    return 1\n\ndef f(self, a: str) -> str:\n    return a",
    "def f(self, a: int) -> None:\n    a = a\n    return a",
    "f = g = lambda self: 0",
    "__init__ = None",
    "_f = 1",
    "f = 1\n\ndef f(self) -> int:\n    return 1",
)

DEFAULTS = (
    "1", "None", "[]", "{}", "()", "1j", "'a'",
    "-1", "1.5", "10**40", "object()", "len", "lambda: 0", "...", "float('nan')",
    "[[]]", "{1: []}", "ab.Vector()", "ab.Table()", "ab", "int",
    "True", "set()", "b''", "(1, 'a')", "__name__", "range(3)",
    "iter([])", "ValueError()", "9223372036854775808",
)  # fmt: skip

DECORATORS = (
    "staticmethod", "classmethod", "property", "ab.pure",
    "ab.reads", "ab.writes", "ab.every", "(lambda f: f)", "(lambda f: 1)",
    "(lambda f: None)", "__import__('functools').cache", "__import__('functools').lru_cache(maxsize=2)",
    "__import__('functools').cached_property", "__import__('functools').partial",
    "__import__('contextlib').contextmanager",
    "__import__('abc').abstractmethod", "__import__('typing').final", "__import__('typing').no_type_check",
    "list", "str",
    "(lambda f: lambda *a, **k: f(*a, **k))", "__import__('functools').wraps(len)", "__import__('typing').overload",
)  # fmt: skip

CLASS_LINES = (
    "__slots__ = ('a',)",
    "__slots__ = ()",
    "'text'",
    "__module__ = 'nowhere'",
    "__qualname__ = 'Q'",
    "__annotations__ = {}",
)

CLASS_DECORATORS = ("staticmethod", "dataclass", "(lambda c: c)", "ab.pure", "repr")

BASES = ("object", "dict", "Exception", "Mixin")

MIXIN = "class Mixin:\n    def mixed(self, a: int) -> int:\n        return a"

METHOD_NAMES = ("__init__", "_helper", "state", "many", "items", "__call__", "__len__", "__new__", "_", "entries")

PARAMETER_NAMES = ("this", "_x", "state", "many", "ab", "int")

CLASS_NAMES = ("P", "Table", "int", "_P", "ab")

TAKEN_NAMES = ("sum", "len", "ab", "self", "print", "_x", "list")
