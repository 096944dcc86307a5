"""Inputs that few programs give: complex activations, labels without dims, far ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest

import dovetail as dt

torch = pytest.importorskip("torch")

RNG = np.random.default_rng(11)
Z: Final = RNG.normal(size=(2, 3)) + 1j * RNG.normal(size=(2, 3))
LINE: Final = RNG.normal(size=3) + 1j * RNG.normal(size=3)


def _silu(lib: Any, z: Any, w: Any) -> Any:
    """That of dovetail, and what torch's, which has no complex gradient, computes."""
    x = z * w
    return lib.nn.functional.silu(x) if lib is dt else x / (1 + (-x).exp())


COMPLEX: Final[dict[str, Callable[[Any, Any, Any], Any]]] = {
    "silu": _silu,
    "softsign": lambda lib, z, w: lib.nn.functional.softsign(z * w),
    "rms_norm": lambda lib, z, w: lib.nn.functional.rms_norm(z, (3,), w),
    "rms_norm, whole": lambda lib, z, w: lib.nn.functional.rms_norm(z * w, (2, 3)),
}


def _numbers(
    lib: Any, call: Callable[..., Any], *arrays: Any, twice: bool
) -> list[Any]:
    """The result of a call, and the first (and second) gradients of its inputs."""
    given = [lib.tensor(a, requires_grad=a.dtype.kind in "fc") for a in arrays]
    y = call(lib, *given)
    leaves = [x for x in given if x.requires_grad]
    ones = lib.ones_like(y) * (1 + 0.5j if y.is_complex() else 1.5)
    found: list[Any] = [y]
    first = lib.autograd.grad(y, leaves, ones, create_graph=twice)
    found += first
    if twice:
        squares = sum((g * g.conj()).real.sum() for g in first)
        found += lib.autograd.grad(squares, leaves)
    return [x.detach().resolve_conj().numpy() for x in found]


def _agree(call: Callable[..., Any], *arrays: Any, twice: bool = True) -> None:
    ours, theirs = (_numbers(lib, call, *arrays, twice=twice) for lib in (dt, torch))
    for mine, other in zip(ours, theirs, strict=True):
        assert mine.dtype == other.dtype
        np.testing.assert_allclose(mine, other, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", COMPLEX)
def test_complex_activations(name: str) -> None:
    """Values, and gradients of first and second order."""
    _agree(COMPLEX[name], Z, LINE)


@pytest.mark.parametrize("name", ["silu", "softsign"])
def test_values_of_complex_activations(name: str) -> None:
    """Those of torch, at 0 as well."""
    z = np.append(Z.ravel() * 5, 0)
    ours, theirs = (
        getattr(lib.nn.functional, name)(lib.tensor(z)).numpy() for lib in (dt, torch)
    )
    np.testing.assert_allclose(ours, theirs, rtol=1e-12)


@pytest.mark.parametrize("name", ["multi_margin_loss", "multilabel_margin_loss"])
@pytest.mark.parametrize("shape", [(), (1,)])
@pytest.mark.parametrize("labels", [(), (1,)])
def test_margins_of_one_class(name: str, shape: Any, labels: Any) -> None:
    """An input of no dims is one class; its label has no dims, or one."""

    def call(lib: Any, x: Any, target: Any) -> Any:
        loss = getattr(lib.nn.functional, name)
        return sum(loss(x, target, reduction=how) for how in ("none", "mean", "sum"))

    _agree(call, np.full(shape, 0.3), np.zeros(labels, np.int64), twice=False)


def test_soft_margins_that_are_far() -> None:
    """The second gradient is 0 at margins whose exponential is near the greatest."""
    far = np.array([-40.0, -20.0, 0.5, 30.0], np.float64) * 17

    def call(lib: Any, x: Any) -> Any:
        ones = lib.ones_like(x)
        return lib.nn.functional.soft_margin_loss(x, ones, reduction="none")

    _agree(call, far)


def test_soft_margins_beyond_the_greatest_exponential() -> None:
    """Loss and gradient are those of a line, where torch's are inf and NaN."""
    x = dt.tensor([-1000.0], requires_grad=True)
    loss = dt.nn.functional.soft_margin_loss(x, dt.ones(1))
    loss.backward()
    assert loss.item() == 1000
    assert x.grad is not None
    assert x.grad.tolist() == [-1]


def test_gradients_of_nextafter() -> None:
    """That of `input` passes but where both are equal; `other` gets zeros."""
    a = np.array([1.0, 1.0, 1.0, np.nan, 0.0, np.inf])
    b = np.array([1.0, 2.0, 0.0, 1.0, 0.0, 1.0])
    for lib in (dt, torch):
        x, y = (lib.tensor(v, requires_grad=True) for v in (a, b))
        ct = lib.full((6,), 3.0, dtype=lib.float64)
        gx, gy = lib.autograd.grad(lib.nextafter(x, y), (x, y), ct)
        assert gx.tolist() == [0, 3, 3, 3, 0, 3]
        assert gy.tolist() == [0] * 6


@pytest.mark.parametrize(("axes", "mode"), [(2, 0), (2, 1), (2, 2), (3, 0), (3, 1)])
@pytest.mark.parametrize("margin", [0, 1, 2])
def test_grid_samplers_by_numbers(axes: int, mode: int, margin: int) -> None:
    """The functions of two and three axes, whose modes are numbers."""
    size = (3, 4, 5)[:axes]
    image = RNG.normal(size=(2, 2, *size))
    grid = RNG.uniform(-1.3, 1.3, (2, *size, axes))

    def call(lib: Any, x: Any, at: Any) -> Any:
        y = getattr(lib, f"grid_sampler_{axes}d")(x, at, mode, margin, False)
        assert (lib.grid_sampler(x, at, mode, margin, False) == y).all()
        return y

    ours, theirs = (
        call(lib, lib.tensor(image), lib.tensor(grid)).numpy() for lib in (dt, torch)
    )
    np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)


def test_second_gradients_of_logcumsumexp_at_ties() -> None:
    """Equal numbers share the second derivative as those nearby do."""
    signs = [1.0, -2.0, 3.0, -4.0]

    def call(lib: Any, x: Any) -> Any:
        return lib.logcumsumexp(x, 1) * lib.tensor(signs, dtype=lib.float64)

    _agree(call, np.array([[2.0, 2.0, 1.0, 2.0], [0.0, 0.0, 0.0, 0.0]]))


A: Final = RNG.uniform(0.1, 0.9, (3, 4))
B: Final = RNG.uniform(0.1, 0.9, (3, 4))
SIGNS: Final = np.array([1.0, -1.0, 1.0])
LOSSES: Final[dict[str, tuple[Any, ...]]] = {
    "kl_div": (A, B),
    "binary_cross_entropy_with_logits": (A, B, None, None),
    "poisson_nll_loss": (A, B, True, True, 1e-3),
    "hinge_embedding_loss": (A[:, 0], SIGNS, 0.5),
    "margin_ranking_loss": (A[:, 0], B[:, 0], SIGNS, 0.5),
    "cosine_embedding_loss": (A, B, SIGNS, 0.5),
    "triplet_margin_loss": (A, B, A + B, 1.0, 2.0, 1e-6, True),
}


@pytest.mark.parametrize("reduction", [0, 1, 2])
@pytest.mark.parametrize("name", LOSSES)
def test_losses_whose_reduction_is_a_number(name: str, reduction: int) -> None:
    """The losses of torch's own room have their values."""
    found = []
    for lib in (dt, torch):
        given = [lib.tensor(a) if type(a) is np.ndarray else a for a in LOSSES[name]]
        found.append(getattr(lib, name)(*given, reduction).numpy())
    np.testing.assert_allclose(*found, rtol=1e-12, strict=True)


def test_numbers_of_no_reduction() -> None:
    """A number beyond those of torch's reductions is refused."""
    with pytest.raises(ValueError, match="hinge_embedding_loss: reduction is 3"):
        dt.hinge_embedding_loss(dt.ones(2), dt.ones(2), 1.0, 3)


COPIES: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "detach_copy": lambda lib, x: lib.detach_copy(x),
    "select_copy": lambda lib, x: lib.select_copy(x, 1, 2),
    "slice_copy": lambda lib, x: lib.slice_copy(x, -1, 1, None, 2),
    "view_as_real_copy": lambda lib, x: lib.view_as_real_copy(x),
    "view_as_complex_copy": lambda lib, x: lib.view_as_complex_copy(
        lib.view_as_real(x)
    ),
}


@pytest.mark.parametrize("name", COPIES)
def test_copies_of_views(name: str) -> None:
    """They have torch's values, and memory of their own."""
    x = dt.tensor(Z)
    ours, theirs = COPIES[name](dt, x), COPIES[name](torch, torch.tensor(Z))
    np.testing.assert_array_equal(ours.numpy(), theirs.numpy())
    ours.zero_()
    np.testing.assert_array_equal(x.numpy(), Z)


REFUSED: Final[dict[str, tuple[Any, Any, Any, dict[str, Any]]]] = {
    "a weight of more dims for one row": ((3,), (2, 4, 3), (2, 4), {}),
    "an input of three dims": ((2, 2, 3), (4, 3), (2, 2), {}),
    "a weight of one dim": ((2, 3), (3,), (2,), {}),
    "widths that differ": ((2, 3), (4, 5), (2,), {}),
    "a bias of another shape": ((2, 3), (4, 3), (2,), {"linear_bias": (3,)}),
    "a class left out of probabilities": ((2, 3), (4, 3), (2, 4), {"ignore_index": 1}),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_of_linear_cross_entropy(name: str) -> None:
    """Shapes that make no logits, and a class left out of probabilities."""
    x, weight, target, more = REFUSED[name]
    for lib in (dt, torch):
        labels = len(target) < 2 or target == (2, 2)
        y = lib.zeros(target, dtype=lib.int64 if labels else lib.float32)
        given = {k: lib.ones(v) if type(v) is tuple else v for k, v in more.items()}
        with pytest.raises((RuntimeError, ValueError)):
            lib.nn.functional.linear_cross_entropy(
                lib.ones(x), lib.ones(weight), y, **given
            )


SUMS: Final[dict[str, Callable[[Any, Any, Any], Any]]] = {
    "logaddexp": lambda lib, z, w: lib.logaddexp(z * 5, w * 5),
    "logcumsumexp": lambda lib, z, w: lib.logcumsumexp(z * 5, 1) * w,
    "logcumsumexp of no dims": lambda lib, z, w: z[0, 0].logcumsumexp(0) * w,
}


@pytest.mark.parametrize("name", SUMS)
def test_complex_logarithms_of_sums(name: str) -> None:
    """Values on torch's side of the plane, and gradients of first and second order."""
    _agree(SUMS[name], Z, LINE)


def test_complex_logarithms_of_sums_at_infinity() -> None:
    """An infinite real part decides alone, and of two infinities none is NaN."""
    inf = float("inf")
    x = np.array([complex(3, 4), complex(inf, 1), complex(-inf, 2), complex(-inf, 1)])
    y = np.array([complex(-inf, 2), complex(3, 3), complex(-inf, 7), complex(2, 5)])
    ours, theirs = (
        lib.logaddexp(lib.tensor(x), lib.tensor(y)).numpy() for lib in (dt, torch)
    )
    np.testing.assert_array_equal(ours.real, theirs.real)
    known = np.isfinite(x.real) | np.isfinite(y.real)
    np.testing.assert_array_equal(ours.imag[known], theirs.imag[known])


BOOLS: Final = RNG.random((2, 2, 5, 5)) > 0.5
FEW: Final[dict[str, tuple[Callable[..., Any], tuple[Any, ...]]]] = {
    "windows of bools": (
        lambda lib, b: lib.nn.functional.unfold(b, 2, 1, 1, 2), (BOOLS,),
    ),
    "bools from windows": (
        lambda lib, b: lib.nn.functional.fold(
            lib.nn.functional.unfold(b, 3), (5, 5), 3
        ),
        (BOOLS,),
    ),
    "a batch of no images": (
        lambda lib, x: lib.nn.functional.fractional_max_pool3d(x, 2, output_size=2),
        (np.zeros((0, 1, 4, 5, 4)),),
    ),
    "a batch without rows": (
        lambda lib, x: lib.nn.functional.batch_norm(x, x, x, training=True),
        (np.zeros(0),),
    ),
    "edges that hold nothing": (
        lambda lib, x, e, f: lib.histogramdd(x, [e, f], density=True).hist,
        (RNG.normal(size=(5, 2)), np.array([3.0, 1.0, 2.0]), np.array([1.0, 2.0])),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FEW)
def test_inputs_of_few_values(name: str) -> None:
    """Bools, what has no elements, and edges that hold nothing."""
    call, arrays = FEW[name]
    ours, theirs = (call(lib, *map(lib.tensor, arrays)).numpy() for lib in (dt, torch))
    assert ours.dtype == theirs.dtype
    np.testing.assert_array_equal(ours, theirs)


def test_means_scattered_into_a_tensor_of_no_dims() -> None:
    """Gradients of first and second order."""
    index = np.array(0)
    _agree(
        lambda lib, x, at, src: lib.scatter_reduce(
            x * x, 0, at, src * src, "mean", include_self=False
        ),
        np.array(3.0), index, np.array(2.0),
    )  # fmt: skip


def test_logaddexp_takes_no_number() -> None:
    """As torch's, which takes tensors alone."""
    for lib in (dt, torch):
        with pytest.raises(TypeError):
            lib.logaddexp(lib.ones(2), 2)
