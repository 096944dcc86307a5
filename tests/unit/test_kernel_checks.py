"""Under `check_kernels`, a kernel that gives another shape, dtype or class is named."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from tests.support import child

import dovetail as dt
from dovetail.device_api import registry
from dovetail.errors import KernelError
from dovetail.testing import check_kernels


@contextmanager
def kernel(op: str, function: Any) -> Iterator[None]:
    """The CPU, with another kernel of an op in float32."""
    table = registry.load("cpu").table
    with table.adding("a test"):
        table.add(op, function, dtypes=[dt.float32], rank=9, checks=True)
    try:
        yield
    finally:
        table.remove("a test")


def test_a_wrong_shape_is_refused() -> None:
    """The error names op, kernel, what it gave and had to; outside, nobody looks."""
    x = dt.ones(2, 3)
    with kernel("exp", lambda a: np.exp(a)[:1]):
        assert x.exp().shape == (1, 3)
        with check_kernels(), pytest.raises(KernelError) as error:
            x.exp()
        assert x.exp().shape == (1, 3)
    for part in ("exp", "a test", "float32[1, 3]", "float32[2, 3]"):
        assert part in str(error.value)


def test_a_wrong_dtype_is_refused() -> None:
    """The message has both dtypes."""
    x = dt.ones(2, 3)
    wrong = kernel("sum", lambda a, **_: np.sum(a, dtype="f8", keepdims=True)[0])
    with wrong, check_kernels(), pytest.raises(KernelError, match=r"float64\[1\]"):
        x.sum()


def test_a_gradients_kernel_is_looked_at() -> None:
    """What runs backward is a kernel like any other."""
    x = dt.ones(2, 3, requires_grad=True)
    wrong = kernel("sigmoid_backward", lambda ct, y: (ct * y)[0])
    with wrong, check_kernels(), pytest.raises(KernelError, match="sigmoid_backward"):
        x.sigmoid().sum().backward()


def test_right_kernels_pass() -> None:
    """A training step is the same under it, bit for bit, and its errors are."""
    dt.manual_seed(3)
    model = dt.nn.Sequential(dt.nn.Linear(4, 5), dt.nn.Tanh(), dt.nn.Linear(5, 2))
    x, target = dt.randn(6, 4), dt.tensor([0, 1, 0, 1, 1, 0])

    def step() -> list[Any]:
        model.zero_grad()
        dt.nn.functional.cross_entropy(model(x), target).backward()
        return [p.grad.tolist() for p in model.parameters()]

    plain = step()
    with check_kernels():
        assert step() == plain
        with pytest.raises(RuntimeError, match="matmul"):
            x @ x


def test_a_variable_looks_all_the_time() -> None:
    """DOVETAIL_CHECK_KERNELS=1 begins a program so."""
    code = "from dovetail.engine.native_results import comparing; print(comparing)"
    for value, printed in (("1", "[True]\n"), ("0", "[False]\n")):
        done = child.python("-c", code, DOVETAIL_CHECK_KERNELS=value)
        assert done.stdout == printed
