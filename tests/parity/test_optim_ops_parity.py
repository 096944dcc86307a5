"""Optimizer steps beside torch.optim, parameter by parameter."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
import torch

import dovetail as dt
from dovetail.ops.optim import adam_step_, sgd_step_

TOLERANCE = {"float64": 1e-12, "float32": 2e-6}
SIZES = ((3, 5), (), (70_001,))


def _grads(shape: tuple[int, ...], dtype: str) -> list[Any]:
    rng = np.random.default_rng(3)
    return [rng.standard_normal(shape).astype(dtype) for _ in range(4)]


def _torch_run(make: Any, grads: list[Any]) -> Any:
    p = torch.nn.Parameter(torch.tensor(grads[0]))
    optimizer = make([p])
    for g in grads[1:]:
        p.grad = torch.tensor(g)
        optimizer.step()
    return p.detach().numpy(), optimizer.state[p]


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("shape", SIZES)
@pytest.mark.parametrize(
    ("decoupled", "amsgrad", "decay", "maximize"),
    [(True, False, 0.1, False), (False, False, 0.1, True), (True, True, 0.0, False)],
)
def test_adam(
    dtype: str, shape: Any, decoupled: bool, amsgrad: bool, decay: float, maximize: bool
) -> None:
    """Three steps of Adam or AdamW leave torch's parameter and state."""
    grads = _grads(shape, dtype)
    make = torch.optim.AdamW if decoupled else torch.optim.Adam
    options = {"amsgrad": amsgrad, "weight_decay": decay, "maximize": maximize}
    want, state = _torch_run(
        lambda ps: make(ps, lr=0.05, foreach=False, **options), grads
    )
    p = dt.tensor(grads[0])
    m, v, top = (dt.zeros_like(p) for _ in range(3))
    for step, g in enumerate(grads[1:], 1):
        adam_step_(
            p, dt.tensor(g), m, v, top if amsgrad else None, 0.05, 0.9, 0.999, 1e-8,
            decay, float(step), decoupled, maximize,
        )  # fmt: skip
    tolerance = TOLERANCE[dtype]
    np.testing.assert_allclose(p.numpy(), want, rtol=tolerance, atol=tolerance)
    for ours, name in ((m, "exp_avg"), (v, "exp_avg_sq")):
        np.testing.assert_allclose(
            ours.numpy(), state[name].numpy(), rtol=1e-5, atol=1e-7
        )


@pytest.mark.parametrize("size", [4, 50_000])
def test_adam_of_what_is_infinite(size: int) -> None:
    """Infinite parameters stay so; infinite averages become NaN, as in the oracle."""
    infinite = np.array([np.inf, 1, 1, -np.inf], "float32")
    start, average = (np.resize(a, size) for a in (infinite, np.roll(infinite, 1)))
    ones = np.ones(size, "float32")
    theirs = torch.nn.Parameter(torch.tensor(start))
    optimizer = torch.optim.AdamW([theirs], lr=0.05, weight_decay=0.1, foreach=False)
    optimizer.state[theirs] = {
        "step": torch.tensor(0.0), "exp_avg": torch.tensor(average),
        "exp_avg_sq": torch.tensor(ones),
    }  # fmt: skip
    theirs.grad = torch.tensor(ones)
    optimizer.step()
    how = (0.05, 0.9, 0.999, 1e-8, 0.1, 1.0, True, False)
    ours = [dt.tensor(a) for a in (start, ones, average, ones)]
    adam_step_(*ours, None, *how)
    with np.errstate(invalid="ignore"):
        oracle = adam_step_.op.oracle(start, ones, average, ones, None, *how)
    want = theirs.detach().numpy()
    np.testing.assert_allclose(ours[0].numpy(), want, rtol=2e-6)
    np.testing.assert_allclose(oracle[0], want, rtol=2e-6)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("shape", SIZES)
@pytest.mark.parametrize(
    ("momentum", "dampening", "decay", "nesterov", "maximize"),
    [
        (0.0, 0.0, 0.0, False, False), (0.9, 0.0, 0.1, False, True),
        (0.9, 0.3, 0.0, False, False), (0.9, 0.0, 0.1, True, True),
    ],
)  # fmt: skip
def test_sgd(
    dtype: str, shape: Any, momentum: float, dampening: float, decay: float,
    nesterov: bool, maximize: bool,
) -> None:  # fmt: skip
    """Three steps of SGD leave torch's parameter."""
    grads = _grads(shape, dtype)
    options = {
        "momentum": momentum, "dampening": dampening, "weight_decay": decay,
        "nesterov": nesterov, "maximize": maximize,
    }  # fmt: skip
    want, _ = _torch_run(
        lambda ps: torch.optim.SGD(ps, lr=0.05, foreach=False, **options), grads
    )
    p = dt.tensor(grads[0])
    buffer = dt.zeros_like(p) if momentum else None
    for step, g in enumerate(grads[1:]):
        how = (momentum, dampening, decay, nesterov, maximize, step == 0)
        sgd_step_(p, dt.tensor(g), buffer, 0.05, *how)
    tolerance = TOLERANCE[dtype]
    np.testing.assert_allclose(p.numpy(), want, rtol=tolerance, atol=tolerance)


def test_written_in_place() -> None:
    """Views of a parameter see the step, the gradient is left alone, versions count."""
    p, g = dt.ones(4, 3), dt.ones(4, 3)
    row = p[1]
    transposed = dt.ones(3, 4).t() if hasattr(dt.Tensor, "t") else p
    sgd_step_(p, g, None, 0.5, 0.0, 0.0, 0.0, False, False, False)
    sgd_step_(transposed, g, None, 0.5, 0.0, 0.0, 0.0, False, False, False)
    assert row.tolist() == [0.5, 0.5, 0.5]
    assert transposed.tolist() == p.tolist() or transposed is p
    assert g.tolist() == dt.ones(4, 3).tolist()


def test_refuses_other_shapes_and_gradients() -> None:
    """What does not fit, and a parameter that records, is refused unchanged."""
    p = dt.ones(3)
    how = (0.5, 0.0, 0.0, 0.0, False, False, False)
    with pytest.raises(RuntimeError, match="grad is of shape"):
        sgd_step_(p, dt.ones(1), None, *how)
    assert p.tolist() == [1.0, 1.0, 1.0]
    p.requires_grad_()
    with pytest.raises(RuntimeError, match="requires gradients"):
        sgd_step_(p, dt.ones(3), None, *how)


def test_threads_step_apart() -> None:
    """Two threads that step different parameters do not share scratch memory."""
    results: dict[int, Any] = {}

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        p, g = (dt.tensor(rng.standard_normal(90_000)) for _ in range(2))
        m, v = dt.zeros_like(p), dt.zeros_like(p)
        for step in range(1, 15):
            adam_step_(
                p, g, m, v, None, 0.01, 0.9, 0.99, 1e-8, 0.1, float(step), False, False
            )
        results[seed] = p.numpy()

    threads = [threading.Thread(target=work, args=(i,)) for i in (1, 2, 3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    together = dict(results)
    for seed, values in together.items():
        work(seed)
        np.testing.assert_array_equal(results[seed], values)
