"""Generated optimizer steps: one kernel for all parameters of a call."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.support import child
from tests.support.generated import guarded, untouched

import dovetail as dt
from dovetail.device_api import registry
from dovetail.xp import optim as shared
from dovetail_cpu import generated_steps
from dovetail_cpu.generated import LEAST

Array = np.ndarray[Any, Any]

SIZES = (0, 1, 15, 16, 17, 33, 1000, 2 * LEAST + 5)
ADAM = {
    "lr": 0.01, "beta1": 0.9, "beta2": 0.99, "eps": 1e-6, "weight_decay": 0.1,
    "step": 3.0,
}  # fmt: skip
SGD = {"lr": 0.1, "momentum": 0.9, "dampening": 0.25, "weight_decay": 0.01}
LEFT = {"nesterov": False, "maximize": False, "first": False}
STEPS: dict[str, tuple[str, int, dict[str, bool], dict[str, float]]] = {
    "AdamW": ("adam_steps_", 4, {"decoupled": True, "maximize": False}, ADAM),
    "amsgrad, up": ("adam_steps_", 5, {"decoupled": False, "maximize": True}, ADAM),
    "SGD": ("sgd_steps_", 2, LEFT | {"maximize": True}, SGD | {"momentum": 0.0}),
    "momentum": ("sgd_steps_", 3, LEFT, SGD),
    "Nesterov": ("sgd_steps_", 3, LEFT | {"nesterov": True}, SGD | {"dampening": 0.0}),
    "first": ("sgd_steps_", 3, LEFT | {"first": True}, SGD),
}  # fmt: skip


def drawn(count: int, dtype: str = "float32") -> tuple[list[list[Array]], list[Any]]:
    """Lists of arrays of all sizes, and the memory around them."""
    rng = np.random.default_rng(0)
    lists: list[list[Array]] = []
    memories = []
    for number in range(count):
        lists.append([])
        for offset, size in enumerate(SIZES):
            memory, inner = guarded(size, dtype, offset)
            inner[:] = rng.uniform(0.5 if number > 2 else -2, 2, size)
            lists[-1].append(inner)
            memories.append((memory, inner))
    return lists, memories


def kernel(name: str, how: dict[str, bool], dtype: Any) -> Callable[..., None]:
    """The CPU's kernel of a step."""
    (found,) = registry.load("cpu").table.select(name, dtype)
    bound: Callable[..., None] = found.function(**how)
    return bound


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("step", STEPS)
def test_a_list_is_stepped_as_one(
    step: str, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Arrays of any size get what NumPy's kernel gives, and nothing around changes."""
    name, count, how, numbers = STEPS[step]
    lists, memories = drawn(count, dtype)
    want = [[a.copy() for a in arrays] for arrays in lists]
    empty: list[list[Array]] = [[]] * (
        5 - count if name == "adam_steps_" else 3 - count
    )
    _plain(name, how)(*want, *empty, **numbers)
    monkeypatch.setattr(shared, "_Run", _refuses)
    kernel(name, how, getattr(dt, dtype))(*lists, *empty, **numbers)
    near = 4 * np.finfo(dtype).eps
    for arrays, others in zip(lists, want, strict=True):
        for got, expected in zip(arrays, others, strict=True):
            np.testing.assert_allclose(got, expected, rtol=near, atol=near)
    assert all(untouched(*pair) for pair in memories)


def _plain(name: str, how: dict[str, bool]) -> Callable[..., None]:
    make = (shared._adam if name.startswith("adam") else shared._sgd)(np)
    written = (0, 2, 3, 4) if name.startswith("adam") else (0, 2)
    bound: Callable[..., None] = shared._of_many(np, shared._Kind(make, written))(**how)
    return bound


def _refuses(*_: Any) -> None:
    raise AssertionError("NumPy's kernel was asked")


def test_arrays_that_share_memory_are_stepped_in_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two parameters that overlap are left to NumPy's kernel: threads would race."""
    asked = []
    run = shared._Run
    monkeypatch.setattr(shared, "_Run", lambda *a: asked.append(a) or run(*a))
    name, _, how, numbers = STEPS["SGD"]
    memory = np.ones(3 * LEAST, np.float32)
    params = [memory[: 2 * LEAST], memory[LEAST:]]
    grads = [np.full(2 * LEAST, g, np.float32) for g in (1, 2)]
    kernel(name, how, dt.float32)(params, grads, [], **numbers | {"weight_decay": 0.0})
    assert asked
    assert memory[0] == np.float32(1.1)
    np.testing.assert_allclose(memory[LEAST : 2 * LEAST], 1.3, rtol=1e-6)


def test_gaps_and_other_dtypes_are_left_to_numpy() -> None:
    """A parameter with gaps, and one of bfloat16, are stepped like a whole one."""
    whole = dt.ones(LEAST, 2)
    gaps = dt.ones(LEAST, 4)[:, ::2]
    half = dt.ones(LEAST, 2, dtype=dt.bfloat16)
    for params in ([whole], [gaps], [half]):
        for p in params:
            p.grad = dt.full_like(p, 0.5)
        dt.optim.SGD(params, lr=1.0).step()
        for p in params:
            assert p.tolist() == [[0.5, 0.5]] * LEAST


MANY = f"""
import dovetail
params = [dovetail.ones(n, requires_grad=True) for n in (3, {LEAST}, 70, 1)]
optimizer = dovetail.optim.AdamW(params)
for rate in (0.1, 0.2, 0.3):
    optimizer.param_groups[0]["lr"] = rate
    for p in params:
        p.grad = dovetail.ones_like(p)
    optimizer.step()
"""


def test_one_kernel_serves_all_parameters_and_rates() -> None:
    """Other sizes, rates and numbers of steps compile nothing."""
    done = child.run(sys.executable, "-c", MANY, DOVETAIL_LOG="kernels")
    assert done.stderr.count("adam_step_") == 1


def test_small_lists_ask_for_no_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parameters that are few together are stepped by NumPy."""
    monkeypatch.setattr(generated_steps._Steps, "__call__", _refuses)
    p = dt.ones(LEAST // 2 - 1, requires_grad=True)
    q = dt.ones(LEAST // 2, requires_grad=True)
    p.grad, q.grad = dt.ones_like(p), dt.ones_like(q)
    dt.optim.AdamW([p, q]).step()
    assert p[0].item() < 1
