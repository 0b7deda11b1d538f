"""Random changes to the text of programs: what comes out is Python, but seldom a program anybody would write.

Law: `mutate` is a pure function of the text and of the choices, and what it gives compiles. The class of a mutant may
still refuse to be created; then the mutant says nothing about the translator and is skipped.
"""

from __future__ import annotations

import ast
import copy
import linecache
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from types import ModuleType

import anabranch as ab
from tests.generator.choices import Choices
from tests.generator.programs import generate
from tests.programs.load import broken, good

Region = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
Mutation = Callable[["Mutator", Region], bool]


@lru_cache(maxsize=1)
def corpus() -> tuple[str, ...]:
    """The texts of the corpus and of the examples."""
    return tuple(path.read_text(encoding="utf-8") for path in (*good(), *broken()))


def mutant(choices: Choices, most: int = 5) -> str | None:
    """A mutated program of the corpus or of the generator; None if no change was possible."""
    source = choices.choose(corpus()) if choices.chance(50) else generate(choices).source
    return mutate(choices, source, 1 + min(choices.integer(0, most - 1), choices.integer(0, most - 1)))


def mutate(choices: Choices, source: str, changes: int = 1) -> str | None:
    """The text after some changes; None if none of those tried gave Python."""
    made = 0
    for _ in range(4 * changes):
        changed = _change(choices, source)
        if changed is not None:
            source, made = changed, made + 1
            if made == changes:
                break
    return source if made else None


def _change(choices: Choices, source: str) -> str | None:
    tree = ast.parse(source)
    mutator = Mutator(choices, tree)
    region = mutator.region()
    if region is None or not choices.weighted(MUTATIONS)(mutator, region):
        return None
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(20 * limit)  # long chains are deep trees, and unparsing them is not what is tested
    try:
        text = ast.unparse(tree) + "\n"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(text, "<mutant>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError, OverflowError):
        return None  # such as `return` outside a function, or an f-string that cannot be nested
    finally:
        sys.setrecursionlimit(limit)
    return text if text.strip() != source.strip() else None


@contextmanager
def programs_in(source: str, name: str = "mutated_program") -> Iterator[list[type[ab.Program]]]:
    """The program classes that a text defines, while it counts as a module. Raises what running the text raises."""
    file = f"<{name}>"
    module = ModuleType(name)
    module.__file__ = file
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    sys.modules[name] = module
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(compile(source, file, "exec", dont_inherit=True), module.__dict__)
        yield [
            value
            for value in vars(module).values()
            if isinstance(value, type) and issubclass(value, ab.Program) and value.__module__ == name
        ]
    finally:
        sys.modules.pop(name, None)
        linecache.cache.pop(file, None)


class Mutator:
    """What there is in a program to change it with."""

    def __init__(self, choices: Choices, tree: ast.Module) -> None:
        self.choices, self.tree = choices, tree
        self.programs = [n for n in tree.body if isinstance(n, ast.ClassDef) and _is_program(n)]

    def region(self) -> Region | None:
        """Where to change something: mostly a method, sometimes the class or what stands beside it."""
        methods = [n for p in self.programs for n in p.body if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
        beside = [n for n in self.tree.body if isinstance(n, ast.FunctionDef | ast.ClassDef) and n not in self.programs]
        kinds: list[tuple[int, Sequence[Region]]] = [(82, methods), (12, self.programs), (6, beside)]
        regions = self.choices.weighted([(w, r) for w, r in kinds if r] or [(1, [])])
        return self.choices.choose(regions) if regions else None

    def expressions(self, region: ast.AST) -> list[ast.expr]:
        return [n for n in ast.walk(region) if isinstance(n, ast.expr) and _is_read(n) and not _is_part(n)]

    def expression(self) -> ast.expr:
        """A copy of some expression of the program, or one of those that programs seldom have."""
        if self.choices.chance(25) or not self.programs:
            return _expr(self.choices.choose(ATOMS))
        found = self.expressions(self.choices.choose(self.programs))
        return copy.deepcopy(self.choices.choose(found)) if found else ast.Constant(0)

    def name(self) -> str:
        found = {n.id for p in self.programs for n in ast.walk(p) if isinstance(n, ast.Name)}
        found |= {n.arg for p in self.programs for n in ast.walk(p) if isinstance(n, ast.arg)}
        return self.choices.choose([*sorted(found), "fresh", "other"])

    def attribute(self) -> str:
        """The text of an attribute of the program: a state, a setting, a method, or none of these."""
        found = {
            n.target.id
            for p in self.programs
            for n in p.body
            if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)
        }
        if self.choices.chance(40):
            found |= {n.name for p in self.programs for n in p.body if isinstance(n, ast.FunctionDef)}
            found |= {n.attr for p in self.programs for n in ast.walk(p) if isinstance(n, ast.Attribute)}
        return f"self.{self.choices.choose([*sorted(found), 'nothing'])}"

    def fill(self, template: str, old: str = "None") -> str:
        """`$old` is what is replaced, `$e` some expression, `$n` a name, `$s` an attribute of self, `$t` a type."""

        def one(match: re.Match[str]) -> str:
            match match[1]:
                case "old":
                    return old
                case "e":
                    return f"({ast.unparse(self.expression())})"
                case "n":
                    return self.name()
                case "s":
                    return self.attribute()
            return self.choices.choose(TYPES)

        return re.sub(r"\$(old|e|n|s|t)\b", one, template)

    def blocks(self, region: ast.AST) -> list[list[ast.stmt]]:
        return [
            value
            for node in ast.walk(region)
            for _, value in ast.iter_fields(node)
            if isinstance(value, list) and value and isinstance(value[0], ast.stmt)
        ]

    def functions(self, region: ast.AST) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
        return [n for n in ast.walk(region) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]


def _is_program(node: ast.ClassDef) -> bool:
    return any(ast.unparse(b) in ("ab.Program", "Program", "anabranch.Program") for b in node.bases)


def _is_read(node: ast.expr) -> bool:
    return isinstance(getattr(node, "ctx", ast.Load()), ast.Load)


def _is_part(node: ast.expr) -> bool:
    return isinstance(node, ast.FormattedValue | ast.Slice | ast.Starred)


def _expr(text: str) -> ast.expr:
    return ast.parse(text.strip(), mode="eval").body


def _slots(region: ast.AST, among: type[ast.AST] = ast.expr) -> list[tuple[ast.AST, str, int | None, ast.AST]]:
    """Where expressions stand: their parent, its field, the index in it. Types and f-string parts are left alone."""
    found: list[tuple[ast.AST, str, int | None, ast.AST]] = []
    for parent in ast.walk(region):
        if isinstance(parent, ast.JoinedStr):
            continue
        for field, value in ast.iter_fields(parent):
            if field in ("annotation", "returns", "format_spec", "bases", "decorator_list"):
                continue
            for i, node in enumerate(value) if isinstance(value, list) else [(None, value)]:
                if isinstance(node, among) and not (isinstance(node, ast.expr) and not _is_read(node)):
                    found.append((parent, field, i, node))
    return found


def _put(parent: ast.AST, field: str, at: int | None, node: object) -> None:
    if at is None:
        setattr(parent, field, node)
    else:
        getattr(parent, field)[at] = node


# Changes of expressions


def replace_by_another(m: Mutator, region: Region) -> bool:
    slots = _slots(region)
    if not slots:
        return False
    parent, field, at, _ = m.choices.choose(slots)
    _put(parent, field, at, m.expression())
    return True


def replace_by_template(m: Mutator, region: Region) -> bool:
    slots = _slots(region)
    if not slots:
        return False
    parent, field, at, old = m.choices.choose(slots)
    try:
        new = _expr(m.fill(m.choices.choose(EXPRESSIONS), f"({ast.unparse(old)})"))
    except SyntaxError:
        return False
    _put(parent, field, at, new)
    return True


def swap_operands(m: Mutator, region: Region) -> bool:
    found = [
        n
        for n in ast.walk(region)
        if isinstance(n, ast.BinOp | ast.Compare | ast.Call | ast.BoolOp | ast.Subscript | ast.IfExp)
    ]
    if not found:
        return False
    match m.choices.choose(found):
        case ast.BinOp() as node:
            node.left, node.right = node.right, node.left
        case ast.Compare() as node:
            node.left, node.comparators[0] = node.comparators[0], node.left
        case ast.Call() as node:
            node.args.reverse()
        case ast.BoolOp() as node:
            node.values.reverse()
        case ast.IfExp() as node:
            node.body, node.orelse = node.orelse, node.body
        case ast.Subscript() as node:
            node.value, node.slice = node.slice, node.value
    return True


def change_operator(m: Mutator, region: Region) -> bool:
    found = [
        n for n in ast.walk(region) if isinstance(n, ast.BinOp | ast.AugAssign | ast.UnaryOp | ast.Compare | ast.BoolOp)
    ]
    if not found:
        return False
    match m.choices.choose(found):
        case ast.BinOp() | ast.AugAssign() as node:
            node.op = m.choices.choose(ast.operator.__subclasses__())()
        case ast.UnaryOp() as node:
            node.op = m.choices.choose(ast.unaryop.__subclasses__())()
        case ast.BoolOp() as node:
            node.op = m.choices.choose(ast.boolop.__subclasses__())()
        case ast.Compare() as node:
            node.ops[0] = m.choices.choose(ast.cmpop.__subclasses__())()
    return True


def change_constant(m: Mutator, region: Region) -> bool:
    slots = _slots(region, ast.Constant)
    if not slots:
        return False
    parent, field, at, _ = m.choices.choose(slots)
    _put(parent, field, at, _expr(m.choices.choose(CONSTANTS)))
    return True


def change_attribute(m: Mutator, region: Region) -> bool:
    found = [n for n in ast.walk(region) if isinstance(n, ast.Attribute)]
    if not found:
        return False
    m.choices.choose(found).attr = m.choices.choose(ATTRIBUTES)
    return True


def change_arguments(m: Mutator, region: Region) -> bool:
    """Add, drop, star or name an argument of a call."""
    found = [n for n in ast.walk(region) if isinstance(n, ast.Call)]
    if not found:
        return False
    call = m.choices.choose(found)
    match m.choices.integer(0, 5):
        case 0:
            call.args.append(m.expression())
        case 1 if call.args:
            call.args.pop(m.choices.integer(0, len(call.args) - 1))
        case 2 if call.args:
            call.args[0] = ast.Starred(value=call.args[0], ctx=ast.Load())
        case 3 if call.args:
            call.keywords.append(ast.keyword(arg=m.choices.choose(KEYWORDS), value=call.args.pop()))
        case 4:
            call.keywords.append(ast.keyword(arg=m.choices.choose((None, *KEYWORDS)), value=m.expression()))
        case _:
            call.args = []
    return True


def change_function(m: Mutator, region: Region) -> bool:
    found = [n for n in ast.walk(region) if isinstance(n, ast.Call)]
    if not found:
        return False
    m.choices.choose(found).func = _expr(m.fill(m.choices.choose(FUNCTIONS)))
    return True


def lengthen(m: Mutator, region: Region) -> bool:
    """Long chains are deep trees."""
    slots = _slots(region)
    if not slots:
        return False
    parent, field, at, old = m.choices.choose(slots)
    text, times = f"({ast.unparse(old)})", m.choices.choose((30, 60, 90, 150, 300))
    match m.choices.integer(0, 5):
        case 0:
            text = " + ".join([text] * times)
        case 1:
            text = f"{'-' * min(times, 90)}{text}"
        case 2:
            text = text + ".strip()" * min(times, 90)
        case 3:
            text = text + "[0]" * min(times, 90)
        case 4:
            text = f"{'[' * min(times, 60)}{text}{']' * min(times, 60)}"
        case _:
            text = " else ".join([f"{text} if {text}"] * min(times, 60)) + " else 0"
    try:
        _put(parent, field, at, _expr(text))
    except (SyntaxError, MemoryError, RecursionError):
        return False
    return True


# Changes of statements


def delete_statement(m: Mutator, region: Region) -> bool:
    block = m.choices.choose(m.blocks(region))
    block.pop(m.choices.integer(0, len(block) - 1))
    if not block:
        block.append(ast.Pass())
    return True


def duplicate_statement(m: Mutator, region: Region) -> bool:
    block = m.choices.choose(m.blocks(region))
    stmt = copy.deepcopy(m.choices.choose(block))
    block.insert(m.choices.integer(0, len(block)), stmt)
    return True


def move_statement(m: Mutator, region: Region) -> bool:
    """A copy of a statement from anywhere in the program."""
    origin = m.choices.choose(m.blocks(m.choices.choose(m.programs)) if m.programs else m.blocks(region))
    block = m.choices.choose(m.blocks(region))
    block.insert(m.choices.integer(0, len(block)), copy.deepcopy(m.choices.choose(origin)))
    return True


def swap_statements(m: Mutator, region: Region) -> bool:
    block = m.choices.choose(m.blocks(region))
    if len(block) < 2:
        return False
    i = m.choices.integer(0, len(block) - 2)
    block[i], block[i + 1] = block[i + 1], block[i]
    return True


def wrap_statements(m: Mutator, region: Region) -> bool:
    block = m.choices.choose(m.blocks(region))
    first = m.choices.integer(0, len(block) - 1)
    last = m.choices.integer(first, len(block) - 1)
    try:
        wrapped = ast.parse(m.fill(m.choices.choose(WRAPPERS))).body
    except SyntaxError:
        return False
    inner = block[first : last + 1]
    for each in [b for w in wrapped for b in m.blocks(w)]:
        at = next((i for i, s in enumerate(each) if isinstance(s, ast.Expr) and ast.unparse(s) == "BODY"), None)
        if at is not None:
            each[at : at + 1] = copy.deepcopy(inner)
    block[first : last + 1] = wrapped
    return True


def insert_statement(m: Mutator, region: Region) -> bool:
    blocks = m.blocks(region)
    if isinstance(region, ast.ClassDef) and m.choices.chance(70):
        blocks, templates = [region.body], MEMBERS
    else:
        templates = STATEMENTS
    block = m.choices.choose(blocks)
    try:
        new = ast.parse(m.fill(m.choices.choose(templates))).body
    except SyntaxError:
        return False
    at = m.choices.integer(0, len(block))
    block[at:at] = new
    return True


def unwrap_statement(m: Mutator, region: Region) -> bool:
    """A compound statement's body in its place."""
    found = [
        (b, i)
        for b in m.blocks(region)
        for i, s in enumerate(b)
        if isinstance(s, ast.If | ast.For | ast.While | ast.Try)
    ]
    if not found:
        return False
    block, i = m.choices.choose(found)
    block[i : i + 1] = block[i].body  # type: ignore[attr-defined]
    return True


def use_state_in(m: Mutator, region: Region) -> bool:
    """A condition, loop source or target that reaches state."""
    found = [
        n
        for n in ast.walk(region)
        if isinstance(n, ast.If | ast.While | ast.For | ast.Assign | ast.Return | ast.AugAssign)
    ]
    if not found:
        return False
    try:
        access = _expr(m.fill(m.choices.choose(ACCESSES)))
    except SyntaxError:
        return False
    match m.choices.choose(found):
        case ast.If() | ast.While() as node:
            node.test = access
        case ast.For() as node if m.choices.chance(60):
            node.iter = access
        case ast.Return() as node:
            node.value = access
        case ast.For() | ast.Assign() | ast.AugAssign() as node:
            if m.choices.chance(50) and not isinstance(node, ast.For):
                node.value = access
                return True
            try:
                target = ast.parse(f"{m.fill(m.choices.choose(TARGETS))} = 0").body[0]
            except SyntaxError:
                return False
            assert isinstance(target, ast.Assign)
            if isinstance(node, ast.Assign):
                node.targets = [*target.targets, *(node.targets if m.choices.chance(20) else [])]
            else:
                node.target = target.targets[0]  # type: ignore[assignment]
    return True


# Changes of names, types and signatures


def rename(m: Mutator, region: Region) -> bool:
    """All uses of a name in a method, or one of them."""
    found = [n for n in ast.walk(region) if isinstance(n, ast.Name | ast.arg)]
    if not found:
        return False
    node, new = (
        m.choices.choose(found),
        m.choices.choose((m.name(), m.name(), "sum", "len", "ab", "self", "print", "_x", "list")),
    )
    old = node.id if isinstance(node, ast.Name) else node.arg
    for each in found if m.choices.chance(60) else [node]:
        if isinstance(each, ast.Name) and each.id == old:
            each.id = new
        elif isinstance(each, ast.arg) and each.arg == old:
            each.arg = new
    return True


def change_annotation(m: Mutator, region: Region) -> bool:
    found = [
        n for n in ast.walk(region) if isinstance(n, ast.arg | ast.AnnAssign | ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    if not found:
        return False
    node = m.choices.choose(found)
    declares = isinstance(node, ast.AnnAssign) and isinstance(region, ast.ClassDef)
    text = m.choices.choose(STATES if declares and m.choices.chance(70) else TYPES)
    if isinstance(node, ast.AnnAssign):
        node.annotation = _expr(text)
        if m.choices.chance(30):
            node.value = None if node.value else m.expression()
    elif isinstance(node, ast.arg):
        node.annotation = None if m.choices.chance(15) else _expr(text)
    else:
        node.returns = None if m.choices.chance(15) else _expr(text)
    return True


def annotate(m: Mutator, region: Region) -> bool:
    """An assignment gets an annotation."""
    found = [
        (b, i)
        for b in m.blocks(region)
        for i, s in enumerate(b)
        if isinstance(s, ast.Assign) and isinstance(s.targets[0], ast.Name | ast.Attribute | ast.Subscript)
    ]
    if not found:
        return False
    block, i = m.choices.choose(found)
    old = block[i]
    assert isinstance(old, ast.Assign)
    simple = int(isinstance(old.targets[0], ast.Name))
    value = None if m.choices.chance(20) else old.value
    block[i] = ast.AnnAssign(
        target=old.targets[0], annotation=_expr(m.choices.choose(TYPES)), value=value, simple=simple
    )  # type: ignore[arg-type]
    return True


def change_signature(m: Mutator, region: Region) -> bool:
    found = m.functions(region)
    if not found:
        return False
    node = m.choices.choose(found)
    args = node.args
    extra = ast.arg(arg=m.choices.choose(("fresh", "a", "value")), annotation=_expr(m.choices.choose(TYPES)))
    match m.choices.integer(0, 9):
        case 0 if args.args:
            args.args.pop(0)  # often self
            args.defaults = args.defaults[-len(args.args) :] if args.args else []
        case 1:
            args.args.append(extra)
            args.defaults.append(_expr(m.fill(m.choices.choose(DEFAULTS))))
        case 2:
            args.kwonlyargs.append(extra)
            args.kw_defaults.append(None if m.choices.chance(50) else _expr(m.fill(m.choices.choose(DEFAULTS))))
        case 3:
            args.vararg = extra
        case 4:
            args.kwarg = extra
        case 5 if args.args:
            args.posonlyargs.append(args.args.pop(0))
        case 6 if args.defaults:
            args.defaults[-1] = _expr(m.fill(m.choices.choose(DEFAULTS)))
        case 7 if args.args:
            m.choices.choose(args.args).arg = m.choices.choose(("this", "_x", "state", "many", "ab", "int"))
        case 8:
            node.name = m.choices.choose(
                ("__init__", "_helper", "state", "many", "items", "__call__", "__len__", "__new__", "_", "entries")
            )
        case _:
            args.args.append(extra)
    return True


def decorate(m: Mutator, region: Region) -> bool:
    found = m.functions(region)
    if not found:
        return False
    m.choices.choose(found).decorator_list.append(_expr(m.choices.choose(DECORATORS)))
    return True


def make_async(m: Mutator, region: Region) -> bool:
    found = [
        (b, i) for b in m.blocks(m.tree) for i, s in enumerate(b) if isinstance(s, ast.FunctionDef | ast.For | ast.With)
    ]
    if not found:
        return False
    block, i = m.choices.choose(found)
    old = block[i]
    kinds = {ast.FunctionDef: ast.AsyncFunctionDef, ast.For: ast.AsyncFor, ast.With: ast.AsyncWith}
    kind = kinds[type(old)]  # type: ignore[index]
    block[i] = ast.copy_location(kind(**dict(ast.iter_fields(old))), old)
    return True


def change_class(m: Mutator, region: Region) -> bool:
    """Bases, keywords and decorators of the program itself."""
    if not m.programs:
        return False
    node = m.choices.choose(m.programs)
    match m.choices.integer(0, 3):
        case 0:
            node.bases.append(_expr(m.choices.choose(("object", "dict", "Exception", "Mixin"))))
            m.tree.body.insert(
                m.tree.body.index(node) if node in m.tree.body else 0,
                ast.parse("class Mixin:\n    def mixed(self, a: int) -> int:\n        return a").body[0],
            )
        case 1:
            node.body.insert(
                0,
                ast.parse(
                    m.choices.choose(
                        (
                            "__slots__ = ('a',)",
                            "__slots__ = ()",
                            "'text'",
                            "__module__ = 'nowhere'",
                            "__qualname__ = 'Q'",
                            "__annotations__ = {}",
                        )
                    )
                ).body[0],
            )
        case 2:
            node.decorator_list.append(
                _expr(m.choices.choose(("staticmethod", "dataclass", "(lambda c: c)", "ab.pure", "repr")))
            )
        case _:
            node.name = m.choices.choose(("P", "Table", "int", "_P", "ab"))
    return True


MUTATIONS: list[tuple[int, Mutation]] = [
    (14, replace_by_another),
    (14, replace_by_template),
    (4, swap_operands),
    (4, change_operator),
    (4, change_constant),
    (3, change_attribute),
    (4, change_arguments),
    (4, change_function),
    (1, lengthen),
    (5, delete_statement),
    (4, duplicate_statement),
    (7, move_statement),
    (4, swap_statements),
    (10, wrap_statements),
    (14, insert_statement),
    (3, unwrap_statement),
    (8, use_state_in),
    (4, rename),
    (4, change_annotation),
    (2, annotate),
    (3, change_signature),
    (1, decorate),
    (1, make_async),
    (1, change_class),
]

# What is put in. `$e`, `$n`, `$s`, `$t` and `$old` are explained at `Mutator.fill`.

CONSTANTS = (
    "0 1 -1 2 0.0 1.5 -0.0 True False None ... '' 'a' b'' b'a' 1j 2.5j 10**40 9223372036854775807 9223372036854775808 "
    "-9223372036854775808 1e308 1e999 'a\\nb' '{}' '\\x00' '\\ud800' 123456789012345678901234567890"
).split()

ATOMS = (
    *CONSTANTS,
    *(
        "[] {} () set() [1] (1,) {1} {'a':1} {**{}} [*[]] self ab "
        "print open eval __import__ len sum max int float str list dict "
        "tuple type object Exception ValueError NotImplemented "
        "__name__ __class__ __debug__ math undefined_name ab.Table ab.pure "
        "ab.everywhere ab.gather ab.Vector ab.Vector() "
        "ab.Vector({1:2.0}) ab.DenseVector([1.0]) ab.Table() ab.add ab.random() "
        "super() super().__init__() self.__class__ self.__dict__ self.entries "
        "range(3) range(0) range(10,0,-1) ''.join [].append "
        "iter([]) object() lambda:0 type(self) int('1') str(1) [[]] [None] [(),()] {():()} [[1],[2.0]] {1:'a',2:'b'} "
        "self.state.x self.__init__ float('nan') divmod(7,2) "
        "slice(1,2) frozenset() bytes(3) memoryview(b'') complex(1,2)"
    ).split(),
    "(lambda: 0)",
    "(yield)",
    "f''",
    "not None",
)

EXPRESSIONS = (
    "(fresh := $old)",
    "($n := $old)",
    "[*$old]",
    "(*$old, $e)",
    "{*$old}",
    "{**$old}",
    "[*$old, *$e]",
    "lambda: $old",
    "lambda x, *y, z=$e, **w: $old",
    "(lambda x: $old)($e)",
    "(yield $old)",
    "(yield from $old)",
    "(await $old)",
    "$old < $e < $e",
    "$e <= $old == $e != $s",
    "$old in $s",
    "$e in $old",
    "$old not in $s",
    "$old is $e",
    "$old is not None",
    "$old is None",
    "$s < $old < $s[$e]",
    "$old[$e]",
    "$old[1:]",
    "$old[::2]",
    "$old[::-1]",
    "$old[$e:$e:$e]",
    "$old[1:2, 3]",
    "$old[...]",
    "$old[*$e]",
    "$old[$e, $e]",
    "$s[$old]",
    "$s[$old, $e]",
    "$s[$old][$e]",
    "$s[$old:]",
    "$s.get($old)",
    "$s.get($old, $e)",
    "$s.get($s[$old], $s.get($e))",
    "$s.row($old)",
    "$s.column($old)",
    "$s.pop($old, $e)",
    "$s.setdefault($old, $e)",
    "$s.items()",
    "$s.value",
    "$s.top($old)",
    "$s.dot($old)",
    "$s($old)",
    "$s($old, $e)",
    "$s.$n",
    "$old.$n",
    "$old.$n($e)",
    "$old($e)",
    "$old()",
    "$n($old)",
    "f'{$old}'",
    "f'{$old!r:>{$e}}'",
    "f'{$old:{$e}.{$e}}' 'b'",
    "f'{$s[$e]}{$old=}'",
    "'a' 'b' + str($old)",
    "'%s %d' % ($old, $e)",
    "'{} {}'.format($old, $e)",
    "[x for x in $old]",
    "[$old for _ in $e]",
    "{x for x in $old}",
    "{x: $old for x in $e}",
    "{$e: x for x in $old if x}",
    "[x for x in $old if x if not x]",
    "[y for x in $old for y in x]",
    "[[y for y in x] for x in $old]",
    "[(x := $old) for _ in $e]",
    "[fresh for x in $old if (fresh := x)]",
    "[$s[x] for x in $old]",
    "{x: $s.get(x, $e) for x in $old}",
    "{$s[x] for x in $old if x in $s}",
    "[$s[y] for x in $old for y in $s[x]]",
    "sum(x for x in $old)",
    "sum($s[x] for x in $old)",
    "list(x for x in $old)",
    "(x for x in $old)",
    "[x async for x in $old]",
    "[a + b for a, b in $old]",
    "[a for a, (b, *c) in $old]",
    "[$s.x for $s.x in $old]",
    "[x for x[0] in $old]",
    "$old if $e else $e",
    "$e if $old else $s[$e]",
    "$s[$e] if $s[$old] else $s[$e]",
    "$old and $e",
    "$old or $s[$e]",
    "$s[$e] and $s[$e] or $old",
    "not $old",
    "~$old",
    "-$old",
    "+$old",
    "$old @ $e",
    "$old ** $e",
    "$old << 70",
    "$old // 0",
    "$old % $e",
    "$old | $e",
    "$old + 1j",
    "sorted($old)",
    "sorted($old, key=lambda x: $e, reverse=$e)",
    "sorted($old, key=$n)",
    "max($old, default=$e)",
    "max($old, key=lambda x: -x)",
    "min($old, $e)",
    "max(*$old)",
    "min()",
    "sum($old)",
    "sum($old, [])",
    "len($old)",
    "range($old)",
    "range($e, $old, $e)",
    "enumerate($old)",
    "enumerate($old, $e)",
    "zip($old, $e)",
    "zip(*$old)",
    "zip($old, strict=True)",
    "map(lambda x: x, $old)",
    "map($n, $old)",
    "filter(None, $old)",
    "reversed($old)",
    "list($old)",
    "tuple($old)",
    "set($old)",
    "dict($old)",
    "dict(a=$old, **$e)",
    "int($old)",
    "float($old)",
    "str($old)",
    "bool($old)",
    "abs($old)",
    "round($old)",
    "round($old, $e)",
    "divmod($old, $e)",
    "pow($old, $e, $e)",
    "isinstance($old, $n)",
    "isinstance($old, (int, str))",
    "isinstance($old, int | str)",
    "getattr($old, 'a')",
    "hash($old)",
    "id($old)",
    "repr($old)",
    "print($old)",
    "all($old)",
    "any(x for x in $old)",
    "next(iter($old))",
    "type($old)",
    "ab.local($old)",
    "ab.everywhere($s)",
    "ab.everywhere($s).items()",
    "ab.everywhere($s.get($old))",
    "ab.everywhere($s[$old])",
    "ab.everywhere($old)",
    "ab.everywhere(ab.everywhere($old))",
    "ab.everywhere($s).$n($old)",
    "ab.gather($old)",
    "ab.gather(ab.everywhere($s).items())",
    "ab.gather(ab.everywhere($s.row($old)))",
    "ab.gather(ab.everywhere($old))",
    "ab.gather(ab.gather($old))",
    "sum(ab.gather(ab.everywhere($s).top($old)))",
    "ab.pure($old)",
    "ab.pure(len)($old)",
    "ab.partial($old, merge=ab.add)",
    "ab.stale($s, epochs=1)",
    "ab.random()",
    "self.$n($old)",
    "self($old)",
    "self[$old]",
    "super().$n($old)",
    "($old, $e)",
    "[$old, $e]",
    "{$old, $e}",
    "{$old: $e}",
    "{$old: $e, **$e}",
    "{'a': [$old]}['a'][0]",
    "($old,)[0]",
    "[$old][-1]",
    "($old)[:-1]",
    "math.sqrt($old)",
    "math.nothing($old)",
    "ValueError($old)",
    "...",
    "()",
    "$n",
    "$s",
    "$e",
    "ab.Vector($old)",
    "ab.DenseVector($old)",
    "$old.append($e)",
    "$old.sort(key=lambda x: x)",
    "$old.split()[0]",
    "','.join($old)",
    "$old.items()",
    "$old.copy()",
)

ACCESSES = (
    "$s",
    "$s[$e]",
    "$s[$n]",
    "$s[$n][$e]",
    "$s[$n, $e]",
    "$s.get($n)",
    "$s.get($n, $e)",
    "$s.pop($n)",
    "$s[$s[$n]]",
    "$s[$n] + $s[$n]",
    "$s[$n] and $s[$n]",
    "$n in $s",
    "$s.items()",
    "$s.row($n)",
    "$s.value",
    "len($s)",
    "list($s)",
    "$s($e)",
    "$s()",
    "ab.everywhere($s).items()",
    "ab.everywhere($s[$n])",
    "ab.gather(ab.everywhere($s.get($n, $e)))",
    "ab.gather(ab.everywhere($s).items())",
    "[$s[x] for x in $e]",
    "[x for x in $e if x in $s]",
    "[$s[x] + $s.get(x, 0) for x in $e]",
)

TARGETS = (
    "$n",
    "$n, $n",
    "$n, *$n",
    "*$n, $n",
    "[$n, ($n, $n)]",
    "($n,)",
    "()",
    "$s",
    "$s[$n]",
    "$s[$e]",
    "$s[$n][$e]",
    "$s.$n",
    "$s[$n].$n",
    "$s[$n], $n",
    "$n, $s[$n]",
    "$s[$n], $s[$n]",
    "$n[$e]",
    "$n[1:2]",
    "$n[1:2:3]",
    "$s[1:]",
    "$n.$n",
    "self.fresh",
    "self.fresh, $n",
    "ab.x",
    "ab.everywhere($s)[$n]",
    "ab.everywhere($s).value",
    "$s[$n, $n]",
    "($e)[0]",
    "$n = $n",
    "$n = $s[$n]",
    "$s.value",
)

STATEMENTS = (
    "pass",
    "...",
    "return",
    "return $e",
    "return self",
    "break",
    "continue",
    "raise",
    "raise $e",
    "raise ValueError",
    "raise ValueError($e) from $e",
    "raise KeyError($e) from None",
    "raise $n",
    "assert $e",
    "assert $e, $e",
    "assert $s[$e], $s[$n]",
    "del $n",
    "del $s[$n]",
    "del $s[$e], $n",
    "del $n[$e]",
    "del $n.$n",
    "del ($n, [$n])",
    "del $n[1:2]",
    "global $n",
    "nonlocal $n",
    "import math",
    "import os.path as $n",
    "from math import *",
    "from math import sqrt as $n",
    "$n = $e",
    "$n = $n = $e",
    "$n: $t",
    "$n: $t = $e",
    "$s: $t = $e",
    "$n.a: int",
    "$n, $n = $e",
    "$n, $n = $e, $e",
    "$n, $n = $n, $n",
    "$s[$n], $s[$n] = $s[$n], $s[$n]",
    "$n, *$n = $e",
    "($n, [$n, $n]) = $e",
    "$n, $s[$n] = $e",
    "$s.$n, $n[0] = $e",
    "$s = $e",
    "$s[$n] = $e",
    "$s[$e] = $e",
    "$s[$n] = $s[$n]",
    "$s[$n][$e] = $e",
    "$s.value = $e",
    "$s.value += $e",
    "$n += $e",
    "$n -= $n",
    "$n @= $e",
    "$n **= 2",
    "$n |= $e",
    "$s += $e",
    "$s[$n] += $e",
    "$s[$n] -= $s[$n]",
    "$s[$n] //= $e",
    "$s[$n] |= $e",
    "$s[$s[$n]] += 1",
    "$s[$n][$e] += $e",
    "$s[$n].$n += 1",
    "$n[$e] += $e",
    "$n[1:2] += $e",
    "$n.$n *= $e",
    "$s[$n, $n] += $e",
    "self.fresh = $e",
    "self.fresh += 1",
    "ab.everywhere($s).assign($e)",
    "ab.everywhere($s)[$n] = $e",
    "ab.everywhere($s)[$n] += $e",
    "ab.everywhere($s.update($e))",
    "$n = ab.everywhere($s)",
    "$n = ab.everywhere($s.get($n))",
    "$n = ab.everywhere($s).row($n)",
    "$n = ab.gather($n)",
    "$n = ab.gather(ab.everywhere($s).items())",
    "$n = $s",
    "$n = $s.get",
    "$n = self",
    "$n = lambda x: x",
    "$n = []",
    "$n = {}",
    "$n = None",
    "$n.append($e)",
    "$n.append($n)",
    "$n.sort()",
    "$s[$n].append($e)",
    "$s.pop($n)",
    "$s.clear()",
    "$s.assign($e)",
    "$s($e)",
    "$s.nothing($e)",
    "print($e)",
    "yield",
    "yield $e",
    "$n = yield $e",
    "await $e",
    "def inner(a, *b, c=$e, **d):\n    nonlocal $n\n    return a",
    "def inner() -> int:\n    return $e",
    "def inner():\n    yield $e",
    "async def inner():\n    await $e",
    "class Inner:\n    x = $e",
    "class Inner(ab.Program):\n    def f(self) -> int:\n        return 1",
    "@$n\ndef inner():\n    pass",
    "for $n in $e:\n    pass",
    "for $n in $s:\n    break",
    "for $n in $s.items():\n    continue",
    "for $n, $n in $e:\n    $s[$n] = $n",
    "for $n in $e:\n    $s[$n] += 1",
    "for $n in $e:\n    $n = $s[$n]",
    "for $n in $e:\n    $n += $s[$n]\n    $s[$n] = $n",
    "for $n in $e:\n    for $n in $s[$n]:\n        $s[$n] = $n",
    "for $n in $e:\n    if $s[$n]:\n        return $e\n    $s[$n] = $e",
    "for $n in $e:\n    if $e:\n        break\n    $s[$n] = $e\nelse:\n    $n = $s[$n]",
    "for $s[$n] in $e:\n    pass",
    "for $s.$n in $e:\n    pass",
    "for self.fresh in $e:\n    pass",
    "for $n, ($n, *$n) in $e:\n    pass",
    "for () in $e:\n    pass",
    "for $n in *$e, 1:\n    pass",
    "for $n in range(3):\n    continue\nelse:\n    $n = 1",
    "async for $n in $e:\n    pass",
    "async with $e as $n:\n    pass",
    "while $e:\n    break",
    "while True:\n    break",
    "while True:\n    $n = $s[$n]\n    if $n:\n        break",
    "while $s[$n]:\n    $s[$n] -= 1\nelse:\n    $n = 0",
    "while $n in $s:\n    $n = $s[$n]",
    "while $e:\n    if $e:\n        continue\n    break\nelse:\n    return $e",
    "while 0:\n    pass",
    "while not $e:\n    return $e",
    "with $e:\n    pass",
    "with $e as $n, $e as ($n, $s.x):\n    pass",
    "if $e:\n    $n = 1\nelse:\n    $n = 'a'",
    "if $n is None:\n    return $e",
    "if $n is not None and $n in $s:\n    $s[$n] = $n",
    "if $e: pass\nelif $s[$n]: $n = $s[$n]\nelif $e: return $e\nelse: $n = $e",
    "if ($n := $e):\n    pass",
    "if isinstance($n, int):\n    $n += 1",
    "try:\n    $n = $e\nexcept:\n    pass",
    "try:\n    $n = $e\nexcept ValueError as $n:\n    raise",
    "try:\n    $n = $e\nexcept (KeyError, ValueError) as error:\n    raise RuntimeError from error",
    "try:\n    $n = int($e)\nexcept ($n, $e):\n    $n = 0",
    "try:\n    $n = $e\nexcept undefined_name:\n    pass",
    "try:\n    $n = $e\nexcept $e:\n    pass",
    "try:\n    $n = $e\nexcept ():\n    pass",
    "try:\n    $n = $e\nexcept* ValueError:\n    pass",
    "try:\n    $n = 1\nfinally:\n    $n = 2",
    "try:\n    return $e\nfinally:\n    return $e",
    "try:\n    raise ValueError\nexcept ValueError:\n    $n = 1\nelse:\n    $n = 2\nfinally:\n    pass",
    "try:\n    pass\nexcept Exception as e:\n    e = 1\n    del e",
    "try:\n    $s[$n] = 1\nexcept KeyError:\n    pass",
    "for $n in $e:\n    try:\n        break\n    except ValueError:\n        continue\n    finally:\n        pass",
    "match $e:\n    case _:\n        pass",
    "match $e:\n    case 1 | 2 | None:\n        $n = 1\n    case 'a':\n        $n = 2",
    "match $e:\n    case [a, b, *rest]:\n        $n = a\n    case (a, b) | [a, b, _]:\n        pass",
    "match $e:\n    case {'a': a, **rest}:\n        $n = a\n    case {}:\n        pass",
    "match $e:\n    case int(a) | float(a):\n        $n = a\n    case str() as a if a:\n        pass",
    "match $e:\n    case $n(a, b=1):\n        $n = a\n    case object(x=a):\n        pass",
    "match $n:\n    case ValueError(args=a):\n        pass\n    case undefined_name():\n        pass",
    "match $e:\n    case ab.Vector():\n        pass\n    case ab.nothing:\n        pass"
    "\n    case self.x:\n        pass",
    "match $e, $e:\n    case a, b if a == b:\n        return $e\n    case [*_]:\n        pass"
    "\n    case $n:\n        pass",
    "match $s[$n]:\n    case 0:\n        $s[$n] = 1\n    case $n if $s[$n]:\n        pass",
    "match $e:\n    case -1 | 1.5 | 1+2j | b'a' | True:\n        pass",
    "match $e:\n    case [[a], {'b': [b, *_]}]:\n        pass\n    case (1 | 2) as c:\n        pass",
    "match $e:\n    case [1, [2, *x], *_] as y:\n        pass\n    case None:\n        pass",
    "match $s:\n    case _:\n        pass",
    "Alias = list[int]\n$n: Alias = $e",
    "'text'",
    "f'{$e}'",
    "[$e for $n in $e]",
    "lambda: $e",
    "$e if $e else $e",
    "($e, $e)",
    "not $e",
    "$e < $e < $e",
    "exec('x = 1')",
    "locals()['x'] = 1",
    "setattr(self, 'x', 1)",
    "self.__dict__['x'] = 1",
    "super().__init__()",
    "__class__",
)

WRAPPERS = (
    "if $e:\n    BODY",
    "if $n:\n    BODY\nelse:\n    BODY",
    "if $e:\n    pass\nelse:\n    BODY",
    "if $s[$n]:\n    BODY",
    "if $n in $s:\n    BODY",
    "if $n is None:\n    BODY",
    "if not $e:\n    BODY\nelif $e:\n    BODY",
    "for $n in $e:\n    BODY",
    "for $n in range(2):\n    BODY",
    "for $n in range(3):\n    BODY\n    break\nelse:\n    BODY",
    "for $n in range(3):\n    if $n:\n        continue\n    BODY",
    "for $n in range(3):\n    BODY\n    if $e:\n        break",
    "for $n in $s:\n    BODY",
    "for $n in $s[$n]:\n    BODY",
    "for $n in ab.gather(ab.everywhere($s).items()):\n    BODY",
    "for $n, $n in enumerate($e):\n    BODY",
    "for fresh in range(2):\n    for $n in range(2):\n        BODY",
    "while $e:\n    BODY",
    "while True:\n    BODY\n    break",
    "while True:\n    BODY\n    if $s[$n]:\n        break",
    "while $s[$n]:\n    BODY",
    "while False:\n    BODY",
    "while $n < 3:\n    $n += 1\n    BODY\nelse:\n    BODY",
    "try:\n    BODY\nexcept ValueError:\n    pass",
    "try:\n    BODY\nexcept KeyError as error:\n    BODY",
    "try:\n    pass\nexcept KeyError as error:\n    BODY",
    "try:\n    BODY\nfinally:\n    pass",
    "try:\n    pass\nfinally:\n    BODY",
    "try:\n    BODY\nexcept (ValueError, KeyError):\n    raise\nelse:\n    BODY\nfinally:\n    BODY",
    "with $e as $n:\n    BODY",
    "with open('nothing'):\n    BODY",
    "async with $e:\n    BODY",
    "def inner():\n    BODY",
    "def inner(self):\n    BODY",
    "async def inner():\n    BODY",
    "class Inner:\n    BODY",
    "match $e:\n    case 1:\n        BODY\n    case _:\n        BODY",
    "match $n:\n    case [a, *_]:\n        BODY",
    "match $e:\n    case None:\n        BODY\n    case a if $e:\n        BODY",
    "if True:\n    BODY",
    "if False:\n    BODY",
)

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

ATTRIBUTES = (
    "append", "get", "items", "keys", "values", "pop", "row",
    "column", "top", "dot", "value", "assign", "clear", "update",
    "setdefault", "split", "strip", "format", "join", "sort",
    "copy", "nothing", "__class__", "__dict__", "__len__", "real",
    "add", "norm", "tolist", "set_row", "_private", "x", "scan",
    "count", "index", "insert", "args", "shape", "sum", "scale",
)  # fmt: skip

KEYWORDS = ("key", "default", "start", "a", "b", "self", "merge", "reverse", "strict", "value", "sep")

FUNCTIONS = (
    "len", "sum", "max", "min", "sorted", "print", "$s",
    "$s.get", "$s.row", "$n", "self", "super", "$e", "$n.$n", "ab.gather",
    "ab.everywhere", "ab.local", "ab.Vector", "ab.Table", "ab.nothing", "list",
    "dict", "zip", "map", "filter", "enumerate", "range",
    "isinstance", "tuple", "set", "math.sqrt",
    "(lambda *a: a)", "$s.$n", "ab.everywhere($s).get", "ab.everywhere($s).$n", "str.join",
    "int.from_bytes", "dict.fromkeys", "''.join", "[].append", "ab", "ab.pure",
    "ab.random", "frozenset", "bytes", "type", "any", "all",
    "reversed", "round", "divmod", "abs", "iter", "next", "sum(1, 2)", "self.$n", "self.$n.$n", "KeyError",
)  # fmt: skip
