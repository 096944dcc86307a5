"""Losses of sequences without alignment: by all alignments, and large ones."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import dovetail as dt
from dovetail.codegen.runtime.machine import available
from dovetail.errors import IndexOutOfRange
from dovetail.nn.functional import ctc_loss
from dovetail.ops.ctc import ctc_losses, ctc_shares


def collapsed(path: tuple[int, ...], blank: int) -> list[int]:
    """The labels of an alignment."""
    return [c for c, _ in itertools.groupby(path) if c != blank]


def by_all_alignments(x: Any, labels: list[int], blank: int) -> tuple[float, Any]:
    """The loss of one sequence, and how likely each class is at each step."""
    steps, classes = x.shape
    share = np.zeros(x.shape)
    for path in itertools.product(range(classes), repeat=steps):
        if collapsed(path, blank) == labels:
            share[range(steps), path] += np.exp(x[range(steps), path].sum())
    total = share[0].sum() if steps else float(not labels)
    return -np.log(total) if total else np.inf, share / (total or 1)


@pytest.mark.parametrize("labels", [[], [1], [1, 2], [1, 1], [2, 1, 1]])
@pytest.mark.parametrize("blank", [0, 3])
def test_losses_are_those_of_all_alignments(labels: list[int], blank: int) -> None:
    """Empty, repeated ones, and such as do not fit; steps behind the end get none."""
    labels = [3 if c == blank else c for c in labels]
    drawn = np.random.default_rng(0).normal(size=(5, 4))
    x = drawn - np.log(np.exp(drawn).sum(1, keepdims=True))
    for steps in (1, 3, 4):
        loss, share = by_all_alignments(x[:steps], labels, blank)
        given = (
            dt.tensor(x[:, None]), dt.tensor([[*labels, 1]]), dt.tensor([steps]),
            dt.tensor([len(labels)]), blank,
        )  # fmt: skip
        np.testing.assert_allclose(ctc_losses(*given).numpy(), [loss], rtol=1e-12)
        found = ctc_shares(*given).numpy()[:, 0]
        np.testing.assert_allclose(found[:steps], share, atol=1e-12)
        assert not found[steps:].any()


@pytest.mark.skipif(not available(), reason="needs llvmlite")
@pytest.mark.parametrize("dtype", [dt.float32, dt.float64])
def test_large_calls_agree_with_small_ones(dtype: Any) -> None:
    """A batch that a generated kernel serves, and its sequences one by one."""
    dt.manual_seed(0)
    steps, n, classes, size = 37, 4, 11, 9
    x = dt.randn(steps, n, classes, dtype=dtype).log_softmax(-1)
    labels = dt.randint(1, classes, (n, size))
    labels[0, 3:6] = labels[0, 3]
    frames, counts = dt.tensor([37, 30, 3, 25]), dt.tensor([9, 4, 8, 0])
    whole = ctc_losses(x, labels, frames, counts, 0)
    shares = ctc_shares(x, labels, frames, counts, 0)
    tolerance = 1e-5 if dtype is dt.float32 else 1e-12
    for i in range(n):
        one = slice(i, i + 1)
        given = x[:, one].double(), labels[one], frames[one], counts[one], 0
        with dt.no_grad():
            body = [ctc_losses.op.body(*given), ctc_shares.op.body(*given)]
        np.testing.assert_allclose(whole[one].numpy(), body[0].numpy(), tolerance)
        np.testing.assert_allclose(
            shares[:, one].numpy(), body[1].numpy(), atol=tolerance
        )
    assert whole.isinf().tolist() == [False, False, True, False]


def test_labels_behind_the_ends_are_not_looked_at() -> None:
    """What pads targets may be no class; what is within has to be one."""
    x = dt.randn(6, 2, 4).log_softmax(-1)
    padded, plain = dt.tensor([[1, 2], [3, -100]]), dt.tensor([[1, 2], [3, 0]])
    losses = [ctc_loss(x, labels, (6, 6), (2, 1)) for labels in (padded, plain)]
    assert losses[0].item() == losses[1].item()
    with pytest.raises(IndexOutOfRange, match="ctc_loss: targets is no class"):
        ctc_loss(x, padded, (6, 6), (2, 2))


def test_gradients_have_gradients() -> None:
    """Of second order too: by differences of the first."""
    x = dt.randn(4, 1, 3, dtype=dt.float64)
    labels = dt.tensor([[1, 2]])

    def gradient(z: Any) -> Any:
        z = z.detach().requires_grad_()
        loss = ctc_loss(z.log_softmax(-1), labels, (4,), (2,), reduction="sum")
        return z, dt.autograd.grad(loss, z, create_graph=True)[0]

    z, slope = gradient(x)
    v = dt.randn(4, 1, 3, dtype=dt.float64)
    (second,) = dt.autograd.grad((slope * v).sum(), z)
    h = 1e-6
    wanted = (gradient(x + h * v)[1] - gradient(x - h * v)[1]) / (2 * h)
    np.testing.assert_allclose(second.numpy(), wanted.detach().numpy(), atol=1e-7)


def test_padding_may_name_classes_that_are_nan() -> None:
    """Labels behind the count, and steps behind the last, are not read."""
    x = np.full((4, 1, 3), -1.0)
    y = x.copy()
    y[:, :, 2] = np.nan
    y[3] = np.nan
    frames, counts = np.array([3]), np.array([1])
    want, got = (
        ctc_shares(*map(dt.tensor, (values, np.array([[1, b]]), frames, counts)), 0)
        for values, b in ((x, 1), (y, 2))
    )
    assert got.tolist() == want.tolist()
