"""Losses of sequences without alignment on NumPy arrays, by generated kernels."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from dovetail.codegen import runtime
from dovetail.codegen.arrays import Array, target
from dovetail.codegen.ctc_kernels import Does, ctc_kernel
from dovetail.codegen.eager_sort import run
from dovetail.codegen.llvm_text import render


@cache
def _kernel(does: Does, dtype: str) -> runtime.Kernel:
    form = ctc_kernel(does, dtype)
    return runtime.kernel(form.name, render(form, target()))


class Ways:
    """The ways through the states of sequences.

    Args:
        x: [t, n, classes], row-major.
        states, frames: int64, and within what there is.
        skips: [n, width + 2], float64.
    """

    def __init__(self, x: Array, states: Array, frames: Array, skips: Array) -> None:
        self.given = x, states, frames, skips
        self.steps, self.count, classes = x.shape
        self.width = states.shape[1]
        self.words = self.steps, self.count, classes, self.width
        self.ways = self._rows()
        self.ways[:, 0, 2] = 0.0
        self._run("forwards", self.ways)

    def _rows(self) -> Array:
        """Rows of states, none of which is reached."""
        return np.full((self.count, self.steps + 1, self.width + 2), -np.inf)

    def _run(self, does: Does, *others: Array) -> None:
        kernel = _kernel(does, self.given[0].dtype.name)
        run(kernel, self.count, 1, *self.given, *others, *self.words)

    def ends(self) -> Array:
        """[n, width], behind the last step of each."""
        found: Array = self.ways[np.arange(self.count), self.given[2], 2:]
        return found

    def shares(self, losses: Array, last: Any) -> Array:
        """[t, n, classes] in float64: how likely each class is.

        Args:
            last: [n], the last state of each.
        """
        on, row = self._rows(), np.empty((self.count, self.width))
        on[np.arange(self.count), self.given[2], last] = 0.0
        y = np.zeros(self.given[0].shape)
        self._run("shares", self.ways, losses, on, row, y)
        return y


__all__ = ["Ways"]
