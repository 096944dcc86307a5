"""Rounding made larger: every result moved by a few units in the last place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from dovetail.conformance.rounding import roundoff
from dovetail.engine.op import Op
from dovetail.engine.tensor import Tensor
from dovetail.testing.comparison.inputs import Where, host_of, results_of
from dovetail.testing.comparison.values import is_exact, sizes_of

NOISE: Final = 8.0  # roundoffs that each result is moved by


class Noise:
    """The interposer that moves every rounded result of a device by little.

    What a program returns then moves as far as rounding can move it, roughly: Monte
    Carlo arithmetic (Parker 1997).
    """

    def __init__(
        self, where: Where, sample: int = 0, rtol: float = 0.0, atol: float = 0.0
    ) -> None:
        self.where = where
        self.rtol, self.atol = rtol, atol  # where an op may be off by more
        self.rng = np.random.default_rng(sample)

    def __call__(
        self, op: Op, inputs: tuple[Any, ...], attrs: dict[str, Any],
        proceed: Callable[..., Any],
    ) -> Any:  # fmt: skip
        made = proceed(inputs, attrs)
        moved = results_of(made)
        for param, x in zip(op.tensors, inputs, strict=False):
            if param.name in op.mutates:
                moved += results_of(x)
        for y in moved:
            rounds = y.dtype.is_inexact and not is_exact(op, y.dtype)
            if rounds and self.where.holds(y._kind):
                with np.errstate(all="ignore"):
                    self._move(op, y)
        return made

    def _move(self, op: Op, y: Tensor) -> None:
        """Write moved values where the result lies, uncounted as a change."""
        host = host_of(y)
        size = sizes_of(host)
        if not op.is_elementwise and size.size:
            size = size + size.mean() / 4
        step = NOISE * roundoff(y.dtype) * size
        step = np.maximum(step, self.atol + self.rtol * size)
        wide = host.astype(np.result_type(host.dtype, np.float64))
        moved = wide + step * self.rng.choice([-1.0, 1.0], host.shape)
        backend, index = self.where.backend, self.where.index
        backend.copy(y._a, backend.copy_in(moved.astype(host.dtype), index))
