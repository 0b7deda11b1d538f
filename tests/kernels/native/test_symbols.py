"""Names of compiled code: what several processes have put on disk must not be taken for one another in a third."""

from __future__ import annotations

from anabranch.kernels.native import libm, text
from anabranch.kernels.native.cache import build, fingerprint
from anabranch.kernels.native.module import HEAD


def test_the_symbols_of_a_kernel_are_its_own() -> None:
    source = HEAD + "\n\n@compiled\ndef row(c):\n    return c + 1\n\n\n@compiled\ndef kernel(c):\n    return row(c)\n"
    function, _ = build(source)
    (overload,) = function.overloads.values()
    assert fingerprint(source) in overload.fndesc.llvm_func_name
    assert function(41) == 42


def test_functions_made_by_one_closure_have_different_names() -> None:
    made = [getattr(libm, name) for name in "sqrt exp expm1 log log1p log2 log10 sin cos tan asin acos atan".split()]
    made += [libm.sinh, libm.cosh, libm.tanh, text.lower_ascii, text.upper_ascii]
    assert len({f.py_func.__qualname__ for f in made}) == len(made)
