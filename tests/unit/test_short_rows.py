"""Few short rows take calls of their own: what they give, and what they refuse."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dovetail as dt
from dovetail.conformance.rounding import roundoff
from dovetail.nn import functional as F

DTYPES = (dt.float32, dt.float64)
SHAPES = st.tuples(st.integers(1, 9), st.integers(1, 40))


def _numbers(shape: tuple[int, ...], seed: int, offset: float = 0.0) -> np.ndarray:
    return np.random.default_rng(seed).normal(offset, 1, shape)


def _loss(x: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Cross entropy of each row, shifted by the greatest score."""
    top = x.max(axis=1, keepdims=True)
    total = np.log(np.exp(x - top).sum(axis=1)) + top[:, 0]
    return total - x[np.arange(len(x)), labels]


@settings(max_examples=60, deadline=None)
@given(shape=SHAPES, seed=st.integers(0, 99), offset=st.sampled_from([0.0, 30.0]))
@pytest.mark.parametrize("dtype", DTYPES)
def test_layer_norm_of_any_rows(
    shape: tuple[int, int], seed: int, offset: float, dtype: dt.dtype
) -> None:
    """Of few rows and of many, short ones and long ones, with the same tolerance."""
    x = dt.tensor(_numbers(shape, seed, offset), dtype=dtype)
    w, b = (dt.tensor(_numbers(shape[1:], seed + i), dtype=dtype) for i in (1, 2))
    rows = x.double().numpy()
    centred = rows - rows.mean(axis=1, keepdims=True)
    spread = np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-5)
    want = centred / spread * w.double().numpy() + b.double().numpy()
    got = F.layer_norm(x, shape[1:], w, b).double().numpy()
    # the mean of numbers as large as the rows' is off by their roundoff
    allowed = 64 * roundoff(dtype) * (1 + np.abs(rows).max() / spread)
    assert (np.abs(got - want) <= allowed * (1 + np.abs(w.double().numpy()))).all()


@pytest.mark.parametrize("shape", [(4, 8), (2, 3, 8), (8,), (70, 8), (3, 50)])
def test_layer_norm_is_the_same_on_the_tape(shape: tuple[int, ...]) -> None:
    """What is kept for a gradient changes no bit of the result."""
    x = dt.tensor(_numbers(shape, 3), dtype=dt.float32)
    w, b = (dt.tensor(_numbers(shape[-1:], i), dtype=dt.float32) for i in (4, 5))
    plain = F.layer_norm(x, shape[-1:], w, b)
    x.requires_grad_()
    assert (F.layer_norm(x, shape[-1:], w, b).detach() == plain).all()


def test_views_on_the_tape() -> None:
    """Views are on the tape as what they look into is by now, or as leaves."""
    leaf, plain = dt.randn(32, requires_grad=True), dt.randn(32)
    seen, later, own = leaf.reshape(4, 8), plain.reshape(4, 8), dt.randn(32)[::2]
    assert F.layer_norm(seen, (8,)).requires_grad
    assert not F.layer_norm(later, (8,)).requires_grad
    plain.mul_(leaf)
    assert F.layer_norm(later, (8,)).requires_grad
    assert F.layer_norm(own.requires_grad_(), (16,)).requires_grad
    assert not F.layer_norm(seen.detach(), (8,)).requires_grad


@pytest.mark.parametrize("width", [1, 2, 5, 8, 32])
@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
def test_what_is_not_finite_stays_in_its_row(width: int, bad: float) -> None:
    """A row with an infinity, or with NaN, is NaN in layer_norm, and no other row."""
    x = _numbers((5, width), 6)
    whole = F.layer_norm(dt.tensor(x), (width,))
    x[2, -1] = bad
    found = F.layer_norm(dt.tensor(x), (width,))
    others = [0, 1, 3, 4]
    assert found[2].isnan().all()
    assert (found[others] == whole[others]).all()


@settings(max_examples=60, deadline=None)
@given(shape=SHAPES, seed=st.integers(0, 99), scale=st.sampled_from([1.0, 400.0]))
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("taped", [False, True])
def test_cross_entropy_of_any_rows(
    shape: tuple[int, int], seed: int, scale: float, reduction: str, taped: bool
) -> None:
    """Scores far apart, whose exponentials leave float32, included."""
    x = dt.tensor(_numbers(shape, seed) * scale, dtype=dt.float32, requires_grad=taped)
    labels = np.random.default_rng(seed).integers(0, shape[1], shape[0])
    each = _loss(x.detach().double().numpy(), labels)
    want = {"mean": each.mean(), "sum": each.sum(), "none": each}[reduction]
    got = F.cross_entropy(x, dt.tensor(labels), reduction=reduction)
    allowed = 64 * roundoff(dt.float32) * (1 + np.abs(each).sum())
    assert (np.abs(got.detach().double().numpy() - want) <= allowed).all()


@settings(max_examples=60, deadline=None)
@given(shape=SHAPES, seed=st.integers(0, 99), scale=st.sampled_from([1.0, 400.0]))
def test_gradients_of_cross_entropy_of_any_rows(
    shape: tuple[int, int], seed: int, scale: float
) -> None:
    """Near the true probabilities, however unlikely the label is."""
    x = dt.tensor(_numbers(shape, seed) * scale, dtype=dt.float32, requires_grad=True)
    labels = np.random.default_rng(seed).integers(0, shape[1], shape[0])
    F.cross_entropy(x, dt.tensor(labels), reduction="sum").backward()
    scores = x.detach().double().numpy()
    want = np.exp(scores - scores.max(axis=1, keepdims=True))
    want /= want.sum(axis=1, keepdims=True)
    want[np.arange(shape[0]), labels] -= 1
    allowed = 64 * roundoff(dt.float32) * (1 + np.log(shape[1]))
    assert (np.abs(x.grad.double().numpy() - want) <= allowed).all()


@settings(max_examples=30, deadline=None)
@given(
    shape=SHAPES, seed=st.integers(0, 99), reduction=st.sampled_from(["mean", "none"])
)
def test_gradients_of_cross_entropy_by_reduction(
    shape: tuple[int, int], seed: int, reduction: str
) -> None:
    """Those of the losses one by one, each times what it is sent."""
    x = dt.tensor(_numbers(shape, seed), requires_grad=True)
    labels = np.random.default_rng(seed).integers(0, shape[1], shape[0])
    sent = _numbers(shape[:1] if reduction == "none" else (), seed + 1)
    loss = F.cross_entropy(x, dt.tensor(labels), reduction=reduction)
    loss.backward(dt.tensor(sent))
    want = np.exp(_numbers(shape, seed))
    want /= want.sum(axis=1, keepdims=True)
    want[np.arange(shape[0]), labels] -= 1
    want *= sent[:, None] if reduction == "none" else sent / shape[0]
    np.testing.assert_allclose(x.grad, want, rtol=1e-12, atol=1e-14)


def test_shapes_that_were_good_are_asked_again_where_others_come() -> None:
    """On the tape, too, what is refused after any calls is, in its op's words."""
    x = dt.tensor(_numbers((4, 8), 7), requires_grad=True)
    good, bad = dt.tensor([1, 2, 0, 3]), dt.tensor([1, 2, 0])
    for labels in (good, bad, bad, good, bad):
        if labels is good:
            assert F.cross_entropy(x, labels).requires_grad
            continue
        with pytest.raises(dt.errors.ShapeError, match=r"^cross_entropy: target"):
            F.cross_entropy(x, labels)


@pytest.mark.parametrize("label", [-1, 8, 9, -100, 1 << 40])
@pytest.mark.parametrize("taped", [False, True])
def test_classes_that_are_none(label: int, taped: bool) -> None:
    """Refused in the words of cross_entropy, twice, with a gradient and without."""
    x = dt.tensor(_numbers((4, 8), 7), requires_grad=taped)
    target = dt.tensor([1, label, 0, 3])
    for _ in range(2):
        F.cross_entropy(x, dt.tensor([1, 2, 0, 3]))
        with pytest.raises(IndexError, match=rf"^cross_entropy: target is {label}: "):
            F.cross_entropy(x, target, ignore_index=5)


@pytest.mark.parametrize("ignored", [3, -100, 0])
def test_classes_that_do_not_count(ignored: int) -> None:
    """Samples of the class `ignore_index` take no part in the mean."""
    x = _numbers((4, 8), 8)
    labels = np.array([3, 0, ignored, 1])
    counts = labels != ignored
    found = F.cross_entropy(dt.tensor(x), dt.tensor(labels), ignore_index=ignored)
    want = _loss(x[counts], labels[counts]).mean()
    assert abs(found.item() - want) < 1e-12


def test_other_eps() -> None:
    """The last call's eps is not the next one's; NaN gives NaN."""
    x, w, b = dt.tensor(_numbers((4, 8), 9)), dt.ones(8).double(), dt.zeros(8).double()
    for eps in (1e-5, 1.0, 1e-5, float("nan"), 2):
        centred = x - x.mean(1, keepdim=True)
        want = centred / (centred.square().mean(1, keepdim=True) + eps).sqrt()
        for found in (F.layer_norm(x, (8,), w, b, eps), F.layer_norm(x, (8,), eps=eps)):
            assert dt.allclose(found, want, rtol=1e-12, atol=1e-12, equal_nan=True)


def test_other_widths() -> None:
    """Rows that went well before are refused where another width is asked for."""
    for width, x in ((8, dt.ones(4, 8)), (7, dt.ones(4, 7)), (9, dt.ones(9, 9))):
        F.layer_norm(x, (width,), x[0], x[0])
        F.layer_norm(x, tuple(x.shape), x, x)
        with pytest.raises(RuntimeError, match=r"^layer_norm: normalized_shape is \("):
            F.layer_norm(x, (width + 1,), x[0], x[0])


def test_weights_of_another_shape() -> None:
    """Refused in layer_norm's words, also where the same rows went well before."""
    x, w = dt.ones(4, 8), dt.ones(8)
    F.layer_norm(x, (8,), w, w)
    for wrong in (dt.ones(1, 8), dt.ones(9), dt.ones(1)):
        with pytest.raises(RuntimeError, match=r"^layer_norm: weight or bias is of"):
            F.layer_norm(x, (8,), wrong, w)
        with pytest.raises(RuntimeError, match=r"^layer_norm: weight or bias is of"):
            F.layer_norm(x, (8,), w, wrong)


@settings(max_examples=100, deadline=None)
@given(
    values=st.lists(
        st.floats(-(2.0**100), 2.0**100, width=32), min_size=1, max_size=70
    ),
    bad=st.sampled_from([None, np.inf, -np.inf, np.nan, -0.0]),
)
@pytest.mark.parametrize("dtype", DTYPES)
def test_sum_of_a_line(values: list[float], bad: float | None, dtype: dt.dtype) -> None:
    """Of few elements and of many, in any layout: near the true sum, and repeatable."""
    line = np.array(values if bad is None else [bad, *values, bad])
    x = dt.tensor(line, dtype=dtype)
    wide = dt.tensor(np.repeat(line, 2), dtype=dtype)[::2]
    for laid in (x, wide, x.flip(0).flip(0)):
        got = laid.sum(0)
        assert got.numpy().tobytes() == laid.sum(0).numpy().tobytes()
        assert got.shape == ()
        assert got.dtype is dtype
        if bad is None or bad == 0:
            allowed = len(line) * roundoff(dtype) * np.abs(line).sum()
            assert abs(got.item() - math.fsum(line)) <= allowed
        else:
            with np.errstate(invalid="ignore"):
                np.testing.assert_equal(got.item(), np.add.reduce(line))
