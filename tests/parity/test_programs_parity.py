"""Random programs of views, in-place writes and backward, beside torch.

Hypothesis draws a program; both libraries run it; values, versions, gradients and
refusals have to agree.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dovetail as dt

VIEWS = ("first", "tail", "odd", "transpose", "flat", "unsqueeze", "expand", "detach")
WRITES = ("mul_", "add_", "copy_", "zero_", "fill_", "setitem", "mul_w", "exp_")
OPS = ("mul", "add", "exp", "relu", "clone")
Step = tuple[str, int, int]

steps = st.lists(
    st.tuples(
        st.sampled_from(VIEWS + WRITES + OPS), st.integers(0, 9), st.integers(0, 9)
    ),
    min_size=1,
    max_size=10,
)


def view(x: Any, how: str) -> Any:
    """One view of a tensor, spelled alike in both libraries."""
    if how == "first":
        return x[0]
    if how == "tail":
        return x[1:]
    if how == "odd":
        return x[::2]
    if how == "transpose":
        return x.transpose(0, x.ndim - 1)
    if how == "flat":
        return x.reshape(-1) if x.is_contiguous() else x.transpose(0, 0)
    if how == "unsqueeze":
        return x.unsqueeze(0)
    if how == "expand":
        return x.unsqueeze(0).expand(2, *x.shape)
    return x.detach()


def write(lib: Any, x: Any, how: str, y: Any, w: Any) -> None:
    """One in-place write."""
    if how == "mul_":
        x.mul_(2)
    elif how == "add_":
        x.add_(y.reshape(-1)[0].clone())  # torch refuses overlapping operands
    elif how == "copy_":
        x.copy_(y.reshape(-1)[0] * lib.ones(x.shape))
    elif how == "zero_":
        x.zero_()
    elif how == "fill_":
        x.fill_(0.5)
    elif how == "setitem":
        x[..., 0] = 0.25
    elif how == "mul_w":
        x.mul_(w)
    else:
        x.exp_()


def compute(x: Any, how: str, y: Any) -> Any:
    """One out-of-place op."""
    if how == "mul":
        return x * y.reshape(-1)[0]
    if how == "add":
        return x + 0.5
    return getattr(x, how)()


class Run:
    """A program in one library."""

    def __init__(self, lib: Any, grads: bool) -> None:
        self.lib = lib
        values = np.linspace(-0.4, 0.5, 12, dtype=np.float32).reshape(3, 4)
        self.leaf = lib.tensor(values, requires_grad=grads)
        self.w = lib.tensor(1.5, requires_grad=True)
        self.pool = [self.leaf * 1, lib.tensor(values + 1)]

    def step(self, step: Step) -> str:
        """Run a step; gives `ok`, or that it was refused."""
        how, i, j = step
        x, y = self.pool[i % len(self.pool)], self.pool[j % len(self.pool)]
        try:
            if how in VIEWS:
                if x.ndim and x.shape[0]:
                    self.pool.append(view(x, how))
            elif how in WRITES:
                if x.ndim and x.numel() and y.numel():
                    write(self.lib, x, how, y, self.w)
            elif y.numel():
                self.pool.append(compute(x, how, y))
        except (RuntimeError, IndexError):
            return "refused"
        return "ok"

    def finish(self) -> tuple[str, list[Any]]:
        """Backward of everything; gradients of both leaves."""
        total = None
        for x in self.pool:
            if x.requires_grad:
                part = (x * x).sum()
                total = part if total is None else total + part
        if total is None:
            return "constant", []
        try:
            total.backward()
        except RuntimeError:
            return "refused", []
        return "ok", [
            None if t.grad is None else t.grad.numpy() for t in (self.leaf, self.w)
        ]


def same(a: Any, b: Any) -> bool:
    return np.allclose(a, b, rtol=1e-4, atol=1e-5, equal_nan=True)


@settings(max_examples=400, deadline=None, derandomize=True, database=None,
          suppress_health_check=list(HealthCheck))  # fmt: skip
@given(steps, st.booleans())
def test_programs_agree(program: list[Step], grads: bool) -> None:
    """Step by step: the same refusals, values, versions and requires_grad."""
    ours, theirs = Run(dt, grads), Run(torch, grads)
    for step in program:
        assert ours.step(step) == theirs.step(step), step
        for a, b in zip(ours.pool, theirs.pool, strict=True):
            assert same(a.detach().numpy(), b.detach().numpy()), step
            assert a.requires_grad == b.requires_grad, step
            assert a.is_leaf == b.is_leaf, step
    mine, torchs = ours.finish(), theirs.finish()
    if torchs[0] == "refused":
        return  # kept results have memory of their own here, so more programs run
    assert mine[0] == torchs[0]
    for a, b in zip(mine[1], torchs[1], strict=True):
        assert (a is None) == (b is None)
        assert a is None or same(a, b)
