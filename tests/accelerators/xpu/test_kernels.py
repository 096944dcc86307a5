"""Kernels of the SYCL backend give what the CPU's give."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dovetail as dt
import dovetail.nn.functional as F

pytestmark = pytest.mark.usefixtures("xpu")

FORMATS = (dt.float32, dt.float64, dt.float16, dt.bfloat16)


def on_both(make: Callable[[str], Any]) -> tuple[Any, Any]:
    """What a function gives for each device, as NumPy's float64."""
    return tuple(make(d).detach().double().cpu().numpy() for d in ("cpu", "xpu"))  # type: ignore[return-value]


def numbers(*shape: int) -> Any:
    """Some numbers, always the same."""
    return np.random.default_rng(1).normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("dtype", FORMATS, ids=str)
@pytest.mark.parametrize("skipped", [0, 1, 3])
def test_random_numbers_are_those_of_the_cpu(dtype: dt.dtype, skipped: int) -> None:
    """Wherever in a block of words a draw begins: uniform, normal, dropout."""

    def drawn(device: str) -> Any:
        dt.manual_seed(5)
        dt.rand(skipped, device=device)
        place: dict[str, Any] = {"dtype": dtype, "device": device}
        parts = [dt.rand(100, **place), dt.randn(101, **place)]
        return dt.cat([*parts, F.dropout(dt.ones(99, **place), 0.3)])

    found, expected = on_both(drawn)
    assert np.array_equal(found, expected)


@pytest.mark.parametrize(
    ("spatial", "kernel", "groups", "options"),
    [
        ((9, 8), (3, 2), 1, {"padding": 1}),
        ((9, 8), (3, 2), 2, {"stride": 2, "padding": 1, "dilation": 2}),
        ((9,), (3,), 4, {"stride": 3}),
        ((5, 4, 3), (3, 2, 1), 1, {"padding": 1, "stride": 2}),
    ],
)
def test_convolutions_and_their_gradients(
    spatial: Any, kernel: Any, groups: int, options: Any
) -> None:
    """In one to three dims, with groups, strides, padding and dilation."""
    convolve = (F.conv1d, F.conv2d, F.conv3d)[len(spatial) - 1]
    x, w, b = numbers(3, 4, *spatial), numbers(8, 4 // groups, *kernel), numbers(8)

    def all_four(device: str) -> Any:
        given = [dt.tensor(a, device=device, requires_grad=True) for a in (x, w, b)]
        y = convolve(*given, groups=groups, **options)
        (y * y).sum().backward()
        return dt.cat([y.flatten(), *[a.grad.flatten() for a in given]])

    found, expected = on_both(all_four)
    assert np.allclose(found, expected, rtol=1e-4, atol=1e-3)


def test_large_windows_are_laid_out_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many images fit into what may be laid out at a time."""
    from dovetail_xpu import convolution

    x, w = numbers(5, 2, 6, 6), numbers(3, 2, 3, 3)

    def all_three(device: str) -> Any:
        given = [dt.tensor(a, device=device, requires_grad=True) for a in (x, w)]
        y = F.conv2d(*given, padding=1)
        (y * y).sum().backward()
        return dt.cat([y.flatten(), *[a.grad.flatten() for a in given]])

    monkeypatch.setattr(convolution, "_MOST", 2 * 4 * 18 * 36)
    found, expected = on_both(all_three)
    assert np.allclose(found, expected, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("dtype", FORMATS, ids=str)
def test_products_lie_in_any_way(dtype: dt.dtype) -> None:
    """Operands that are transposed, repeated and strided, in each format."""
    x, y = numbers(3, 20, 34), numbers(34, 18)

    def products(device: str) -> Any:
        a = dt.tensor(x, device=device).to(dtype)
        b = dt.tensor(y, device=device).to(dtype)
        found = [a @ b, b.t() @ a.transpose(1, 2), a[:, ::2, ::2] @ b[::2]]
        found.append(a[:1].expand(4, 20, 34) @ b.expand(4, 34, 18))
        found.append(b.unfold(0, 20, 1) @ a[:1].expand(15, 20, 34))  # they overlap
        return dt.cat([f.flatten() for f in found])

    found, expected = on_both(products)
    assert np.allclose(
        found, expected, rtol=2e-2, atol=0.1 if dtype.itemsize == 2 else 1e-4
    )


@pytest.mark.parametrize("amsgrad", [False, True])
def test_optimizers_step_as_on_the_cpu(amsgrad: bool) -> None:
    """A launch a parameter, which lie in any way."""

    def stepped(device: str) -> Any:
        x = dt.tensor(numbers(6, 5), device=device).t().clone().requires_grad_()
        y = dt.tensor(numbers(7), device=device).requires_grad_()
        made = [
            dt.optim.AdamW([x, y], lr=0.1, amsgrad=amsgrad),
            dt.optim.SGD([x, y], lr=0.1, momentum=0.9),
        ]
        for optimizer in made * 2:
            optimizer.zero_grad()
            ((x**3).sum() + (y**2).sum()).backward()
            optimizer.step()
        return dt.cat([x.flatten(), y])

    found, expected = on_both(stepped)
    assert np.allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_wide_numbers_are_rounded_once() -> None:
    """From 64 bits to 16 by way of 32: what is just above a tie goes up."""
    tie = 1 + 2.0**-8
    x = dt.tensor([tie, tie + 2.0**-40, -tie - 2.0**-40], dtype=dt.float64)
    found = x.to("xpu").to(dt.bfloat16).double().tolist()
    assert found == [1.0, 1 + 2.0**-7, -1 - 2.0**-7]


NORMS: dict[str, Callable[[Any], Any]] = {
    "softmax": lambda x: x.softmax(-1),
    "softmax of the first dim": lambda x: x.softmax(0),
    "log_softmax of a dim amid": lambda x: x.log_softmax(1),
    "layer_norm": lambda x: F.layer_norm(x, x.shape[2:]),
    "batch_norm": lambda x: F.batch_norm(x, None, None, training=True),
    "group_norm": lambda x: F.group_norm(x, 3),
    "rms_norm": lambda x: F.rms_norm(x, x.shape[-1:]),
    "of what lies transposed": lambda x: F.layer_norm(x.permute(3, 1, 0, 2), (7,)),
}


@pytest.mark.parametrize("norm", NORMS.values(), ids=NORMS)
def test_rows_are_reduced_as_on_the_cpu(norm: Any) -> None:
    """Softmax and norms, with gradients, of rows that are short and long."""

    def both(device: str) -> Any:
        found = []
        for last in (5, 300):
            x = dt.tensor(numbers(4, 6, 7, last), device=device, requires_grad=True)
            y = norm(x)
            (y * y * y.exp()).sum().backward()
            found += [y.flatten(), x.grad.flatten()]
        return dt.cat(found)

    found, expected = on_both(both)
    assert np.allclose(found, expected, rtol=1e-3, atol=1e-4)


def test_few_long_rows_are_left_to_the_body() -> None:
    """One row of many elements would keep one block of threads busy."""
    x = numbers(1 << 18)
    found, expected = on_both(lambda d: dt.tensor(x, device=d).softmax(0) * 1e5)
    assert np.allclose(found, expected, rtol=1e-4)


@pytest.mark.parametrize("dtype", FORMATS, ids=str)
@pytest.mark.parametrize(
    ("spatial", "kernel", "options"),
    [
        ((8, 8), 2, {}),
        ((9, 7), 3, {"stride": 2, "padding": 1}),
        ((11,), 3, {"stride": 1, "dilation": 2, "padding": 1}),
        ((5, 6, 4), 2, {"stride": 3, "ceil_mode": True}),
    ],
)
def test_pooling_finds_the_first_maximum(
    spatial: Any, kernel: int, options: Any, dtype: dt.dtype
) -> None:
    """Of ties the first, of NaNs the last, of padding none; gradients go there."""
    pool = (F.max_pool1d, F.max_pool2d, F.max_pool3d)[len(spatial) - 1]
    x = np.round(numbers(2, 3, *spatial))
    x[0, 0].flat[::5] = np.nan
    x[1, 1] = -np.inf

    def pooled(device: str) -> Any:
        given = dt.tensor(x, device=device).to(dtype).requires_grad_()
        y = pool(given, kernel, **options)
        y.backward(dt.ones_like(y))
        return dt.cat([y.flatten(), given.grad.flatten()])

    found, expected = on_both(pooled)
    assert np.array_equal(found, expected, equal_nan=True)


@pytest.mark.parametrize("dtype", [dt.float16, dt.bfloat16, dt.float32])
def test_infinite_numbers_become_the_greatest_of_their_format(dtype: Any) -> None:
    """Not of the format that 16 bits are computed in, which would round to infinity."""
    x = dt.tensor([np.inf, -np.inf, np.nan], dtype=dtype, device="xpu")
    most = dt.finfo(dtype).max
    assert x.nan_to_num().tolist() == [most, -most, 0]
