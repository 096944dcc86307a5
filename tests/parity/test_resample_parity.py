"""Images resampled, sampled and pooled at random, and sequences aligned."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import dovetail
from dovetail.nn import functional as F

RTOL, ATOL = 1e-4, 1e-5


def floats(*shape: int, seed: int = 0, dtype: Any = np.float32) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def both(name: str, arrays: list[Any], **given: Any) -> None:
    """Values and gradients of a function of both frameworks agree."""
    found = []
    for frame, functions in ((dovetail, F), (torch, torch.nn.functional)):
        inputs = [frame.from_numpy(np.array(a)) for a in arrays]
        for x in inputs:
            if x.is_floating_point():
                x.requires_grad_()
        y = getattr(functions, name)(*inputs, **given)
        y.backward(
            frame.from_numpy(floats(*y.shape, seed=9, dtype=y.detach().numpy().dtype))
        )
        found.append([y.detach(), *[x.grad for x in inputs if x.requires_grad]])
    for ours, theirs in zip(*found, strict=True):
        assert tuple(ours.shape) == tuple(theirs.shape)
        noise = ATOL * max(1.0, float(theirs.abs().max()))  # of sums that cancel
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), RTOL, noise)


LINE, IMAGE, VOLUME = floats(2, 3, 7), floats(2, 3, 5, 7), floats(1, 2, 4, 3, 5)
RESAMPLED: list[tuple[Any, dict[str, Any]]] = [
    (LINE, {"size": 5, "mode": "nearest"}),
    (LINE, {"scale_factor": 1.7, "mode": "nearest-exact"}),
    (LINE, {"scale_factor": 1.7, "mode": "linear"}),
    (LINE, {"scale_factor": 1.7, "mode": "linear", "recompute_scale_factor": True}),
    (LINE, {"size": 1, "mode": "linear", "align_corners": True}),
    (LINE, {"size": 3, "mode": "area"}),
    (IMAGE, {"size": (8, 3), "mode": "nearest"}),
    (IMAGE, {"size": (8, 3), "mode": "bilinear"}),
    (IMAGE, {"size": (8, 3), "mode": "bilinear", "align_corners": True}),
    (IMAGE, {"scale_factor": (2.0, 0.6), "mode": "bilinear", "antialias": True}),
    (IMAGE, {"size": (8, 3), "mode": "bicubic"}),
    (IMAGE, {"size": (8, 3), "mode": "bicubic", "align_corners": True}),
    (IMAGE, {"size": (2, 3), "mode": "bicubic", "antialias": True}),
    (IMAGE, {"size": (2, 3), "mode": "bilinear", "antialias": True,
             "align_corners": True}),
    (VOLUME, {"size": (3, 6, 2), "mode": "trilinear"}),
    (VOLUME, {"scale_factor": 2, "mode": "nearest-exact"}),
    (VOLUME, {"size": (2, 3, 2), "mode": "area"}),
    (floats(1, 1, 6, dtype=np.float64), {"scale_factor": 2.3, "mode": "linear"}),
]  # fmt: skip


@pytest.mark.parametrize(("x", "given"), RESAMPLED, ids=lambda v: str(v)[:70])
def test_interpolate_is_torchs(x: Any, given: dict[str, Any]) -> None:
    """Every mode, with sizes and factors, corners aligned and filters widened."""
    both("interpolate", [x], **given)


@pytest.mark.parametrize("align_corners", [True, False])
@pytest.mark.parametrize("padding_mode", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
def test_grid_sample_is_torchs(
    mode: str, padding_mode: str, align_corners: bool
) -> None:
    """Places inside and beyond, of images and volumes."""
    how = {
        "mode": mode, "padding_mode": padding_mode, "align_corners": align_corners,
    }  # fmt: skip
    both("grid_sample", [IMAGE, 0.9 * floats(2, 4, 3, 2, seed=3)], **how)
    if mode != "bicubic":
        both("grid_sample", [VOLUME, floats(1, 4, 3, 2, 3, seed=3)], **how)


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("padding_mode", ["zeros", "border", "reflection"])
def test_places_that_are_no_numbers_are_torchs(mode: str, padding_mode: str) -> None:
    """Margins take them for the first element, or weights are NaN; and far ones."""
    none = [[np.nan, 0], [0, np.nan], [np.inf, 0], [-np.inf, 0.1], [1e9, -1e9]]
    grid = np.array(none, np.float32)[None, None]
    found = [
        f.grid_sample(
            t.from_numpy(IMAGE[:1]), t.from_numpy(grid), mode, padding_mode, False
        ).numpy()
        for t, f in ((dovetail, F), (torch, torch.nn.functional))
    ]
    np.testing.assert_allclose(*found, rtol=1e-6)


@pytest.mark.parametrize("align_corners", [True, False])
@pytest.mark.parametrize("size", [(2, 3, 4, 5), (2, 1, 2, 4, 3)])
def test_affine_grid_is_torchs(size: tuple[int, ...], align_corners: bool) -> None:
    """The places that affine maps lead to."""
    axes = len(size) - 2
    both("affine_grid", [floats(2, axes, axes + 1)], size=size,
         align_corners=align_corners)  # fmt: skip


@pytest.mark.parametrize("axes", [2, 3])
def test_fractional_pooling_is_torchs(axes: int) -> None:
    """The windows that given random numbers lead to, and their places."""
    x = floats(2, 3, *(9, 8, 7)[:axes])
    samples = np.random.default_rng(1).uniform(size=(2, 3, axes)).astype(np.float32)
    found = []
    for frame, functions in ((dovetail, F), (torch, torch.nn.functional)):
        pool = getattr(functions, f"fractional_max_pool{axes}d")
        image = frame.from_numpy(x.copy()).requires_grad_()
        y, at = pool(
            image, 2, output_ratio=(0.6,) * axes, return_indices=True,
            _random_samples=frame.from_numpy(samples.copy()),
        )  # fmt: skip
        y.sum().backward()
        found.append((y.detach().numpy(), at.numpy(), image.grad.numpy()))
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_unpooling_undoes_torchs_pooling(axes: int) -> None:
    """Maxima return to their places, in a size that is asked for."""
    x, size = floats(2, 3, *(9, 8, 7)[:axes]), (9, 8, 7)[:axes]
    found = []
    for frame, functions in ((dovetail, F), (torch, torch.nn.functional)):
        pool = getattr(functions, f"max_pool{axes}d")
        y, at = pool(frame.from_numpy(x.copy()), 2, return_indices=True)
        y = y.detach().requires_grad_()
        back = getattr(functions, f"max_unpool{axes}d")(y, at, 2, output_size=size)
        back.square().sum().backward()
        found.append((back.detach().numpy(), y.grad.numpy()))
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_array_equal(ours, theirs)


CTC: list[dict[str, Any]] = [
    {"reduction": "mean"}, {"reduction": "sum", "blank": 3}, {"reduction": "none"},
    {"reduction": "none", "zero_infinity": True, "lengths": (2, 0, 8)},
]  # fmt: skip


@pytest.mark.parametrize("flat", [True, False])
@pytest.mark.parametrize("given", CTC)
def test_ctc_is_torchs(given: dict[str, Any], flat: bool) -> None:
    """Losses and gradients, with repeated labels, short inputs and empty targets."""
    options = dict(given)
    frames, counts = options.pop("lengths", (8, 6, 7)), (4, 0, 3)
    labels = np.array([[1, 1, 2, 4], [2, 1, 1, 2], [4, 2, 2, 1]])
    if flat:
        rows = zip(labels, counts, strict=True)
        labels = np.concatenate([row[:count] for row, count in rows])
    logits = floats(8, 3, 5)
    found = []
    for frame, functions in ((dovetail, F), (torch, torch.nn.functional)):
        x = frame.from_numpy(logits.copy()).requires_grad_()
        loss = functions.ctc_loss(
            functions.log_softmax(x, 2), frame.from_numpy(labels.copy()), frames,
            counts, **options,
        )  # fmt: skip
        loss.sum().backward()
        found.append((loss.detach().numpy(), x.grad.numpy()))
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, RTOL, ATOL)
