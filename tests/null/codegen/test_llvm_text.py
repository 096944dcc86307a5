"""Kernels written as LLVM IR compute what they say, and touch nothing else."""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
import pytest
from tests.support import child
from tests.support.generated import call, guarded, of_each, target, untouched

from dovetail.codegen.ir import (
    FIRST,
    LAST,
    Accumulator,
    Buffer,
    Kernel,
    Loop,
    Store,
    Update,
)
from dovetail.codegen.llvm_text import render
from dovetail.codegen.values import Term, cast, choose, constant, index, load, parameter

DTYPES = ("float32", "float64", "int32", "int64", "uint8", "bool")
VECTORS = (16, 32, 64)


def copied(layout: str, dtype: str) -> Kernel:
    """y[i] = x[…]: of the same element, of one for all, or of every `step`th."""
    x, y, i = Buffer("x", dtype), Buffer("y", dtype, written=True), index("i")
    at = {"contiguous": i, "splat": i - i, "strided": i * parameter("step")}[layout]
    store = Store(y, i.value, load(x, at).value)
    loop = Loop("lane", i.value, FIRST, LAST, (store,))
    return Kernel("copied", (x, y), (("step", "int64"),), (loop,))


@pytest.mark.parametrize("vector", VECTORS)
@pytest.mark.parametrize("layout", ["contiguous", "splat", "strided"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_no_byte_beside_the_result_is_written(
    dtype: str, layout: str, vector: int
) -> None:
    """Of every length up to two steps and one, from every kind of operand."""
    on = target(vector=vector)
    kernel = copied(layout, dtype)
    for count in range(2 * on.lanes(kernel) + 2):
        source = (np.arange(3 * count + 1) % 2).astype(dtype)
        memory, y = guarded(count, dtype)
        call(kernel, [source, y], count, 3, on=on)
        step = {"contiguous": 1, "splat": 0, "strided": 3}[layout]
        assert (y == source[np.arange(count) * step]).all()
        assert untouched(memory, y)


PROTECTED = """
import ctypes, mmap, sys
import numpy as np
from tests.support.generated import call, of_each, target
libc = ctypes.CDLL(None, use_errno=True)
page = mmap.PAGESIZE

def fenced(size):
    memory = mmap.mmap(-1, 3 * page)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    for fence in (start, start + 2 * page):
        assert libc.mprotect(ctypes.c_void_p(fence), page, 0) == 0
    return memory, start + page

kept, low = fenced(page)
other, high = fenced(page)
def at(address, count):
    return np.ctypeslib.as_array((ctypes.c_float * count).from_address(address))
kernel = of_each(lambda x: x + 1.0, "float32")
for vector in (16, 32, 64):
    on = target(vector=vector)
    for count in range(1, 2 * on.lanes(kernel) + 2):
        ends = page - 4 * count
        for x, y in ((low, high + ends), (low + ends, high)):
            call(kernel, [at(x, count), at(y, count)], count, on=on)
print("whole")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="asks the kernel for fences")
def test_no_byte_beside_an_operand_is_read() -> None:
    """Next to pages that nobody may touch, every length is served."""
    done = child.run(sys.executable, "-c", PROTECTED)
    assert done.stdout.strip() == "whole"


ARITHMETIC: dict[str, tuple[Callable[[Term], Term], Callable[..., object]]] = {
    "add": (lambda x: x + x, lambda x: x + x),
    "sub": (lambda x: 3 - x, lambda x: 3 - x),
    "mul": (lambda x: x * x, lambda x: x * x),
    "neg": (lambda x: -x, lambda x: -x),
    "choose": (lambda x: choose(x < 5, x, 5), lambda x: np.minimum(x, 5)),
    "compare": (lambda x: x >= 3, lambda x: x >= 3),
}


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
@pytest.mark.parametrize("op", ARITHMETIC)
def test_arithmetic(op: str, dtype: str) -> None:
    """Arithmetic is that of NumPy."""
    make, expected = ARITHMETIC[op]
    x = np.arange(-40, 41).astype(dtype)
    want = np.asarray(expected(x))
    y = np.empty(x.shape, want.dtype)
    call(of_each(make, dtype), [x, y], x.size)
    np.testing.assert_array_equal(y, want)


@pytest.mark.parametrize("source", ["bool", "int32", "uint8", "int64", "float64"])
def test_casts(source: str) -> None:
    """A cast to float32 is NumPy's."""
    x = np.arange(100).astype(source)
    y = np.empty(x.shape, np.float32)
    call(of_each(lambda t: cast(t, "float32"), source), [x, y], x.size)
    np.testing.assert_array_equal(y, x.astype(np.float32))


def reduced(combine: str, start: float) -> Kernel:
    """y[row] = all of x[row], combined."""
    x, y = Buffer("x", "float32"), Buffer("y", "float32", written=True)
    row, i, width = index("row"), index("i"), parameter("width")
    total = Accumulator(combine, "float32", start)  # type: ignore[arg-type]
    update = Update(total, load(x, row * width + i).value)
    lanes = Loop("lane", i.value, constant(0, "int64").value, width.value, (update,),
                 (total,))  # fmt: skip
    rows = Loop("grid", row.value, FIRST, LAST,
                (lanes, Store(y, row.value, total.value)))  # fmt: skip
    return Kernel("reduced", (x, y), (("width", "int64"),), (rows,))


@pytest.mark.parametrize("width", [0, 1, 15, 16, 31, 33, 64, 100])
def test_lanes_are_gathered(width: int) -> None:
    """Sums and maxima of rows count every element once, the rest of a row too."""
    x = np.arange(3 * width, dtype=np.float32).reshape(3, width) % 97
    for combine, start, expected in (
        ("add", 0.0, x.sum(1)),
        ("maximum", -np.inf, x.max(1, initial=-np.inf)),
    ):
        memory, y = guarded(3, "float32")
        call(reduced(combine, start), [x, y], 3, width)
        np.testing.assert_array_equal(y, expected)
        assert untouched(memory, y)


def test_a_kernel_is_printed_to_be_read() -> None:
    """A listing has the loops, and names what is used twice."""
    kernel = of_each(lambda x: (x + 1.0) * (x + 2.0), "float32")
    assert str(kernel).splitlines() == [
        "each(x: float32*, y: float32*):",
        "  lane v0 in first..last:",
        "    v1 = x[v0]",
        "    y[v0] = mul.float32(add.float32(v1, 1.0), add.float32(v1, 2.0))",
    ]


def test_what_a_loop_changes_is_computed_in_it() -> None:
    """Memory that a loop writes, and sums that it carries, are read at each step."""
    y, out, i, j = (
        Buffer("y", "int64", True),
        Buffer("out", "int64", True),
        *map(index, "ij"),
    )
    zero = constant(0, "int64")
    total = Accumulator("add", "int64", 0)
    count = Store(y, zero.value, (load(y, zero) + 2).value)
    first = Loop("seq", i.value, zero.value, LAST, (Update(total, i.value),), (total,))
    run = (
        count, Update(total, constant(3, "int64").value),
        Store(out, j.value, (Term(total.value) * 10).value),
    )  # fmt: skip
    again = Loop("seq", j.value, zero.value, LAST, run, (total,))
    kernel = Kernel("counts", (y, out), (), (first, again))
    counted, sums = np.zeros(1, np.int64), np.zeros(4, np.int64)
    call(kernel, [counted, sums], 4)
    assert counted.tolist() == [8]
    assert sums.tolist() == [30, 60, 90, 120]


def test_what_a_loop_needs_is_computed_before_it() -> None:
    """Arithmetic on parameters and outer indices is written once, not in each step."""
    x, y, i, j = Buffer("x", "int64"), Buffer("y", "int64", True), *map(index, "ij")
    n = parameter("n")
    at = i * n + j
    inner = Loop("seq", j.value, constant(0, "int64").value, n.value,
                 (Store(y, at.value, load(x, at).value),))  # fmt: skip
    grid = Loop("grid", i.value, FIRST, LAST, (inner,))
    text = render(Kernel("rows", (x, y), (("n", "int64"),), (grid,)), target())
    outside, _, inside = text.rpartition("phi i64")
    assert "mul i64" in outside
    assert "mul i64" not in inside
