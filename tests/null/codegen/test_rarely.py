"""What is computed where some lane asks for it: each lane gets what it asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.c_compiler import COMPILER, Compiled
from tests.support.generated import call, guarded, of_each, target, untouched

from dovetail.codegen.llvm_text import render
from dovetail.codegen.values import Term, rarely

Array = np.ndarray[Any, Any]


def _made(x: Term) -> Term:
    """Two values for large numbers, of which those beyond ask once more."""
    (far,) = rarely(x > 100.0, (x * x,), (x * 3.0,))
    a, b = rarely(x > 10.0, (far, x - 1.0), (x + 0.5, -x))
    return a * 4.0 - b


def _wanted(x: Array) -> Array:
    far = np.where(x > 100, x * x, x * 3)
    a, b = np.where(x > 10, far, x + 0.5), np.where(x > 10, x - 1, -x)
    return (a * 4 - b).astype(x.dtype)


def _arguments(dtype: str) -> list[Array]:
    rng = np.random.default_rng(0)
    small = rng.integers(-9, 9, 203).astype(dtype)
    one, few, tail = small.copy(), small.copy(), small.copy()
    one[77], few[5:190:13], tail[-1] = 11, 200, 300
    few[17] = np.nan
    return [small, one, few, tail, small + 50, small[:1], one[77:78]]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("which", range(7))
def test_lanes_get_what_they_ask_for(dtype: str, which: int) -> None:
    """None of them, one, some, the last behind the vectors, all."""
    x = _arguments(dtype)[which]
    memory, y = guarded(x.size, dtype)
    call(of_each(_made, dtype), [x, y], x.size)
    np.testing.assert_array_equal(y, _wanted(x))
    assert untouched(memory, y)


def test_one_branch_for_all_values_of_a_set() -> None:
    """Two sets of three values ask twice, in the loop and in what is behind it."""
    text = render(of_each(_made, "float32"), target())
    assert text.count("\nrarely") == 4


@pytest.mark.skipif(COMPILER is None, reason="there is no C compiler")
def test_in_c_it_is_the_same(tmp_path: Path) -> None:
    """Written as C, which computes both."""
    kernel = of_each(_made, "float32")
    library = Compiled(tmp_path, [kernel])
    for x in _arguments("float32"):
        y = np.empty_like(x)
        library.call(0, [x, y], x.size)
        np.testing.assert_array_equal(y, _wanted(x))
