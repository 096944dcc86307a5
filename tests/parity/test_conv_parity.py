"""Convolution, pooling and windows beside torch: values, gradients, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from tests.support.seeds import restart

import dovetail as dt
from dovetail.nn import functional as F

RNG = np.random.default_rng(7)


@pytest.fixture(autouse=True)
def _own_values(request: pytest.FixtureRequest) -> None:
    """Each case draws by its own name, whichever others run."""
    restart(RNG, request.node.name)


def _array(*shape: int, dtype: str = "float64") -> np.ndarray[Any, Any]:
    if dtype.startswith("int"):
        return RNG.integers(-9, 9, shape).astype(dtype)
    values = RNG.standard_normal(shape)
    if dtype.startswith("complex"):
        values = values + 1j * RNG.standard_normal(shape)
    return values.astype(dtype)


def _outputs(result: Any) -> list[Any]:
    return list(result) if isinstance(result, tuple | list) else [result]


def _both(
    ours: Any, theirs: Any, arrays: list[Any], *, rtol: float = 1e-9, **options: Any
) -> None:
    """Equal results and gradients of the first, in dtype, shape and value."""
    sides = []
    for library, function in ((dt, ours), (torch, theirs)):
        leaves = [None if a is None else library.tensor(a) for a in arrays]
        for leaf in leaves:
            if leaf is not None and (leaf.is_floating_point() or leaf.is_complex()):
                leaf.requires_grad_()
        results = _outputs(function(*leaves, **options))
        y = results[0]
        if y.requires_grad:
            weights = np.cos(np.arange(y.numel())).reshape(tuple(y.shape))
            y.backward(library.tensor(weights.astype(arrays[0].dtype)))
        grads = [None if leaf is None else leaf.grad for leaf in leaves]
        sides.append([r.detach() for r in results] + grads)
    for got, want in zip(*sides, strict=True):
        assert (got is None) == (want is None)
        if want is not None:
            assert str(got.dtype).split(".")[-1] == str(want.dtype).split(".")[-1]
            assert tuple(got.shape) == tuple(want.shape)
            assert got.is_contiguous() == want.is_contiguous()
            np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=rtol, atol=rtol)


CONVS: list[tuple[int, Any, Any, dict[str, Any]]] = [
    (1, (2, 3, 9), (4, 3, 3), {}),
    (1, (3, 9), (4, 3, 3), {"stride": 2, "padding": 1}),
    (1, (2, 4, 9), (4, 1, 3), {"groups": 4, "padding": "same"}),
    (1, (2, 3, 9), (4, 3, 4), {"padding": "same", "dilation": 2}),
    (2, (2, 3, 8, 8), (5, 3, 3, 3), {"padding": 1}),
    (2, (2, 3, 8, 7), (5, 3, 3, 3), {"padding": "same"}),
    (2, (2, 3, 8, 7), (5, 3, 2, 4), {"padding": "same"}),
    (2, (2, 3, 8, 7), (5, 3, 3, 3), {"padding": "valid", "stride": (2, 1)}),
    (2, (3, 8, 7), (6, 1, 3, 2), {"groups": 3, "padding": (2, 1), "dilation": (1, 2)}),
    (2, (2, 4, 6, 6), (4, 1, 3, 3), {"groups": 4, "padding": 1}),
    (2, (2, 4, 7, 6), (4, 1, 3, 3), {"groups": 4, "padding": 2, "dilation": 2}),
    (2, (2, 4, 5, 5), (6, 4, 1, 1), {}),
    (2, (2, 4, 5, 5), (6, 4, 1, 1), {"stride": 2, "padding": 1}),
    (2, (1, 3, 12, 12), (4, 3, 7, 7), {"stride": 2, "padding": 3}),
    (2, (2, 1, 12, 12), (16, 1, 3, 3), {"padding": 1}),
    (2, (2, 3, 8, 3), (5, 3, 3, 9), {"padding": (1, 4)}),
    (2, (3, 2, 6, 5), (5, 2, 3, 3), {"padding": (2, 1)}),
    (2, (2, 4, 6, 5), (16, 2, 2, 5), {"padding": (0, 2), "groups": 2}),
    (2, (2, 1, 7, 6), (2, 1, 3, 3), {"padding": (1, 2), "dilation": (1, 2)}),
    (2, (2, 2, 9, 4), (4, 2, 3, 5), {"padding": (2, 4), "dilation": 2}),
    (2, (0, 3, 8, 8), (5, 3, 3, 3), {"padding": 1}),
    (3, (2, 2, 4, 5, 4), (3, 2, 2, 3, 2), {"padding": (1, 0, 1), "stride": (1, 2, 1)}),
    (3, (1, 2, 4, 5, 4), (2, 1, 3, 3, 3), {"padding": 1, "groups": 2}),
]


@pytest.mark.filterwarnings("ignore:Using padding=.same.:UserWarning")
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize(("n", "x", "w", "options"), CONVS)
def test_conv(n: int, x: Any, w: Any, options: dict[str, Any], bias: bool) -> None:
    """Cross-correlation and its three gradients."""
    arrays = [_array(*x), _array(*w), _array(w[0]) if bias else None]
    name = f"conv{n}d"
    _both(getattr(F, name), getattr(torch, name), arrays, **options)


TRANSPOSED: list[tuple[int, Any, Any, dict[str, Any]]] = [
    (1, (2, 4, 5), (4, 3, 3), {}),
    (1, (4, 5), (4, 3, 3), {"stride": 2, "output_padding": 1}),
    (2, (2, 4, 5, 4), (4, 3, 3, 3), {"padding": 1}),
    (2, (2, 4, 5, 4), (4, 3, 3, 2), {"stride": 2, "padding": 1, "output_padding": 1}),
    (2, (2, 4, 5, 4), (4, 2, 2, 2), {"stride": 2, "groups": 2}),
    (2, (2, 4, 3, 4), (4, 2, 3, 2), {"dilation": 2, "output_padding": 1}),
    (2, (2, 8, 3, 4), (8, 1, 3, 3), {"stride": 3}),
    (2, (2, 4, 4), (2, 2, 4, 5), {
        "stride": (3, 2), "padding": (1, 2), "output_padding": (2, 3), "groups": 2,
        "dilation": 4}),
    (3, (1, 2, 3, 2, 3), (2, 2, 2, 2, 2), {"stride": (1, 2, 1)}),
]  # fmt: skip


@pytest.mark.parametrize(("n", "x", "w", "options"), TRANSPOSED)
def test_conv_transpose(n: int, x: Any, w: Any, options: dict[str, Any]) -> None:
    """Transposed convolution and its three gradients."""
    name = f"conv_transpose{n}d"
    bias = _array(w[1] * options.get("groups", 1))
    _both(
        getattr(F, name),
        getattr(torch, name),
        [_array(*x), _array(*w), bias],
        **options,
    )


@pytest.mark.parametrize("dtype", ["float32", "int64", "complex64", "complex128"])
def test_conv_dtypes(dtype: str) -> None:
    """The other dtypes that torch convolves in."""
    arrays = [_array(2, 4, 6, 6, dtype=dtype), _array(6, 2, 3, 3, dtype=dtype), None]
    _both(dt.conv2d, torch.conv2d, arrays, rtol=1e-4, padding=1, groups=2)


def test_integer_means() -> None:
    """Means of integers are truncated towards zero."""
    _both(F.avg_pool2d, torch.nn.functional.avg_pool2d,
          [_array(2, 3, 6, 6, dtype="int64")],
          kernel_size=3, stride=2, padding=1)  # fmt: skip


def test_fresh_results() -> None:
    """A pooling that changes nothing still gives memory and a gradient of its own."""
    x = dt.tensor(_array(1, 2, 4, 3)).requires_grad_()
    for y in (
        F.adaptive_avg_pool2d(x, (None, None)), F.max_pool2d(x, 1), F.avg_pool2d(x, 1),
        dt.conv2d(x, dt.ones(2, 1, 1, 1, dtype=dt.float64), groups=2),
    ):  # fmt: skip
        assert y.data_ptr() != x.data_ptr()
        (grad,) = dt.autograd.grad(y.sum(), [x])
        np.testing.assert_array_equal(grad.numpy(), np.ones((1, 2, 4, 3)))


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_conv_half(name: str) -> None:
    """16-bit floats round once, from float32."""
    x, w = _array(2, 3, 6, 6, dtype="float32"), _array(4, 3, 3, 3, dtype="float32")
    sides = [
        lib.conv2d(
            lib.tensor(x).to(getattr(lib, name)), lib.tensor(w).to(getattr(lib, name))
        ).to(lib.float32)
        for lib in (dt, torch)
    ]
    np.testing.assert_allclose(sides[0].numpy(), sides[1].numpy(), rtol=2e-2, atol=2e-2)


def test_large_images_in_tiles() -> None:
    """Columns of more than one tile, by rows of an image and by images."""
    for x, w in (((1, 8, 160, 160), (4, 8, 5, 5)), ((40, 16, 24, 24), (8, 16, 3, 3))):
        arrays = [_array(*x, dtype="float32"), _array(*w, dtype="float32"), None]
        _both(dt.conv2d, torch.conv2d, arrays, rtol=5e-3, padding=1, stride=1)
        _both(dt.conv2d, torch.conv2d, arrays, rtol=5e-3, padding=2, stride=2)


def test_strided_inputs() -> None:
    """Inputs and weights in another memory order."""
    x, w = _array(8, 8, 3, 2), _array(3, 3, 3, 5)
    y = dt.conv2d(dt.tensor(x).permute(3, 2, 0, 1), dt.tensor(w).permute(3, 2, 0, 1))
    want = torch.conv2d(
        torch.tensor(x).permute(3, 2, 0, 1), torch.tensor(w).permute(3, 2, 0, 1)
    )
    np.testing.assert_allclose(y.numpy(), want.numpy(), rtol=1e-9)


POOLS: list[tuple[str, Any, dict[str, Any]]] = [
    ("max_pool1d", (2, 3, 9), {"kernel_size": 3}),
    ("max_pool1d", (3, 9), {
        "kernel_size": 3, "stride": 2, "padding": 1, "dilation": 2}),
    ("max_pool2d", (2, 3, 8, 8), {"kernel_size": 2}),
    ("max_pool2d", (2, 3, 8, 7), {"kernel_size": 3, "stride": 2, "padding": 1}),
    ("max_pool2d", (2, 3, 7, 7), {"kernel_size": 2, "ceil_mode": True}),
    ("max_pool2d", (3, 9, 7), {
        "kernel_size": (3, 2), "stride": (1, 2), "dilation": (2, 1)}),
    ("max_pool2d", (2, 3, 8, 8), {"kernel_size": 2, "stride": 3}),
    ("max_pool2d", (0, 3, 8, 8), {"kernel_size": 2}),
    ("max_pool3d", (1, 2, 5, 6, 4), {"kernel_size": 2, "padding": 1, "stride": 2}),
    ("avg_pool1d", (2, 3, 9), {"kernel_size": 3, "stride": 2, "padding": 1}),
    ("avg_pool2d", (2, 3, 8, 8), {"kernel_size": 2}),
    ("avg_pool2d", (2, 3, 7, 7), {"kernel_size": 3, "stride": 2, "padding": 1}),
    ("avg_pool2d", (3, 7, 6), {
        "kernel_size": 3, "padding": 1, "count_include_pad": False}),
    ("avg_pool2d", (2, 3, 8, 8), {"kernel_size": 3, "stride": 2, "ceil_mode": True}),
    ("avg_pool2d", (2, 3, 8, 7), {"kernel_size": (3, 2), "divisor_override": 4}),
    ("avg_pool2d", (2, 1, 6, 6), {
        "kernel_size": 3, "stride": 2, "padding": 1, "ceil_mode": True,
        "count_include_pad": False}),
    ("avg_pool3d", (1, 2, 5, 6, 4), {"kernel_size": 2, "padding": 1, "stride": 2}),
    ("adaptive_avg_pool1d", (2, 3, 7), {"output_size": 3}),
    ("adaptive_avg_pool2d", (2, 3, 7, 7), {"output_size": 1}),
    ("adaptive_avg_pool2d", (2, 3, 6, 8), {"output_size": (3, 4)}),
    ("adaptive_avg_pool2d", (3, 5, 7), {"output_size": (None, 3)}),
    ("adaptive_avg_pool2d", (2, 3, 3, 4), {"output_size": (5, 6)}),
    ("adaptive_avg_pool3d", (1, 2, 5, 4, 3), {"output_size": 2}),
    ("adaptive_max_pool1d", (2, 3, 7), {"output_size": 3}),
    ("adaptive_max_pool2d", (2, 3, 7, 5), {"output_size": (3, 4)}),
    ("adaptive_max_pool2d", (3, 8, 8), {"output_size": 2}),
    ("adaptive_max_pool3d", (1, 2, 5, 4, 3), {"output_size": 2}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "shape", "options"), POOLS)
def test_pool(name: str, shape: Any, options: dict[str, Any]) -> None:
    """Pooled values and their gradient; indices where there are any."""
    theirs = getattr(torch.nn.functional, name)
    _both(getattr(F, name), theirs, [_array(*shape)], **options)
    if "max" in name:
        _both(
            getattr(F, name), theirs, [_array(*shape)], return_indices=True, **options
        )


# What the package has of them, with other defaults than nn.functional or fewer options.
OF_PACKAGE: list[tuple[str, Any, dict[str, Any]]] = [
    ("max_pool1d", (3, 9), {"kernel_size": 2}),
    ("max_pool2d", (2, 3, 8, 7), {"kernel_size": 3, "stride": ()}),
    ("max_pool3d", (1, 2, 5, 6, 4), {"kernel_size": 2, "padding": 1}),
    ("max_pool1d_with_indices", (2, 3, 9), {"kernel_size": 3, "stride": 1}),
    ("avg_pool1d", (3, 9), {"kernel_size": 2, "count_include_pad": False}),
    ("adaptive_avg_pool1d", (3, 9), {"output_size": 4}),
    ("adaptive_max_pool1d", (2, 3, 9), {"output_size": 4}),
]


@pytest.mark.parametrize(("name", "shape", "options"), OF_PACKAGE)
def test_pool_of_the_package(name: str, shape: Any, options: dict[str, Any]) -> None:
    """Pooled values, places and gradients of the package's own forms."""
    _both(getattr(dt, name), getattr(torch, name), [_array(*shape)], **options)


@pytest.mark.parametrize("transposed", [False, True])
def test_convolution_by_weight(transposed: bool) -> None:
    """`convolution` has as many axes as the weight, and does both directions."""
    how = {"dilation": [1], "transposed": transposed, "output_padding": [0]}
    arrays = [_array(2, 4, 9), _array(4, 4, 3), _array(4)]
    options = {"stride": [2], "padding": [1], "groups": 1, **how}
    _both(dt.convolution, torch.convolution, arrays, **options)
    for shape in ((4, 4), (4, 4, 1, 1, 1, 1)):
        with pytest.raises(RuntimeError, match="convolution: weight is"):
            dt.convolution(dt.ones(2, 4, 9), dt.ones(*shape), None, 1, 0, 1)


@pytest.mark.parametrize("name", ["max_pool2d", "adaptive_max_pool2d"])
def test_ties_nan_and_infinity(name: str) -> None:
    """Ties go to the first, NaN wins, and a window of -inf still has an index."""
    x = RNG.integers(0, 3, (2, 2, 6, 6)).astype("float64")
    x[0, 0, 1:3, 2:4] = np.nan
    x[1] = -np.inf
    options = {"output_size": 3} if "adaptive" in name else {"kernel_size": 2}
    plain = [(x, options)]
    if "adaptive" not in name:
        plain.append((x, {"kernel_size": 3, "stride": 2, "padding": 1}))
    for values, how in plain:
        theirs = getattr(torch.nn.functional, name)
        _both(getattr(F, name), theirs, [values], return_indices=True, **how)


@pytest.mark.parametrize("shape", [
    (2, 3, 6, 4), (1, 1, 2, 2), (3, 2, 2, 8), (1, 2, 8, 2), (2, 1, 7, 6), (2, 1, 6, 7),
])  # fmt: skip
@pytest.mark.parametrize("values", [2, 3, 1000])
@pytest.mark.parametrize("bad", [None, np.nan, np.inf, -np.inf])
def test_windows_of_two_by_two(shape: Any, values: int, bad: float | None) -> None:
    """Each gradient goes to the first of the largest, and is that very number."""
    x = RNG.integers(0, values, shape).astype("float32") - 1
    if bad is not None:
        x.flat[x.size // 2] = bad
    theirs = torch.nn.functional.max_pool2d
    _both(F.max_pool2d, theirs, [x], rtol=0, kernel_size=2)
    _both(
        lambda a: F.max_pool2d(a.swapaxes(0, 1), 2),
        lambda a: theirs(a.swapaxes(0, 1), 2), [x], rtol=0,
    )  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_infinite_cotangents_stay_apart(dtype: str) -> None:
    """An infinite gradient reaches its maximum and makes no NaN elsewhere."""
    x = dt.tensor(_array(1, 1, 4, 4, dtype=dtype)).requires_grad_()
    y = F.max_pool2d(x, 2)
    y.backward(dt.full((1, 1, 2, 2), float("inf"), dtype=x.dtype))
    grad = x.grad.numpy()
    assert np.isinf(grad).sum() == 4
    assert (grad == 0).sum() == 12


def test_unfold_and_fold() -> None:
    """Windows as columns, and back; both with gradients."""
    theirs = torch.nn.functional
    how = {"kernel_size": (3, 2), "dilation": (1, 2), "padding": (1, 0), "stride": 2}
    _both(F.unfold, theirs.unfold, [_array(2, 3, 6, 7)], **how)
    _both(F.unfold, theirs.unfold, [_array(3, 6, 7)], kernel_size=2)
    columns = theirs.unfold(torch.zeros(2, 3, 6, 7), **how).shape
    _both(F.fold, theirs.fold, [_array(*columns)], output_size=(6, 7), **how)


def test_double_backward() -> None:
    """Second derivatives of convolution and pooling together."""
    x, w = _array(2, 2, 6, 6), _array(3, 2, 3, 3)
    found = []
    for lib in (dt, torch):
        a, b = lib.tensor(x).requires_grad_(), lib.tensor(w).requires_grad_()
        y = lib.max_pool2d(lib.conv2d(a, b, padding=1), 2)
        (g,) = lib.autograd.grad((y * y * y).sum(), [a], create_graph=True)
        (g * g).sum().backward()
        found.append((a.grad.numpy(), b.grad.numpy()))
    for got, want in zip(*found, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-8, atol=1e-8)


REFUSED: list[Any] = [
    ("conv2d", [(1, 3, 4, 4), (2, 2, 3, 3)], {}),
    ("conv2d", [(1, 3, 2, 2), (2, 3, 3, 3)], {}),
    ("conv2d", [(1, 3, 4, 4), (2, 3, 3)], {}),
    ("conv2d", [(3, 4), (2, 3, 3, 3)], {}),
    ("conv2d", [(1, 3, 4, 4), (2, 3, 3, 3), (3,)], {}),
    ("conv2d", [(1, 3, 4, 4), (2, 3, 3, 3)], {"stride": 0}),
    ("conv2d", [(1, 3, 4, 4), (2, 3, 3, 3)], {"padding": -1}),
    ("conv2d", [(1, 3, 4, 4), (2, 3, 3, 3)], {"padding": "same", "stride": 2}),
    ("conv2d", [(1, 3, 4, 4), (2, 3, 3, 3)], {"groups": 0}),
    ("conv2d", [(1, 4, 4, 4), (3, 2, 3, 3)], {"groups": 2}),
    ("conv2d", [(1, 3, 4, 4), (2, 3, 3, 3)], {"stride": (1, 1, 1)}),
    ("conv_transpose2d", [(1, 3, 4, 4), (2, 3, 3, 3)], {}),
    ("conv_transpose2d", [(1, 3, 4, 4), (3, 3, 3, 3)], {"output_padding": 1}),
    ("max_pool2d", [(1, 3, 4, 4)], {"kernel_size": 2, "padding": 2}),
    ("max_pool2d", [(1, 3, 2, 2)], {"kernel_size": 3}),
    ("max_pool2d", [(1, 3, 2, 2)], {"kernel_size": 0}),
    ("max_pool2d", [(3, 2)], {"kernel_size": 2}),
    ("avg_pool2d", [(1, 3, 4, 4)], {"kernel_size": 2, "divisor_override": 0}),
    ("adaptive_avg_pool2d", [(4, 4)], {"output_size": 2}),
]


@pytest.mark.parametrize(("name", "shapes", "options"), REFUSED)
def test_refused(name: str, shapes: Any, options: dict[str, Any]) -> None:
    """What torch refuses is refused, with an error its users catch."""
    arrays = [_array(*shape) for shape in shapes]
    with pytest.raises((RuntimeError, ValueError, TypeError)):
        getattr(torch.nn.functional, name)(*map(torch.tensor, arrays), **options)
    with pytest.raises((RuntimeError, ValueError), match=r"needed"):
        getattr(F, name)(*map(dt.tensor, arrays), **options)


def test_dtypes_must_agree() -> None:
    """Input and weight of different dtypes are refused, as torch does."""
    x, w = dt.tensor(_array(1, 1, 4, 4)), dt.tensor(_array(1, 1, 3, 3, dtype="float32"))
    with pytest.raises(RuntimeError, match="weight is float32"):
        dt.conv2d(x, w)


def _losses(lib: Any) -> list[float]:
    """Losses of training steps of a network with convolutions, pooling and norms."""
    restart(RNG, "training")
    nn = lib.nn
    model = nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
        nn.MaxPool2d(3, 2, 1), nn.Conv2d(16, 32, 3, stride=2, groups=2), nn.ReLU(),
        nn.AvgPool2d(3), nn.Flatten(), nn.Linear(32, 5),
    )  # fmt: skip
    with lib.no_grad():
        for p in model.parameters():
            p.copy_(lib.tensor(0.2 * _array(*p.shape, dtype="float32")))
    x = lib.tensor(_array(16, 3, 16, 16, dtype="float32"))
    labels = lib.tensor(RNG.integers(0, 5, 16))
    optimizer = lib.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    found = []
    for _ in range(8):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), labels)
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found


def test_training_gives_the_same_losses() -> None:
    """Steps of a convolutional network lose as much as torch's, one after the other."""
    ours = _losses(dt)
    assert ours[-1] < ours[0]
    np.testing.assert_allclose(ours, _losses(torch), rtol=2e-4)
