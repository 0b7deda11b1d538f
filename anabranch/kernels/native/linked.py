"""Functions that compiled code alone calls: part of the machine code of each kernel that calls them, with none of
their own.

numba would make machine code of every function, and twice more of it for Python and for C to call. Here a function ends
as LLVM's bitcode, which kernels link and optimise as a whole.

Laws: what calls such a function computes what it would compute with numba's own; Python cannot call it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from llvmlite import binding
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, DefaultPassBuilder, compile_result
from numba.core.compiler_machinery import PassManager
from numba.core.registry import CPUDispatcher

OPTIONS = {"nopython": True, "nogil": True, "error_model": "numpy", "boundscheck": None}
ALONE = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


class Bitcode(JITCodeLibrary):
    """Code without addresses."""

    optimised = True  # before it is linked, once for all that link it

    @classmethod
    def loaded(cls, codegen: Any, name: str, bitcode: bytes) -> Bitcode:
        made = cls(codegen, name)
        made._final_module = made._shared_module = binding.parse_bitcode(bitcode)
        made._finalized = True
        return made

    @property
    def codegen(self) -> Bitcode:
        return self

    def set_env(self, name: str, env: object) -> None:
        """What numba keeps for functions that work on objects; there is no place for it, and no object."""

    def bitcode(self) -> bytes:
        return self._get_module_for_linking().as_bitcode()

    def get_pointer_to_function(self, name: str) -> int:
        self._ensure_finalized()
        return 0

    def _optimize_functions(self, module: Any) -> None:
        if self.optimised:
            super()._optimize_functions(module)

    def _optimize_final_module(self) -> None:
        if self.optimised:
            super()._optimize_final_module()

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


class Raw(Bitcode):
    """Of one kernel, which optimises it with all else."""

    optimised = False


# Passes for what the text of kernels has none of: closures, comprehensions, `with`, arrays, unrolled literals.
NEEDLESS = (
    *"with_lifting inline_closure_likes rewrite_semantic_constants make_function_op_code_to_jit_function".split(),
    *"inline_inlinables find_literally literal_unroll LiteralPropagation inline_overloads nopython_rewrites".split(),
    "dump_parfor_diagnostics",
)


class Plain(Compiler):
    """The compiler of kernels: numba's own without the passes that are needless here."""

    def define_pipelines(self) -> Any:
        whole = DefaultPassBuilder.define_nopython_pipeline(self.state)
        made = PassManager("kernels")
        made.passes = [(each, why) for each, why in whole.passes if each.name() not in NEEDLESS]
        made.finalize()
        return [made]


class _Kept(Plain):
    library: type[Bitcode] = Bitcode

    def define_pipelines(self) -> Any:
        state = self.state
        state.library = self.library(state.targetctx.codegen(), state.func_id.func_qualname)
        return super().define_pipelines()


class _Single(_Kept):
    library = Raw


class Linked(CPUDispatcher):
    """A function that compiled code alone calls."""

    def __call__(self, *args: Any) -> NoReturn:
        raise TypeError(f"{self.py_func.__name__} is there for compiled code alone; do: call it in a compiled function")


def linked(function: Callable[..., Any], *, forceinline: bool = False) -> Linked:
    """A function of one kernel."""
    return Linked(function, targetoptions=OPTIONS | ALONE | {"forceinline": forceinline}, pipeline_class=_Single)


def shared(function: Callable[..., Any]) -> Linked:
    """A function of many kernels."""
    return Linked(function, targetoptions=OPTIONS | ALONE, pipeline_class=_Kept)


def packed(result: Any) -> tuple[Any, ...]:
    """What is kept on disk of a function that was compiled."""
    result.fndesc.typemap = result.fndesc.calltypes = None
    return result.library.name, result.library.bitcode(), result.fndesc, result.environment, result.signature


def unpacked(context: Any, name: str, bitcode: bytes, fndesc: Any, environment: Any, signature: Any) -> Any:
    library = Bitcode.loaded(context.codegen(), name, bitcode)
    return compile_result(
        target_context=context,
        typing_context=context.typing_context,
        library=library,
        environment=environment,
        entry_point=context.get_executable(library, fndesc, environment),
        fndesc=fndesc,
        signature=signature,
        objectmode=False,
        lifted=(),
        reload_init=(),
        referenced_envs=(),
    )
