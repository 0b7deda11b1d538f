"""Functions that compiled code alone calls: no machine code of their own, the same results, on disk as bitcode."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numba
import pytest

from anabranch.kernels.native import cache
from anabranch.kernels.native.linked import Bitcode, linked, shared
from anabranch.kernels.native.words import Leave, inlined


def steep(n: int) -> int:
    if n < 0:
        raise Leave
    return 3 * n + 1


def calling(function: Any) -> Any:
    return numba.njit(lambda n: function(n) + 1, error_model="numpy")


@pytest.mark.parametrize("made", [linked, shared])
def test_compiled_code_calls_it_and_leaves_where_it_does(made: Any) -> None:
    function = made(steep)
    call = calling(function)
    assert [call(n) for n in (0, 1, 7)] == [2, 5, 23]
    with pytest.raises(Leave):
        call(-1)
    (overload,) = function.overloads.values()
    assert isinstance(overload.library, Bitcode) and overload.library.get_pointer_to_function("any") == 0


def test_python_does_not_call_it() -> None:
    with pytest.raises(TypeError, match=r"steep is there for compiled code alone; do: call it in a compiled function"):
        shared(steep)(1)


def test_it_is_found_on_disk_and_computes_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANABRANCH_CACHE", str(tmp_path / "kernels"))
    first, second = inlined(steep), inlined(steep)
    assert calling(first)(7) == 23 and not first.stats.cache_hits
    assert calling(second)(7) == 23 and second.stats.cache_hits
    with pytest.raises(Leave):
        calling(second)(-1)
    assert cache.folder() == tmp_path / "kernels"
