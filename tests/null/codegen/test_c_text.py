"""Kernels written as C compute what the same kernels written as LLVM IR do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.c_compiler import COMPILER, Compiled
from tests.support.drawn_kernels import (
    COMPARISONS,
    FLOATS,
    INTEGERS,
    LOGIC,
    MOVES,
    assert_same,
    drawn_kernel,
    elementwise,
    of_operands,
    rows,
    specials,
)
from tests.support.generated import call, guarded, untouched

from dovetail.codegen.ir import FIRST, LAST, Accumulator, Buffer, Kernel, Loop, Store
from dovetail.codegen.ir import Update as Into
from dovetail.codegen.mathematics import FUNCTIONS
from dovetail.codegen.values import (
    apply,
    cast,
    compare,
    index,
    load,
)

pytestmark = pytest.mark.skipif(COMPILER is None, reason="there is no C compiler")

Array = np.ndarray[Any, Any]


def assert_same_results(kernels: list[Kernel], dtype: str, folder: Path) -> None:
    """Of two operands with all special values, both give the same bits."""
    library = Compiled(folder, kernels)
    some = specials(dtype)
    x, y = (np.ascontiguousarray(a.ravel()) for a in np.meshgrid(some, some))
    for number, kernel in enumerate(kernels):
        result = kernel.buffers[-1].dtype
        memory, ours = guarded(x.size, result)
        theirs = np.empty(x.size, result)
        library.call(number, [x, y, ours], x.size)
        call(kernel, [x, y, theirs], x.size)
        assert untouched(memory, ours)
        assert_same(ours, theirs)


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
def test_each_operation(dtype: str, tmp_path: Path) -> None:
    """Every operation of two operands alone, and shifts by every few bits."""
    ops = ["add", "sub", "mul", "maximum", "minimum"]
    ops += ["div"] if dtype in FLOATS else LOGIC
    kernels = [elementwise(lambda x, y, op=op: apply(op, x, y), dtype) for op in ops]
    kernels += [
        elementwise(lambda x, y, op=op: compare(op, x, y), dtype) for op in COMPARISONS
    ]
    if dtype in INTEGERS:
        kernels += [
            elementwise(lambda x, y, op=op: apply(op, x, 7), dtype) for op in MOVES
        ]
    assert_same_results(kernels, dtype, tmp_path)


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
def test_random_kernels(dtype: str, tmp_path: Path) -> None:
    """Operations within operations."""
    assert_same_results([drawn_kernel(s, dtype) for s in range(8)], dtype, tmp_path)


@pytest.mark.parametrize("dtype", FLOATS)
def test_the_mathematics(dtype: str, tmp_path: Path) -> None:
    """Every function of the mathematics, composed as it is there."""
    kernels = [elementwise(of_operands(f), dtype) for f in FUNCTIONS.values()]
    assert_same_results(kernels, dtype, tmp_path)


def test_casts(tmp_path: Path) -> None:
    """Casts between all dtypes but from floats to integers, which kernels have not."""
    pairs = [
        (a, b)
        for a in (*FLOATS, *INTEGERS)
        for b in (*FLOATS, "int8", "uint32")
        if a not in FLOATS or b in FLOATS
    ]
    kernels = [elementwise(lambda x, y, b=b: cast(x, b), a) for a, b in pairs]
    library = Compiled(tmp_path, kernels)
    for number, (a, b) in enumerate(pairs):
        x = specials(a)
        ours, theirs = np.empty(x.size, b), np.empty(x.size, b)
        library.call(number, [x, x, ours], x.size)
        call(kernels[number], [x, x, theirs], x.size)
        assert_same(ours, theirs)


def test_rows_are_gathered(tmp_path: Path) -> None:
    """Sums of whole numbers and extremes, along and across memory, of any width."""
    cases = [("add", "int32", 0), ("add", "float32", 0.0), ("minimum", "int16", 99),
             ("maximum", "float64", -np.inf), ("maximum", "uint8", 0)]  # fmt: skip
    kernels = [rows(*case) for case in cases]
    library = Compiled(tmp_path, kernels)
    for number, (_, dtype, _) in enumerate(cases):
        for width in (0, 1, 17, 64):
            for step in (1, 3):
                x = (np.arange(4 * (width + 1) * step) * 7 % 101).astype(dtype)
                memory, ours = guarded(4, dtype)
                theirs = np.empty(4, dtype)
                library.call(number, [x, ours], 4, width, step)
                call(kernels[number], [x, theirs], 4, width, step)
                assert untouched(memory, ours)
                assert_same(ours, theirs)


def test_a_running_sum(tmp_path: Path) -> None:
    """What an accumulator holds may be stored on the way, one after the other."""
    x, y, i = Buffer("x", "float32"), Buffer("y", "float32", written=True), index("i")
    total = Accumulator("add", "float32", 0.0)
    body = (Into(total, load(x, i).value), Store(y, i.value, total.value))
    loop = Loop("seq", i.value, FIRST, LAST, body, (total,))
    kernel = Kernel("running", (x, y), (), (loop,))
    given = specials("float32")[14:]
    ours, theirs = np.empty_like(given), np.empty_like(given)
    Compiled(tmp_path, [kernel]).call(0, [given, ours], given.size)
    call(kernel, [given, theirs], given.size)
    assert_same(ours, theirs)
    np.testing.assert_array_equal(ours, np.cumsum(given, dtype=np.float32))


def test_bools(tmp_path: Path) -> None:
    """Any byte but 0 is true, and what is written is 0 or 1."""
    kernel = elementwise(lambda x, y: apply("and", x, y), "bool")
    x = np.array([0, 1, 2, 255], np.uint8)
    ours = np.empty(4, np.uint8)
    Compiled(tmp_path, [kernel]).call(0, [x, x, ours], 4)
    assert ours.tolist() == [0, 1, 1, 1]
