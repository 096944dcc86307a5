"""Large products are cut, and the threads of the pool share the pieces."""

from __future__ import annotations

import os
import sys
from typing import Any

import numpy as np
import pytest
from tests.support import child
from tests.support.generated import guarded, untouched

import dovetail as dt
from dovetail.codegen import products
from dovetail.codegen.runtime.blas import blas
from dovetail_cpu.products import LEAST

Array = np.ndarray[Any, Any]

if blas() is None:
    pytest.skip("NumPy has no OpenBLAS here", allow_module_level=True)

SHAPES: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "wide": ((64, 300), (300, 260)),
    "tall": ((301, 257), (257, 63)),
    "small": ((3, 3), (3, 3)),
    "a batch": ((9, 33, 40), (9, 40, 31)),
    "one for a batch": ((40, 33), (5, 33, 70)),
    "two batches that meet": ((3, 1, 100, 41), (2, 41, 90)),
    "a batch of one": ((1, 130, 41), (41, 90)),
}


def drawn(shape: tuple[int, ...], dtype: str, turned: bool) -> Array:
    """Numbers of both signs, in matrices that lie by rows or by columns."""
    x = np.random.default_rng(1).standard_normal(shape).astype(dtype)
    return np.ascontiguousarray(x.swapaxes(-1, -2)).swapaxes(-1, -2) if turned else x


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", SHAPES)
def test_products_are_those_of_float64(shape: str, dtype: str) -> None:
    """Whatever the shapes, batches and layouts, and with gaps between rows."""
    for turns in range(4):
        a = drawn(SHAPES[shape][0], dtype, turned=bool(turns & 1))
        b = drawn(SHAPES[shape][1], dtype, turned=bool(turns & 2))
        want = a.astype(np.longdouble) @ b.astype(np.longdouble)
        near = a.shape[-1] * 4 * float(np.finfo(dtype).eps)
        for left, right in ((a, b), (a[..., 1:, :], b[..., :, 1:])):
            got = products.matmul(left, right)
            assert got is not None
            assert got.flags.c_contiguous
            expected = want[..., -left.shape[-2] :, -right.shape[-1] :]
            np.testing.assert_allclose(got, expected, rtol=near, atol=near)


def test_the_number_of_threads_changes_no_bit() -> None:
    """Pieces are the same for one thread and for three."""
    before = dt.get_num_threads()
    found = []
    a, b = drawn((130, 900), "float32", False), drawn((900, 517), "float32", True)
    try:
        for threads in (1, 2, 3):
            dt.set_num_threads(threads)
            found.append(products.matmul(a, b))
    finally:
        dt.set_num_threads(before)
    assert all(np.array_equal(found[0], y) for y in found[1:])  # type: ignore[arg-type]


@pytest.mark.parametrize(("m", "n"), [(70, 200), (333, 65), (64, 64), (129, 1000)])
def test_nothing_is_written_beside_the_result(m: int, n: int) -> None:
    """A result that is given is filled, and its surroundings stay as they are."""
    a, b = drawn((m, 90), "float32", False), drawn((90, n), "float32", False)
    memory, inner = guarded(m * n, "float32")
    out = inner.reshape(m, n)
    assert products.matmul(a, b, out) is out
    np.testing.assert_allclose(out, a @ b, rtol=1e-4, atol=1e-4)
    assert untouched(memory, inner)


def test_a_result_that_is_given_changes_no_bit() -> None:
    """Nor where the transposed product is computed, for rows times turned columns."""
    for m in (16, 64, 128, 129):
        a, b = drawn((m, 300), "float32", False), drawn((300, 260), "float32", True)
        out = np.empty((m, 260), np.float32)
        assert products.matmul(a, b, out) is out
        np.testing.assert_array_equal(out, products.matmul(a, b))


def test_a_result_within_an_operand_is_left_to_numpy() -> None:
    """NumPy makes a copy first, which BLAS would not."""
    a = drawn((128, 128), "float32", False)
    assert products.matmul(a, a, a) is None
    turned = np.empty((128, 128), np.float32).T
    assert products.matmul(a, a, turned) is None


def test_modules_multiply_by_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """`linear`, `matmul` and their gradients come here when they are large."""
    asked = []
    whole = products.matmul
    monkeypatch.setattr(products, "matmul", lambda *a: asked.append(a) or whole(*a))
    x = dt.rand(128, 256, dtype=dt.float64, requires_grad=True)  # oneDNN has float32
    w = dt.rand(128, 256, dtype=dt.float64, requires_grad=True)
    dt.nn.functional.linear(x, w).sum().backward()
    assert len(asked) == 3
    small = dt.rand(64, 32)
    small @ small.T
    assert len(asked) == 3
    with pytest.raises(dt.errors.ShapeError):
        x @ dt.rand(300, 400, dtype=dt.float64)


ALONE = f"""
import sys
import dovetail, numpy
from dovetail.codegen.runtime.blas import blas
before = blas().get_threads()
a = dovetail.ones(64, 64)
(a @ a).sum().item()
assert "llvmlite" not in sys.modules
print(before, blas().get_threads())
b = dovetail.ones(1024, {LEAST // 1024 // 1024 * 1024})
print((b.T @ b)[0, 0].item())
assert ("llvmlite" in sys.modules) == KERNELS
"""


@pytest.mark.parametrize("switch", ["", "off"])
def test_blas_has_one_thread_where_there_is_a_pool(switch: str) -> None:
    """Loading the CPU sets it, small products compile nothing, and off means off."""
    program = ALONE.replace("KERNELS", str(not switch))
    options = {"DOVETAIL_KERNELS": switch, "OPENBLAS_NUM_THREADS": "2"}
    done = child.run(sys.executable, "-c", program, **options)
    assert done.stdout.split() == ["2", "2" if switch else "1", "1024.0"]


FORKS = """
import os
import dovetail
a = dovetail.rand(256, 300)
want = a @ a.T
pid = os.fork()
same = dovetail.equal(a @ a.T, want)
if not pid:
    os._exit(0 if same else 1)
assert os.waitpid(pid, 0)[1] == 0 and same
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_child_goes_on() -> None:
    """A forked child multiplies with threads of its own."""
    child.run(sys.executable, "-c", FORKS)
