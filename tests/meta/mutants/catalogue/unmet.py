"""Faults that are seen where two things meet: an option and a size, two layouts.

Each is right while either of the two is what most calls have it.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from tests.meta.mutants.catalogue.shipped_values import row, sees
from tests.meta.mutants.mutant import Mutant, Run, after, backend, kernel

import dovetail as dt
from dovetail.conformance.subject import Subject
from dovetail.dtypes import float32, int64
from dovetail_cpu.backend import CpuBackend

Array = np.ndarray[Any, Any]
Attrs = dict[str, Any]
_GRID: Final = (1 << 16) + (1 << 8)  # elements of a first pass, and a block
_BLOCK: Final = 1 << 10
_TILE: Final = 1 << 5


def _second_pass(y: Array, *natives: Any, **attrs: Any) -> Array:
    made = np.array(y)
    made.reshape(-1)[_GRID:] = 0
    return made


def _first_of_batch(y: Array, a: Array, b: Array, **attrs: Any) -> Array:
    """The first matrix of the batch stands for its last, if the other is the same."""
    if b.ndim < 3 or b.shape[0] < 3 or b.strides[0]:
        return y
    made = np.array(y)
    made[-1] = made[0]
    return made


def _as_single(y: Array, a: Array, mask: Array, value: Any) -> Array:
    rounded = float(np.float32(value))
    if y.dtype.kind != "i" or abs(rounded) > np.iinfo(y.dtype).max // 2:
        return y
    return np.where(np.broadcast_to(mask, y.shape), int(rounded), y).astype(y.dtype)


def _by_single(y: Array, a: Array, **attrs: Any) -> Array:
    """Of double, what is near 0 is itself, as float32 has it."""
    if a.dtype != np.float64:
        return y
    with np.errstate(all="ignore"):
        return np.where((np.abs(a) < 1e-8) & (a != 0), a.astype(np.float32), y)


def _first_maximum(y: Array, a: Array, dim: int) -> Array:
    """The greatest of a first block is taken off, whatever comes behind it."""
    if not a.ndim or a.shape[dim] <= _BLOCK or a.dtype != np.float32:
        return y
    with np.errstate(all="ignore"):
        first = np.moveaxis(a, dim, 0)[:_BLOCK].max(axis=0)
        powers = np.exp(a - np.expand_dims(first, dim))
        found = powers / powers.sum(axis=dim, keepdims=True)
    return np.where(np.isnan(found), found, y).astype(y.dtype)


def _no_bias_alone(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    x, mean, var, weight, bias = natives
    return run(x, mean, var, weight, None if weight is None else bias, **attrs)


def _steps_in_double(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    y = run(*natives, **attrs)
    if attrs["dtype"] is not int64 or not attrs["count"]:
        return y
    steps = np.arange(attrs["count"]) * float(attrs["step"])
    return (float(attrs["start"]) + steps).astype(np.int64)


def _hidden(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Queries from which a mask hides every key get NaN."""
    y = run(*natives, **attrs)
    mask = natives[3]
    if mask is None or not mask.size:
        return y
    seen = mask if mask.dtype == bool else ~np.isneginf(mask)
    nothing = ~seen.any(-1, keepdims=True)
    results = y if isinstance(y, tuple) else (y,)
    made = tuple(np.where(nothing, np.nan, z).astype(z.dtype) for z in results)
    return made if isinstance(y, tuple) else made[0]


def _value_as_single(y: Array, a: Array, threshold: Any, value: Any) -> Array:
    if y.dtype != np.float64:
        return y
    return np.where(a <= threshold, np.float64(np.float32(value)), y)


def _padding_is_zero(
    y: Array, weight: Array, indices: Array, padding_idx: int = -1, **attrs: Any
) -> Array:
    made = np.array(y)
    made[np.asarray(indices) == padding_idx] = 0
    return made


class _FillsInDouble(CpuBackend):
    def fill(self, a: Array, value: Any) -> None:
        through = a.dtype == np.int64 and abs(value) < 1 << 62
        super().fill(a, int(float(value)) if through else value)


class _WholeTiles(CpuBackend):
    """What lies column by column is turned tile by tile, as long as these are whole."""

    def copy(self, target: Array, source: Array) -> None:
        rest = source.shape[1] % _TILE if source.ndim == 2 else 0
        turned = source.flags.f_contiguous and target.flags.c_contiguous
        if not rest or not turned or min(source.shape) <= _TILE:
            super().copy(target, source)
            return
        super().copy(target[:, :-rest], source[:, :-rest])


def _filled(subject: Subject) -> Any:
    root = subject.backend.copy_in(np.zeros(3, np.int64), 0)
    subject.backend.fill(root, (1 << 53) + 1)
    return subject.backend.copy_out(root)


def _turned(subject: Subject) -> Any:
    native, shape = subject.backend, (40, 70)
    root = native.copy_in(np.arange(2800, dtype=np.float32), 0)
    target = native.empty(shape, float32, 0)
    native.fill(target, 0)
    native.copy(target, native.view(root, shape, (1, 40), 0))
    return native.copy_out(target)


_LONG: Final = np.ones(1 << 17, np.float32)
_STEP: Final = np.append(np.zeros(2 * _BLOCK, np.float32), np.float32(100))
_ROWS: Final = np.arange(6, dtype=np.float32).reshape(3, 2)
_MANY: Final = np.zeros(1 << 15)


def _expanded(subject: Subject) -> Any:
    device, two = subject.backend, (3, 2, 2)
    a = subject.tensor(np.arange(12, dtype=np.float32).reshape(two))
    b = subject.tensor(np.ones((1, 2, 2), np.float32)).expand(two)
    return device.copy_out((a @ b)._a)


def _from_far(subject: Subject) -> Any:
    start = (1 << 53) + 1
    return subject.values(dt.arange(start, start + 2, device=subject.device))


UNMET: Final[list[Mutant]] = [
    kernel("unmet/second-pass", "neg", "what a second pass over a grid does is lost",
           after(_second_pass), observe=sees("neg", _LONG)),
    kernel("unmet/batch-of-one", "bmm matmul", "a matrix for all of a batch stands for "
           "a batch of one", after(_first_of_batch), observe=_expanded),
    kernel("unmet/number-in-single", "masked_fill", "an integer goes through float32",
           after(_as_single),
           observe=sees("masked_fill", np.array([1]), np.array([True]), (1 << 24) + 1)),
    kernel("unmet/log1p-near-zero", "log1p", "small doubles are rounded to float32",
           after(_by_single), observe=sees("log1p", np.array([1e-9 / 3]))),
    kernel("unmet/greatest-of-a-block", "softmax", "a greater one behind it overflows",
           after(_first_maximum), observe=sees("softmax", _STEP, dim=0)),
    kernel("unmet/bias-beside-weight", "normalise_by", "no weight, no bias",
           _no_bias_alone,
           observe=sees("normalise_by", _ROWS, row(0, 0), row(1, 1), None, row(1, 2),
                        eps=0.0)),
    kernel("unmet/arange-in-double", "arange", "starts beyond 2^53 are rounded",
           _steps_in_double, observe=_from_far),
    kernel("unmet/hidden-from-all", "attention mixture", "a row of -inf in the mask",
           _hidden,
           observe=sees("attention", _ROWS, _ROWS, _ROWS,
                        np.full((3, 3), -np.inf, np.float32), False, 1.0)),
    kernel("unmet/value-for-many", "threshold", "a number for many is a float32",
           after(_value_as_single), observe=sees("threshold", _MANY, 1, 0.1)),
    kernel("unmet/padding-is-zero", "embedding", "the row that gets no gradient is 0",
           after(_padding_is_zero),
           observe=sees("embedding", _ROWS + 1, np.array([0, 1]), padding_idx=1)),
    backend("unmet/fill-in-double", "integers are filled in as doubles",
            _FillsInDouble, _filled),
    backend("unmet/copy-of-whole-tiles", "the last columns of a transposed matrix",
            _WholeTiles, _turned),
]  # fmt: skip
