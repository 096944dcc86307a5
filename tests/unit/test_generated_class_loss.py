"""Generated kernels of losses: over classes, forward and back, and of elements."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from tests.support import child

import dovetail
from dovetail.errors import IndexOutOfRange
from dovetail_cpu import generated_class_loss

Array = np.ndarray[Any, Any]

# Many classes, so many that they are split, rows around the lanes, and images.
SHAPES = [(40, 1000), (1, 100_000), (600, 33), (300, 64), (10, 30, 70), (3, 20, 20, 17)]


def drawn(shape: tuple[int, ...]) -> tuple[Array, Array, Array]:
    """Scores, classes of which some are number 3, and weights of classes."""
    draws = np.random.default_rng(len(shape))
    x = draws.standard_normal(shape).astype(np.float32)
    target = draws.integers(0, shape[1], (shape[0], *shape[2:]))
    target.reshape(-1)[3::7] = 3
    return x, target, draws.uniform(0.5, 2, shape[1]).astype(np.float32)


def truth(
    x: Array, target: Array, weight: Array, ignore: int, ct: Array | float
) -> tuple[Array, Array, Array]:
    """Losses of samples, their weights, and the gradient where `ct` goes to each."""
    wide = np.moveaxis(x, 1, -1).astype(np.float64)
    e = np.exp(wide - wide.max(-1, keepdims=True))
    p = e / e.sum(-1, keepdims=True)
    counts = np.where(target == ignore, 0.0, weight[target])
    hot = target[..., None] == np.arange(x.shape[1])
    losses = -np.log((p * hot).sum(-1)) * counts
    gradient = (p - hot) * (counts * ct)[..., None]
    return losses, counts, np.moveaxis(gradient, -1, 1)


@pytest.mark.parametrize("ignore", [-100, 3])
@pytest.mark.parametrize("weighs", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_losses_and_gradients(
    shape: tuple[int, ...], weighs: bool, ignore: int
) -> None:
    """Each reduction of the loss, and its gradient, are those of float64."""
    x, target, w = drawn(shape)
    weight = w if weighs else np.ones_like(w)
    losses, counts, _ = truth(x, target, weight, ignore, 1.0)
    given = dovetail.from_numpy(w) if weighs else None
    for reduction in ("none", "sum", "mean"):
        t = dovetail.from_numpy(x).requires_grad_()
        options: dict[str, Any] = {"ignore_index": ignore, "reduction": reduction}
        args = dovetail.from_numpy(target), given
        y = dovetail.nn.functional.cross_entropy(t, *args, **options)
        plain = dovetail.nn.functional.cross_entropy(t.detach(), *args, **options)
        want = losses if reduction == "none" else losses.sum()
        share = 1 / counts.sum() if reduction == "mean" else 1.0
        np.testing.assert_allclose(y.detach().numpy(), want * share, rtol=2e-5)
        np.testing.assert_allclose(plain.numpy(), want * share, rtol=2e-5)
        (y * 2).sum().backward()
        assert t.grad is not None
        _, _, gradient = truth(x, target, weight, ignore, 2 * share)
        near = np.abs(gradient).max() * 1e-5
        np.testing.assert_allclose(t.grad.numpy(), gradient, rtol=1e-5, atol=near)


def test_a_class_that_is_none_is_refused() -> None:
    """Before anything is read at its place, large calls say which it is."""
    x = dovetail.zeros(100, 1000)
    for bad in (1000, -1):
        target = dovetail.full((100,), bad, dtype=dovetail.int64)
        with pytest.raises(IndexOutOfRange, match=f"Target {bad} is out of bounds"):
            dovetail.nn.functional.cross_entropy(x, target)


def test_samples_that_do_not_count_need_no_class() -> None:
    """`ignore_index` may be any number, and nothing is read at its place."""
    x, target, _ = drawn((40, 1000))
    target[::2] = -(2**40)
    got = dovetail.nn.functional.cross_entropy(
        dovetail.from_numpy(x), dovetail.from_numpy(target), ignore_index=-(2**40)
    )
    losses, _, _ = truth(x[1::2], target[1::2], np.ones(1000), -1, 1.0)
    assert abs(got.item() - losses.mean()) < 1e-5


def test_they_are_generated(monkeypatch: pytest.MonkeyPatch) -> None:
    """None of the kernels is left to NumPy in silence."""
    served = []
    run = generated_class_loss._Losses.run

    def seen(self: Any, *args: Any) -> Any:
        found = run(self, *args)
        served.append((self.op, found is not None))
        return found

    monkeypatch.setattr(generated_class_loss._Losses, "run", seen)
    x, target, _ = drawn((40, 1000))
    t = dovetail.from_numpy(x).requires_grad_()
    dovetail.nn.functional.cross_entropy(t, dovetail.from_numpy(target)).backward()
    assert served == [("log_softmax_nll", True), ("cross_entropy_backward", True)]


def test_losses_of_elements_are_generated_for_each_attribute() -> None:
    """Each `beta` has a kernel of its own, also where there is none for small calls."""
    x, y = np.random.default_rng(1).standard_normal((2, 40_000)).astype(np.float32)
    d = np.abs(x.astype(np.float64) - y)
    loss = dovetail.nn.functional.smooth_l1_loss
    operands = dovetail.from_numpy(x), dovetail.from_numpy(y)
    for beta in (0.0, 0.5, 2.0):
        got = loss(*operands, beta=beta, reduction="none").numpy()
        near = np.where(d < beta, d * d / (2 * (beta or 1)), d - beta / 2)
        np.testing.assert_allclose(got, near, rtol=1e-5, atol=1e-6)


def test_a_body_with_attributes_has_a_kernel() -> None:
    """Its kernel is chosen for large calls, and not for small ones."""
    done = child.run(sys.executable, "-c", SMOOTH, DOVETAIL_LOG="kernels")
    assert done.stderr.count("smooth_l1_loss_float32") == 1


SMOOTH = """
import dovetail
for count in (100, 40_000, 50_000):
    x = dovetail.ones(count)
    dovetail.nn.functional.smooth_l1_loss(x, x + 1)
"""
