"""What tests of the chaos device share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

import dovetail as dt
from dovetail import nn
from dovetail.device_api import KernelTable
from dovetail_cpu.backend import CpuBackend

DEVICE = "chaos:cpu"


def optimizer_of(model: nn.Module, which: str) -> Any:
    if which == "adamw":
        return dt.optim.AdamW(model.parameters(), lr=0.01)
    return dt.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True)


def beyond(a: Any, before: int = 0) -> Any:
    """One more element behind the last one of `a`, or before its first."""
    step = a.itemsize
    start = as_strided(a, (1,), (step,)) if a.ndim else a.reshape(1)
    if before:
        return as_strided(start[::-1], (2,), (-step,))[1:]
    return as_strided(start, (a.size + 1,), (step,))[-1:]


def exp_writing_behind(a: Any) -> Any:
    beyond(a)[...] = 0
    return np.exp(a)


def log_writing_before(a: Any) -> Any:
    beyond(a, before=1)[...] = 0
    return np.log(a)


def sin_reading_behind(a: Any) -> Any:
    return np.sin(np.concatenate([a[1:], beyond(a)]))


def fill_behind(ps: Any, grads: Any, buffers: Any, *, first: Any, **_: Any) -> None:
    for p, buffer in zip(ps, buffers, strict=True):
        p[...] -= buffer  # whether or not it holds something yet


class Broken(CpuBackend):
    """A device with a mistake in each of these kernels."""

    type = "broken"

    def kernels(self, table: KernelTable) -> None:
        super().kernels(table)
        wrong: dict[str, Any] = {
            "exp": exp_writing_behind,
            "log": log_writing_before,
            "sin": sin_reading_behind,
            "cos": lambda a: a,
            "sqrt": lambda a: np.sqrt(a, dtype=np.float64),
            "tanh": lambda a: np.tanh(a)[:-1],
            "floor": self.failing,
            "sgd_steps_": fill_behind,
        }
        for op, function in wrong.items():
            table.add(op, function, dtypes=[dt.float32], rank=9)

    def failing(self, a: Any) -> Any:
        raise ZeroDivisionError("no such unit")
