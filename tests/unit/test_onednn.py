"""Primitives of oneDNN: convolutions of any sizes, by any number of threads."""

from __future__ import annotations

import gc
import platform
import threading
import weakref
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
from llvmlite import binding
from tests.support import child

import dovetail
from dovetail.dtypes import bfloat16
from dovetail.xp import conv, pool, pool_mean
from dovetail.xp.windows import Windows
from dovetail_cpu.onednn import kernels, why_not

Array = np.ndarray[Any, Any]

needs_onednn = pytest.mark.skipif(why_not() is not None, reason=f"oneDNN: {why_not()}")
# By its documentation; elsewhere it has but a slow reference, which is not used.
_X86 = platform.machine().lower() in ("x86_64", "amd64")
_HAS = binding.get_host_cpu_features()
needs_bfloat16 = pytest.mark.skipif(
    _X86 and not (_HAS.get("avx512bw") or _HAS.get("avxneconvert")),
    reason="oneDNN has bfloat16 with AVX-512 or AVX-NE-CONVERT alone",
)

# x, w, stride, padding, dilation, groups
CALLS: Any = {
    "an odd batch": ((13, 5, 9, 8), (7, 5, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    "one image": ((1, 16, 10, 12), (24, 16, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    "strides and dilation": ((4, 8, 15, 14), (6, 8, 3, 2), (2, 3), (2, 1), (2, 3), 1),
    "groups": ((3, 12, 9, 9), (18, 4, 3, 3), (1, 1), (1, 1), (1, 1), 3),
    "depthwise": ((3, 20, 9, 9), (20, 1, 3, 3), (1, 1), (1, 1), (1, 1), 20),
    "points": ((3, 32, 9, 9), (16, 32, 1, 1), (1, 1), (0, 0), (1, 1), 1),
    "lines": ((5, 6, 40), (9, 6, 5), (2,), (2,), (1,), 1),
    "volumes": ((2, 3, 6, 7, 5), (4, 3, 2, 3, 2), (1, 2, 1), (1, 1, 0), (1, 1, 1), 1),
}  # fmt: skip
OPS = ("convolution", "convolution_transpose", "convolution_weight")


def drawn(*shape: int, seed: int = 5) -> Array:
    """Numbers of both signs."""
    return np.random.default_rng(seed).standard_normal(shape).astype("float32")


def arguments(op: str, call: Any) -> tuple[list[Any], dict[str, Any]]:
    """The arrays and attributes of an op for one convolution."""
    x_shape, w_shape, *steps, groups = call
    names = ("stride", "padding", "dilation")
    attributes = dict(zip(names, steps, strict=True)) | {"groups": groups}
    places = Windows(w_shape[2:], *steps).places(x_shape[2:])
    x, w = drawn(*x_shape), drawn(*w_shape, seed=6)
    dy = drawn(x_shape[0], w_shape[0], *places, seed=7)
    if op == "convolution":
        return [x, w, drawn(w_shape[0])], attributes
    if op == "convolution_transpose":
        return [dy, w], {"size": x_shape[2:], **attributes}
    return [x, dy], {"kernel": w_shape[2:], **attributes}


def served(op: str, arrays: list[Any], attributes: dict[str, Any]) -> Array:
    """What oneDNN gives, which has to serve such a call."""
    found = kernels.SERVES[op][1](0, *arrays, **attributes)
    assert found is not None
    y = found(*arrays)
    assert y is not None
    return y


NUMPY: dict[str, Any] = {
    "convolution": partial(conv._convolution, np),
    "convolution_transpose": partial(conv._transpose, np),
    "convolution_weight": partial(conv._weight, np),
}


def truth(op: str, arrays: list[Any], attributes: dict[str, Any]) -> Array:
    """What NumPy's kernels give in double precision."""
    found: Array = NUMPY[op](*[a.astype("float64") for a in arrays], **attributes)
    return found


@pytest.fixture
def threads() -> Iterator[None]:
    """The number of threads is afterwards what it was."""
    before = dovetail.get_num_threads()
    yield
    dovetail.set_num_threads(before)


@needs_onednn
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("op", OPS)
def test_convolutions_are_right(op: str, call: Any) -> None:
    """All three maps agree with double precision, for each kind of windows."""
    arrays, attributes = arguments(op, call)
    want = truth(op, arrays, attributes)
    got = served(op, arrays, attributes)
    assert got.flags.c_contiguous
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5 * np.abs(want).max())


@needs_onednn
@needs_bfloat16
@pytest.mark.parametrize("op", OPS)
def test_convolutions_of_bfloat16_round_once(op: str) -> None:
    """Sums of bfloat16 are those of float32, rounded to the nearest."""
    arrays, attributes = arguments(op, CALLS["an odd batch"])
    arrays = [a.astype(bfloat16.numpy) for a in arrays]
    got = served(op, arrays, attributes)
    want = truth(op, arrays, attributes)
    assert got.dtype == bfloat16.numpy
    np.testing.assert_allclose(got.astype("f8"), want, rtol=2**-8, atol=1e-4)


# left, right, whether each lies by columns
PRODUCTS: Any = {
    "many rows": ((300, 40), (40, 70), False, False),
    "many columns": ((5, 40), (40, 300), False, True),
    "rows that no part divides": ((67, 33), (33, 19), True, True),
    "a batch": ((6, 20, 30), (6, 30, 25), False, True),
    "a batch and one matrix": ((4, 3, 20, 30), (30, 25), False, False),
    "one row": ((1, 64), (64, 128), False, False),
}


def lying(shape: Any, by_columns: bool, seed: int) -> Array:
    """Matrices of bfloat16, each by rows or by columns."""
    if not by_columns:
        return drawn(*shape, seed=seed).astype(bfloat16.numpy)
    turned = drawn(*shape[:-2], shape[-1], shape[-2], seed=seed)
    return np.swapaxes(turned.astype(bfloat16.numpy), -1, -2)


@needs_onednn
@needs_bfloat16
@pytest.mark.parametrize("call", PRODUCTS.values(), ids=PRODUCTS)
def test_products_of_bfloat16_round_once(call: Any) -> None:
    """Products are summed in float32 and rounded to the nearest, however they lie."""
    left, right, *by_columns = call
    a, b = lying(left, by_columns[0], 1), lying(right, by_columns[1], 2)
    want = np.matmul(a.astype("f8"), b.astype("f8"))
    got = served("matmul", [a, b], {})
    assert got.dtype == bfloat16.numpy
    np.testing.assert_allclose(got.astype("f8"), want, rtol=2**-8, atol=1e-5)


@needs_onednn
@pytest.mark.parametrize("by_columns", [False, True])
def test_batches_of_small_matrices(by_columns: bool) -> None:
    """Products of many matrices of float32 are served, and agree with double."""
    a, b = drawn(40, 3, 17, 20), drawn(40, 3, 20, 24)
    if by_columns:
        b = np.ascontiguousarray(b.swapaxes(-1, -2)).swapaxes(-1, -2)
    product = kernels.product()
    assert product is not None
    y = product(a, b, None)
    np.testing.assert_allclose(y, a.astype("f8") @ b, rtol=1e-5, atol=1e-5)
    ours = dovetail.matmul(dovetail.from_numpy(a), dovetail.from_numpy(b))
    assert np.array_equal(ours.numpy(), y)


@needs_onednn
@pytest.mark.parametrize("sizes", [(70, 190, 257), (331, 65, 129), (1030, 40, 40)])
@pytest.mark.parametrize("with_row", [False, True])
@pytest.mark.parametrize("by_columns", [False, True])
def test_large_products_are_shared(
    sizes: tuple[int, int, int], with_row: bool, by_columns: bool
) -> None:
    """A large product is cut into parts that agree with double, a row added or not."""
    rows, inner, columns = sizes
    a, row = drawn(rows, inner), drawn(columns) if with_row else None
    b = drawn(columns, inner).T if by_columns else drawn(inner, columns)
    product = kernels.product()
    assert product is not None
    y = product(a, b, row)
    want = a.astype("f8") @ b + (0 if row is None else row)
    np.testing.assert_allclose(y, want, rtol=1e-5, atol=1e-4)
    if row is not None:
        x, w, bias = map(dovetail.from_numpy, (a, np.ascontiguousarray(b.T), row))
        linear = dovetail.nn.functional.linear(x, w, bias)
        assert linear.shape == y.shape
        np.testing.assert_allclose(linear.numpy(), want, rtol=1e-5, atol=1e-4)


@needs_onednn
@pytest.mark.usefixtures("threads")
def test_threads_change_no_bit_of_large_products() -> None:
    """One, two and three threads give the same bits of a product and a row."""
    x, w, row = drawn(203, 190), drawn(257, 190), drawn(257)
    found = []
    for count in (1, 2, 3):
        dovetail.set_num_threads(count)
        y = dovetail.nn.functional.linear(*map(dovetail.from_numpy, (x, w, row)))
        found.append(y.numpy().tobytes())
    assert found[0] == found[1] == found[2]


@needs_onednn
@needs_bfloat16
def test_a_linear_layer_of_bfloat16_rounds_once() -> None:
    """The bias is added before the sum is rounded."""
    x, w = lying((2, 70, 40), False, 1), lying((30, 40), False, 2)
    b = drawn(30).astype(bfloat16.numpy)
    want = x.astype("f8") @ w.astype("f8").T + b.astype("f8")
    got = served("linear", [x, w, b], {}).astype("f8")
    np.testing.assert_allclose(got, want, rtol=2**-8, atol=1e-5)


@needs_onednn
@pytest.mark.parametrize("op", OPS)
def test_operands_lie_in_any_way(op: str) -> None:
    """What has gaps, a bias too, gives what the same without gaps does."""
    arrays, attributes = arguments(op, CALLS["an odd batch"])
    apart = [np.repeat(a, 2, -1)[..., ::2] for a in arrays]
    assert not any(a.flags.c_contiguous for a in apart)
    want = served(op, arrays, attributes)
    assert served(op, apart, attributes).tobytes() == want.tobytes()


@needs_onednn
@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("op", OPS)
def test_threads_change_no_bit(op: str) -> None:
    """One, two and three threads give the same bits."""
    arrays, attributes = arguments(op, CALLS["an odd batch"])
    found = []
    for count in (1, 2, 3):
        dovetail.set_num_threads(count)
        found.append(served(op, arrays, attributes).tobytes())
    assert found[0] == found[1] == found[2]


@needs_onednn
def test_threads_call_one_convolution_together() -> None:
    """Threads that share a primitive do not touch each other's memory."""
    call = ((16, 16, 40, 40), (16, 16, 3, 3), (1, 1), (1, 1), (1, 1), 1)
    (x, w, b), attributes = arguments("convolution", call)
    serves = kernels.SERVES["convolution"][1](0, x, w, b, **attributes)
    assert serves is not None
    inputs = [drawn(*x.shape, seed=seed) for seed in range(4)]
    want = [serves(x, w, b).tobytes() for x in inputs]
    wrong = []

    def work(number: int) -> None:
        for _ in range(20):
            if serves(inputs[number], w, b).tobytes() != want[number]:
                wrong.append(number)

    started = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()
    assert wrong == []


# x, kernel, stride, padding
POOLS: Any = {
    "side by side": ((13, 5, 9, 8), (2, 2), (2, 2), (0, 0)),
    "overlapping": ((3, 20, 9, 8), (3, 3), (2, 1), (1, 1)),
    "lines": ((3, 5, 30), (3,), (2,), (1,)),
    "volumes": ((2, 3, 6, 7, 5), (2, 3, 2), (1, 2, 1), (1, 1, 0)),
}


@needs_onednn
@pytest.mark.parametrize("call", POOLS.values(), ids=POOLS)
def test_maxima_are_exact(call: Any) -> None:
    """Maxima of windows are NumPy's, and so is where gradients go."""
    shape, kernel, stride, padding = call
    windows = Windows(kernel, stride, padding, (1,) * len(kernel))
    attributes = windows._asdict()
    attributes["kernel_size"] = attributes.pop("kernel")
    x = np.round(drawn(*shape) * 2)  # some are equal
    y = served("max_pool", [x], attributes)
    assert np.array_equal(y, pool._max_pool(np, windows, x))
    dy = drawn(*y.shape)
    want = pool._max_pool_backward(np, windows, dy, x)
    if kernel != (2, 2):
        dx = served("max_pool_backward", [dy, x], attributes)
        np.testing.assert_allclose(dx, want, rtol=1e-6, atol=1e-6)


@needs_onednn
def test_the_least_number_is_greater_than_padding() -> None:
    """Gradients reach an element that is as low as floats go, beside padding."""
    x = dovetail.full((64, 8, 9, 9), float(np.finfo(np.float32).min))
    x.requires_grad_()
    dovetail.nn.functional.max_pool2d(x, 3, 2, 1).sum().backward()
    assert x.grad is not None
    assert x.grad.sum().item() == 64 * 8 * 25


@needs_onednn
@pytest.mark.parametrize("call", POOLS.values(), ids=POOLS)
@pytest.mark.parametrize("include", [True, False])
def test_means_are_right(call: Any, include: bool) -> None:
    """Means of windows agree with double precision, and so do their gradients."""
    x_shape, *steps = call
    names = ("kernel_size", "stride", "padding")
    attributes = dict(zip(names, steps, strict=True)) | {
        "ceil_mode": False, "count_include_pad": include, "divisor_override": None,
    }  # fmt: skip
    x = drawn(*x_shape)
    y = served("avg_pool", [x], attributes)
    want = pool_mean._avg_pool(np, x.astype("f8"), **attributes)
    np.testing.assert_allclose(y, want, rtol=1e-5, atol=1e-6)
    attributes["size"] = x_shape[2:]
    dx = served("avg_pool_backward", [y], attributes)
    want = pool_mean._avg_pool_backward(np, y.astype("f8"), **attributes)
    np.testing.assert_allclose(dx, want, rtol=1e-5, atol=1e-6)


@needs_onednn
@pytest.mark.parametrize("value", [np.nan, -np.inf])
def test_maxima_that_are_not_finite(value: float) -> None:
    """NaN wins in its window, and nothing is greater than minus infinity alone."""
    x = drawn(16, 8, 32, 32)
    x[1, 2, :4, :4] = value
    y = dovetail.nn.functional.max_pool2d(dovetail.from_numpy(x), 2).numpy()
    assert np.array_equal(y[1, 2, :2, :2], np.full((2, 2), value), equal_nan=True)


@needs_onednn
@pytest.mark.parametrize("op", ["convolution", "convolution_weight"])
@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_padding_meets_what_is_not_finite(op: str, value: float) -> None:
    """Zeros around an input times what is not finite are NaN, as everywhere."""
    call = ((1, 1, 4, 4), (1, 1, 3, 3), (1, 1), (1, 1), (1, 1), 1)
    arrays, attributes = arguments(op, call)
    arrays[1][0, 0, 0, 0] = value
    serves = kernels.BySize(
        kernels.SERVES[op][1], partial(NUMPY[op], **attributes), attributes, 0
    )
    with np.errstate(invalid="ignore"):
        got, want = serves(*arrays), truth(op, arrays, attributes)
    np.testing.assert_allclose(got, want, rtol=1e-4)


@needs_onednn
def test_large_calls_are_served(monkeypatch: pytest.MonkeyPatch) -> None:
    """From the least work on a call of the op runs a primitive, and below it none."""
    from dovetail_cpu.onednn.programs import Program

    ran = []
    run = Program.run
    monkeypatch.setattr(
        Program, "run", lambda self, *arrays: ran.append(self) or run(self, *arrays)
    )
    w = dovetail.from_numpy(drawn(16, 8, 3, 3))
    dovetail.conv2d(dovetail.from_numpy(drawn(1, 8, 4, 4)), w)
    assert ran == []
    dovetail.conv2d(dovetail.from_numpy(drawn(4, 8, 16, 16)), w)
    assert ran


@needs_onednn
def test_sizes_that_it_does_not_know_are_left_to_others() -> None:
    """A result larger than any window reaches is computed all the same."""
    x = dovetail.from_numpy(drawn(2, 8, 16, 16))
    w = dovetail.from_numpy(drawn(8, 8, 3, 3))
    y = dovetail.nn.functional.conv_transpose2d(
        x, w, stride=2, dilation=5, output_padding=4
    )
    assert y.shape == (2, 8, 45, 45)
    inner = dovetail.nn.functional.conv_transpose2d(x, w, stride=2, dilation=5)
    np.testing.assert_allclose(y[:, :, :41, :41].numpy(), inner.numpy(), atol=1e-4)


@needs_onednn
def test_primitives_go_with_the_last_who_needs_them() -> None:
    """What was made for some sizes is given back at once when it is let go of."""
    (x, w, b), attributes = arguments("convolution", CALLS["groups"])
    serves = kernels.SERVES["convolution"][1](0, x, w, b, **attributes)
    assert serves is not None
    serves(x, w, b)
    primitive = weakref.ref(serves.runs[0][2].steps[0][0])
    gc.disable()
    try:
        del serves
        assert primitive() is None
    finally:
        gc.enable()


FORKED = """
import os, warnings
warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads
import dovetail as dt
x, w = dt.rand(8, 8, 32, 32), dt.rand(16, 8, 3, 3)
want = dt.conv2d(x, w).numpy().tobytes()
if os.fork() == 0:
    same = dt.conv2d(x, w).numpy().tobytes() == want
    new = dt.conv2d(x, dt.rand(8, 8, 3, 3)).shape == (8, 8, 30, 30)
    os._exit(0 if same and new else 1)
print(os.waitstatus_to_exitcode(os.wait()[1]))
"""


@needs_onednn
def test_a_forked_child_goes_on() -> None:
    """What the parent made serves the child, which makes primitives of its own too."""
    assert child.printed(FORKED) == "0"


def test_switch() -> None:
    """With DOVETAIL_ONEDNN=off other kernels serve, and the device says why."""
    program = (
        "import dovetail_cpu.backend as b; print(b.CpuBackend().devices()[0].name)"
    )
    done = child.python("-c", program, DOVETAIL_ONEDNN="off")
    assert "no oneDNN: DOVETAIL_ONEDNN=off switches it off" in done.stdout


HIDDEN = """
import importlib.metadata as metadata
real = metadata.files
def files(name):
    if name == "onednn-cpu-gomp":
        raise metadata.PackageNotFoundError(name)
    return real(name)
metadata.files = files
import dovetail as dt
y = dt.conv2d(dt.ones(8, 8, 32, 32), dt.ones(16, 8, 3, 3))
from dovetail_cpu.onednn import why_not
print(float(y.amax()), why_not())
"""


def test_without_the_wheel() -> None:
    """Where the library is not installed, NumPy's kernels serve."""
    assert child.printed(HIDDEN) == "72.0 onednn-cpu-gomp is not installed"


BROKEN = """
import pathlib
from dovetail_cpu.onednn import library
library._path = lambda: pathlib.Path(library.__file__)
library._not_here = lambda: None
import dovetail as dt
y = dt.conv2d(dt.ones(8, 8, 32, 32), dt.ones(16, 8, 3, 3))
print(float(y.amax()), library.why_not()[:19])
"""


def test_a_library_that_cannot_be_loaded() -> None:
    """Where the file is no library, NumPy's kernels serve, and the reason is kept."""
    assert child.printed(BROKEN) == "72.0 it cannot be loaded"


def test_the_library_is_the_one_of_its_wheel(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    """Another wheel may own the short names, which both have, but not the full one."""
    from dovetail_cpu.onednn import library

    class Named:
        def __init__(self, name: str) -> None:
            self.name = name
            (tmp_path / name).touch()

        def locate(self) -> Any:
            return tmp_path / self.name

    short = [Named("libdnnl.so"), Named("libdnnl.so.3")]
    full = Named("libdnnl.so.3.2")
    monkeypatch.setattr("importlib.metadata.files", lambda wheel: [*short, full])
    found = library._path.__wrapped__()
    assert found is not None
    assert found.name == full.name
